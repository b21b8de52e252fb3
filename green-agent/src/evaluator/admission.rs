//! Finds out whether an agent lets the evaluator in, before it is told its task.
//!
//! An agent that refuses then says nothing about its work, as one that never becomes ready. Once it knows the task, a
//! refusal is an answer like any other: an agent could otherwise choose the trials that count.

use bridge_client::{Client, ClientError, Credentials, Fault, new_message_id};
use bridge_protocol::a2a::GetTaskRequest;

/// Asks for a task that does not exist, if the agent's card requires credentials or the scenario has some. An agent that
/// lets the evaluator in does not know the task.
pub(super) async fn check(client: &Client, credentials: &Credentials) -> Result<(), ClientError> {
    if client.card().security_requirements.is_empty() && credentials.is_empty() {
        return Ok(());
    }
    match client.get_task(GetTaskRequest::new(new_message_id())).await {
        Err(error) if is_refusal(&error) => Err(error),
        Ok(_) | Err(_) => Ok(()),
    }
}

/// Returns whether an agent requires credentials that it did not get.
pub(super) fn is_refusal(error: &ClientError) -> bool {
    matches!(error.fault, Fault::Unauthenticated { .. } | Fault::NoCredentials { .. })
}
