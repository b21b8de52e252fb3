//! Transcripts: the messages on every hop of a run, in order. This crate reads and writes them and never uses the
//! network.
//!
//! - [`Transcript`] writes them, [`read()`] reads them; [`entry`] is a line
//! - [`wire`], [`rest`], [`task`], [`label`]: classify the content of messages, for all versions of A2A
//! - [`canonical`](mod@canonical): the form of a transcript in snapshots; [`layout`]: its JSON
//! - [`snapshot`]: compares it with the accepted one

pub mod canonical;
pub mod entry;
pub mod label;
pub mod layout;
mod polls;
mod reader;
mod replaced;
pub mod rest;
pub mod snapshot;
pub mod task;
pub mod wire;
mod writer;

#[cfg(any(test, feature = "testing"))]
pub mod fixture;

pub use canonical::{Names, SnapshotSettings, canonical};
pub use entry::{Body, Content, Direction, Entry, Hop, redirected};
pub use reader::{TranscriptError, read};
pub use replaced::{Replacement, check_replaceable, replace_file};
pub use writer::Transcript;
