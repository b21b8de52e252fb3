//! Reports: they consume the runner's events and data and never influence a run.
//!
//! - [`terminal`]: progress and results while a run goes on
//! - [`ReportRequest`]: `--report KIND=FILE`, a file for each kind: `json`, `junit`, `csv`, `markdown`, `agentbeats`, `atif`, `text`
//! - [`html`]: one page with every message
//! - [`source`]: what all but `terminal` and `json` are made from: a run's records and their figures

mod agentbeats;
mod atif;
mod csv;
pub mod html;
mod json;
mod junit;
mod markdown;
mod progress;
mod request;
pub mod source;
pub mod terminal;
mod text;

#[cfg(test)]
mod tests;

pub use request::{NotAReport, ReportError, ReportKind, ReportRequest};
