//! The log: files of our own to which everything durable is appended, the truth of the store.
//!
//! A position counts bytes from the log's beginning. Each segment is a file that is named by the position
//! of its first byte and begins with a header; behind it stand frames, and in the newest one zeros.
//!
//! - `disk`: what it asks of a file system; `simulated`, in tests, is one that fails and loses power
//! - `frame`: what makes one record recognisable
//! - `segment`: the files
//! - `writer`: appending, a batch at a time
//! - `reader`: one record, by its place
//! - `scan`: some records after another, of a segment that is emptied
//! - `replay`: all records after a position, what is lost of them, and where a crash cut the log off

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

/// Where a record stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct LogOffset {
    /// The position of its frame.
    pub(super) at: u64,
    /// The bytes that it has, without those of the frame.
    pub(super) length: u32,
}

/// Where a batch ends: all before it is durable.
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
