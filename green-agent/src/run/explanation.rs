//! Adds to the first problem of a trial what the transcript shows of its cause.

use super::{
    failed_calls::failed_calls,
    problem::Problem,
    server_error::{LastLines, server_error},
};
use crate::{
    scenario::model::Scenario,
    transcript::{Entry, task},
};

/// Adds the likely cause of an agent's failure to the problem that a reader sees first: a state of its task that A2A does not have,
/// what its server said of its failure, or calls that failed.
pub(super) fn explain(
    problems: &mut [Problem],
    scenario: &Scenario,
    entries: &[Entry],
    printed: &LastLines,
) {
    let Some(first) = problems.first_mut() else { return };
    let failed = || Some(format!("the trial {}", failed_calls(scenario, entries)?));
    let why = unknown_state(entries)
        .or_else(|| server_error(scenario, entries, printed, &first.message))
        .or_else(failed);
    if let Some(why) = why {
        first.message = format!("{}\n{why}", first.message);
    }
}

fn unknown_state(entries: &[Entry]) -> Option<String> {
    let (role, state) = task::unknown_state(entries)?;
    Some(format!(
        "the task of {role} is in the state {state:?}, which A2A does not have: at its end, expected \"completed\" or \"failed\" in \
         A2A 0.3, TASK_STATE_COMPLETED or TASK_STATE_FAILED in 1.0"
    ))
}
