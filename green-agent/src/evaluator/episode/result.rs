//! Makes the verdict on an episode.

use mcp_tools::episodes::{EndReason, Outcome};
use serde_json::{Value, json};

use super::{evaluator_calls::Participant, running::RunningEpisode};
use crate::{
    evaluator::{assess_error::AssessError, collect::NOT_BELIEVED, custom::EvaluationResult},
    scenario::episode::{Delivery, DetailsShape, Episode, TokenKind},
};

/// Returns the verdict with the score of the environment's state. An episode counts as failed unless the participant
/// ended it by submitting.
///
/// # Errors
/// If the environment broke, which says nothing about the participant.
pub(super) fn verdict(
    running: &RunningEpisode,
    settings: &Episode,
    seed: u64,
    outcome: &Outcome,
    participant: Option<&Participant>,
) -> Result<EvaluationResult, AssessError> {
    if let Some(fault) = &outcome.fault {
        return Err(AssessError::Environment(fault.clone()));
    }
    let task = &running.opened.task;
    let tools: Vec<&str> = outcome.trace.iter().map(|call| call.tool.as_str()).collect();
    let mut result = json!({
        "score": outcome.score.reward,
        "success": outcome.score.success,
        "steps": outcome.steps,
        "ended": outcome.ended,
        "details": outcome.score.details,
        "tools": tools,
        "task": {"task_id": task.task_id, "benchmark": task.benchmark, "seed": seed},
    });
    if let Some(participant) = participant {
        result["participant"] = Value::from(participant.state.as_str());
    }
    Ok(EvaluationResult { result, failure: failure(settings, outcome, participant) })
}

fn failure(
    settings: &Episode,
    outcome: &Outcome,
    participant: Option<&Participant>,
) -> Option<String> {
    let why = match outcome.ended {
        EndReason::Submitted => return None,
        EndReason::StepLimit => format!("it took more than {} steps", outcome.steps),
        EndReason::TimeLimit => "its time limit was reached".to_owned(),
        // This case was returned above as an error of the environment.
        EndReason::EnvironmentFailed => "the environment failed".to_owned(),
        EndReason::Closed => match participant {
            Some(Participant { state, text, .. }) if text.is_empty() => {
                format!("it ended: {state}")
            }
            Some(Participant { state, text, .. }) => format!("it ended: {state}: {text}"),
            None => "it left".to_owned(),
        },
    };
    let reported = participant.and_then(|one| one.model_fault.as_ref());
    let not_believed = reported.map_or("", |_| NOT_BELIEVED);
    let unreached = unreached(settings, outcome);
    Some(format!("the participant did not submit: {unreached}{why}{not_believed}"))
}

/// Returns that nothing came from the participant, which its author cannot see otherwise. It got a token that is not the episode's
/// if the settings say so.
fn unreached(settings: &Episode, outcome: &Outcome) -> String {
    if outcome.reached || settings.token != TokenKind::Valid {
        return String::new();
    }
    let form = match (settings.delivery, settings.details) {
        (Delivery::Preset, _) => "before its task",
        (_, DetailsShape::Data | DetailsShape::Nested) => "as data",
        (_, DetailsShape::Text) => "as text",
    };
    format!(
        "no request with the token of its connection details, which it got {form}, reached the environment; "
    )
}
