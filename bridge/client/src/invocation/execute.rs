//! Calls a skill as a method, at `{base}/execute`.

use bridge_protocol::{
    dialect::execute::{EXECUTE_PATH, ExecuteError},
    jsonrpc::{Id, Response},
    wire::Wire as _,
};

use super::{Invocation, InvocationError, Outcome, post::JsonPoster};
use crate::{Fault, discovery::Discovered};

/// The operation's name in errors.
const OPERATION: &str = "execute";

/// Calls the skill. A failed execution is an outcome; a refused request is an error.
pub(super) async fn call(
    poster: &JsonPoster,
    agent: &Discovered,
    invocation: &Invocation,
) -> Result<Outcome, InvocationError> {
    let id = Id::String(invocation.message_id.clone());
    let request = invocation.call().to_request(id);
    let answer = poster.post(EXECUTE_PATH, OPERATION, &request).await?;
    let outcome = Response::read(answer).and_then(|answer| answer.answering(&request.id));
    let outcome = outcome.map_err(|error| poster.named(Fault::Invalid(error), OPERATION))?;
    let error = match outcome {
        Ok(result) => return Ok(Outcome::with_result(result)),
        Err(error) => ExecuteError::from_rpc(error),
    };
    match error {
        ExecuteError::ExecutionFailed(why) => Ok(Outcome::failed(why)),
        ExecuteError::UnknownSkill(_) => Err(agent.unknown(&invocation.skill_id)),
        ExecuteError::InvalidParameters(why) => Err(InvocationError::Refused {
            agent: agent.card.name.clone(),
            skill: invocation.skill_id.clone(),
            why,
        }),
    }
}
