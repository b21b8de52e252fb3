//! The log: files to which all durable data are appended. All other files of the store can be computed from it.
//!
//! A position counts bytes from the first byte of the log. Each segment is a file whose name is the position of its first
//! byte. It has a header, then frames, and zeros after them in the newest segment.
//!
//! - `disk`: the operations of the file system; `simulated`, for tests, is a disk that fails and loses power
//! - `frame`: the header of a record, by which damage is detected
//! - `segment`: the files
//! - `writer`: appends batches
//! - `reader`: reads single records by their offsets, and some records of a full segment at a time
//! - `replay`: reads all records after a position, with damaged ones, and finds the end after a crash

mod disk;
mod frame;
mod reader;
mod replay;
mod segment;
#[cfg(any(test, feature = "testing"))]
mod simulated;
#[cfg(test)]
mod tests;
mod writer;

pub(super) use disk::{Disk, RealDisk};
pub(super) use frame::HEADER as FRAME;
pub(super) use reader::Log;
pub(super) use replay::{LogEntry, names, open, walk, writer};
#[cfg(any(test, feature = "testing"))]
pub use simulated::{Faults, Flaw, Gate, SimulatedDisk};
pub(super) use writer::Writer;

use serde::{Deserialize, Serialize};

/// The offset of a record in the log, with its length.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct LogOffset {
    /// The position of the frame.
    pub(super) at: u64,
    /// The size of the record in bytes, without the frame's header.
    pub(super) length: u32,
}

/// The end of a batch. All data before it are durable.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct End {
    /// The position after the last frame of the batch.
    pub(super) at: u64,
    /// The number of the batch, from 1.
    pub(super) batch: u64,
}

impl LogOffset {
    /// The size of the serialized offset in bytes.
    pub(super) const BYTES: usize = 12;

    pub(super) fn to_bytes(self) -> [u8; Self::BYTES] {
        let mut bytes = [0; Self::BYTES];
        bytes[..8].copy_from_slice(&self.at.to_be_bytes());
        bytes[8..].copy_from_slice(&self.length.to_be_bytes());
        bytes
    }

    pub(super) fn from_bytes([a, b, c, d, e, f, g, h, length @ ..]: [u8; Self::BYTES]) -> Self {
        Self {
            at: u64::from_be_bytes([a, b, c, d, e, f, g, h]),
            length: u32::from_be_bytes(length),
        }
    }
}
