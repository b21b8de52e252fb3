//! Reports: they consume the runner's events and data and never influence a run.
//!
//! - [`terminal`]: progress and results while a run is running
//! - [`ReportRequest`]: `--report KIND=FILE`, a file for each kind: `terminal`, `json`, `junit`, `csv`, `markdown`, `agentbeats`,
//!   `atif`, `html`
//! - [`html`]: one page with every message
//! - [`source`]: the input of all reports except `terminal` and `json`: a run's records and their figures

mod agentbeats;
mod atif;
mod csv;
pub mod html;
mod junit;
mod markdown;
mod progress;
mod request;
pub mod source;
pub mod terminal;
mod text;

#[cfg(test)]
mod tests;

pub use request::{NotAReport, ReportError, ReportKind, ReportRequest, SameFile};
