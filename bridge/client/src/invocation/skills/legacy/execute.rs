//! Calls a skill as a method, at `{base}/execute`.

use bridge_protocol::{
    dialect::execute::{EXECUTE_PATH, ExecuteError},
    jsonrpc::{Id, Response},
    wire::Wire as _,
};
use serde_json::Value;

use super::post::JsonPoster;
use crate::{
    Fault,
    discovery::Discovered,
    invocation::{Invocation, InvocationError, Outcome, Result, State},
};

/// The operation's name in errors.
const OPERATION: &str = "execute";

/// Calls the skill. A failed execution is an outcome; a refused request is an error.
pub(super) async fn call(
    poster: &JsonPoster,
    agent: &Discovered,
    invocation: &Invocation,
) -> Result<Outcome> {
    let id = Id::String(invocation.message_id.clone());
    let request = invocation.call().to_request(id);
    let answer = poster.post(EXECUTE_PATH, OPERATION, &request).await?;
    let outcome = Response::read(answer).and_then(|answer| answer.answering(&request.id));
    let outcome = outcome.map_err(|error| poster.named(Fault::Invalid(error), OPERATION))?;
    match outcome.map_err(ExecuteError::from_rpc) {
        Ok(result) => Ok(Outcome::with_result(result)),
        Err(ExecuteError::ExecutionFailed(why)) => Ok(Outcome::failed(why)),
        Err(ExecuteError::UnknownSkill(_)) => Err(agent.unknown(&invocation.skill_id)),
        Err(ExecuteError::InvalidParameters(why)) => Err(InvocationError::Refused {
            agent: agent.card.name.clone(),
            skill: invocation.skill_id.clone(),
            why,
        }),
    }
}

impl Outcome {
    /// Creates the outcome of a failed call, with a text only.
    fn failed(why: String) -> Self {
        Self {
            state: State::Failed,
            result_data: None,
            text: why,
            artifacts: Vec::new(),
            task_id: None,
            context_id: None,
        }
    }

    /// Creates the outcome of a successful call, with a result object.
    fn with_result(result: Value) -> Self {
        Self { state: State::Completed, result_data: Some(result), ..Self::failed(String::new()) }
    }
}
