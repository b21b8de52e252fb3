//! Reports: they consume the runner's events and data and never influence a run.

pub mod json;
pub mod terminal;
