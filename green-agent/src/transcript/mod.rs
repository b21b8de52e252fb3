//! Transcripts: what was said on every hop of a run, in order. Read here, never from the network.

pub mod canonical;
pub mod entry;
pub mod label;
pub(crate) mod layout;
pub mod rest;
pub mod task;
mod upgrade;
pub mod wire;

#[cfg(test)]
pub(crate) mod fixture;

pub use canonical::{Names, canonical};
pub use entry::{Body, Content, Direction, Entry, Hop};
