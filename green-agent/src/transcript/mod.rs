//! Transcripts: what was said on every hop of a run, in order. Read here, never from the network.

pub mod entry;

pub use entry::{Body, Content, Direction, Entry, Hop};
