//! The log: files to which all durable data are appended. All other files of the store follow from it.
//!
//! A position counts bytes from the log's beginning. Each segment is a file that is named by the position
//! of its first byte and begins with a header. Frames follow, and zeros behind them in the newest segment.
//!
//! - `disk`: the operations of a file system that it needs; `simulated`, in tests, is a disk that fails and loses power
//! - `frame`: the header by which a record is recognised
//! - `segment`: the files
//! - `writer`: appending, a batch at a time
//! - `reader`: reading one record by its place
//! - `scan`: reading the records of a segment that is emptied, some at a time
//! - `replay`: reading all records after a position, with lost ones and the place where a crash cut the log off

mod disk;
mod frame;
mod reader;
mod replay;
mod scan;
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

/// The place of a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct LogOffset {
    /// The position of its frame.
    pub(super) at: u64,
    /// Its size in bytes, without that of the frame's header.
    pub(super) length: u32,
}

/// The end of a batch, before which everything is durable.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct End {
    /// The position after its last frame.
    pub(super) at: u64,
    /// Its number, counted from 1.
    pub(super) batch: u64,
}

impl LogOffset {
    /// The bytes of [`LogOffset::to_bytes`].
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
