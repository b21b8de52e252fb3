//! A run emits events while it is running, and at its end a report of its trials and scenarios.
//!
//! - [`event`]: the events, which terminal and report files consume
//! - [`report`], [`tally`]: the results of trials, scenarios and runs
//! - `alike`: finds failures that are reported together
//! - `completed`: figures and gates; `sidecar`: scenarios that must fail

mod alike;
mod completed;
pub mod event;
pub mod report;
mod sidecar;
pub mod tally;

pub use alike::{Failure, common_text};
pub use completed::completed;
pub use event::{Phase, RunEvent};
pub use report::{
    FinishedRun, RunReport, ScenarioReport, ScenarioVerdict, TRIAL_REPORT, TrialReport,
};
pub use sidecar::judged;
pub use tally::{TrialCounts, TrialTally};

/// Returns the present time: RFC 3339 in UTC, with milliseconds.
pub fn now() -> String {
    let now = jiff::Timestamp::now();
    now.strftime("%Y-%m-%dT%H:%M:%S%.3fZ").to_string()
}
