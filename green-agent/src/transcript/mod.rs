//! Transcripts: the messages on every hop of a run, in order. This module reads and writes them and never
//! uses the network.

pub mod canonical;
pub mod entry;
mod error;
pub mod label;
pub(crate) mod layout;
mod polls;
mod reader;
pub mod rest;
pub mod task;
pub mod wire;
mod writer;

#[cfg(test)]
pub(crate) mod fixture;

pub use canonical::{Names, canonical};
pub use entry::{Body, Content, Direction, Entry, Hop};
pub use error::TranscriptError;
pub use reader::read;
pub use writer::Transcript;
