//! A run emits events while it is running, and at its end a report of its trials and scenarios.
//!
//! - [`event`]: the events, which terminal and report files consume
//! - [`report`], [`tally`]: the results of trials, scenarios and runs
//! - `alike`: finds failures that are reported together
//! - `verdict`: figures and gates, and scenarios that must fail

mod alike;
pub mod event;
pub mod report;
pub mod tally;
mod verdict;

use std::{sync::OnceLock, time::Instant};

use jiff::Timestamp;

pub use alike::{Failure, common_text};
pub use event::{Phase, RunEvent};
pub use report::{RunReport, ScenarioReport, ScenarioVerdict, TRIAL_REPORT, TrialReport};
pub use tally::{TrialCounts, TrialTally};
pub use verdict::{completed, judged};

/// Returns the present time: RFC 3339 in UTC, with milliseconds. Between two calls it advances by the time that really passes,
/// even if the machine's clock is set meanwhile, because reports compute the duration of a run from such times.
pub fn now() -> String {
    static FIRST: OnceLock<(Timestamp, Instant)> = OnceLock::new();
    let first = FIRST.get_or_init(|| (Timestamp::now(), Instant::now()));
    time_after(*first, Instant::now())
}

fn time_after((first, then): (Timestamp, Instant), now: Instant) -> String {
    let time = first.checked_add(now.saturating_duration_since(then)).unwrap_or(first);
    time.strftime("%Y-%m-%dT%H:%M:%S%.3fZ").to_string()
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn times_are_as_far_apart_as_the_moments() {
        let first = (Timestamp::UNIX_EPOCH, Instant::now());
        let later = first.1 + Duration::from_millis(61_005);
        assert_eq!(time_after(first, later), "1970-01-01T00:01:01.005Z");
    }
}
