//! Adds to the problems of a trial what the transcript shows of their cause.

use super::{
    failed_calls::failed_calls,
    problem::{Problem, ProblemKind},
    server_error::{LastLines, server_error},
};
use crate::{
    scenario::model::Scenario,
    transcript::{Entry, task},
};

/// Adds the likely cause of an agent's failure to the problem that a reader sees first: what its server said, or calls that failed.
pub(super) fn explain(
    problems: &mut [Problem],
    scenario: &Scenario,
    entries: &[Entry],
    printed: &LastLines,
) {
    let Some(first) = problems.first_mut() else { return };
    let failed = || Some(format!("the trial {}", failed_calls(scenario, entries)?));
    let why = server_error(scenario, entries, printed, &first.message).or_else(failed);
    if let Some(why) = why {
        first.message = format!("{}\n{why}", first.message);
    }
}

/// Adds to a hang that the others waited for the end of a task in a state that A2A does not have.
pub(super) fn explain_hang(problems: &mut [Problem], entries: &[Entry]) {
    let hang = problems.iter_mut().find(|one| one.kind == ProblemKind::Hung);
    if let (Some(hang), Some((role, state))) = (hang, task::unknown_state(entries)) {
        hang.message += &format!(
            "\nthe task of {role} is in the state {state:?}, which A2A does not have: at its end, expected \"completed\" or \"failed\" \
             in A2A 0.3, TASK_STATE_COMPLETED or TASK_STATE_FAILED in 1.0"
        );
    }
}
