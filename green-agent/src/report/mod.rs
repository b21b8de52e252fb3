//! Reports: they only consume what the runner tells.

pub mod json;
pub mod terminal;
