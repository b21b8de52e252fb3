//! Repeats the artifacts of a turn in the message of the status that completes the task.
//!
//! Some clients show messages and no artifacts. An agent whose answers are
//! [messages](crate::agent::AnswerKind::Messages) serves them: an answer of one message is sent as a bare message, and
//! this module makes all other answers visible to such clients.

use std::collections::BTreeSet;

use bridge_protocol::a2a::{Artifact, Message, Part, Role, Task, TaskState, TaskStatus};
use bridge_translate::{answer, plain_text};

use super::queue::TurnJob;
use crate::{
    clock,
    executor::TaskHandle,
    store::{Event, Result, Store, StoredEvent},
};

/// Adds the message to the last events of a turn, if they complete the task without a message and the answer is not a bare one.
/// If the log cannot be read, nothing is added: the end of the turn reports it.
pub(super) async fn repeat(
    store: &dyn Store,
    handle: &TaskHandle,
    job: &TurnJob,
    last: &mut [Event],
) {
    if let Some(end) = last.iter().position(completes_without_message)
        && let Ok(Some(message)) = message(store, handle, job, last).await
        && let Event::Status { status, .. } = &mut last[end]
    {
        status.message = Some(message);
    }
}

/// Returns whether the task is answered with a bare message (specification 3.1.1): it consists of the caller's message and one
/// message of the agent.
pub fn is_bare_message(task: &Task) -> bool {
    let answers = |artifact| answer::message_id(artifact).is_some();
    let users = task.history.iter().filter(|one| one.role == Role::User);
    let messages = task.history.iter().chain(&task.status.message);
    let agents = messages.filter(|one| one.role != Role::User);
    let count = task.artifacts.len() + agents.count();
    task.artifacts.iter().all(answers) && count <= 1 && users.count() == 1
}

fn completes_without_message(event: &Event) -> bool {
    matches!(
        event,
        Event::Status { status: TaskStatus { state: TaskState::Completed, message: None, .. }, .. }
    )
}

/// Returns a message with the artifacts of the turn; `None` if there are none, or if they are a bare message.
async fn message(
    store: &dyn Store,
    handle: &TaskHandle,
    job: &TurnJob,
    last: &[Event],
) -> Result<Option<Message>> {
    let mut snapshot = store.task(&job.caller, &job.task).await?;
    for (seq, event) in (snapshot.seq + 1..).zip(last) {
        snapshot.apply(StoredEvent { seq, time: clock::now(), event: event.clone() });
    }
    if is_bare_message(&snapshot.task) {
        return Ok(None);
    }
    let earlier = artifacts_before(handle, job.turn).await?;
    let is_new = |one: &&Artifact| !earlier.contains(&one.artifact_id);
    let new = snapshot.task.artifacts.iter().filter(is_new);
    let parts = plain_text::on_lines(new.map(|artifact| joined(&artifact.parts)));
    let id = format!("{}-turn-{}-answer", job.task, job.turn);
    Ok((!parts.is_empty()).then(|| Message {
        task_id: Some(handle.task_id().to_owned()),
        context_id: Some(handle.context_id().to_owned()),
        ..Message::new(id, Role::Agent, parts)
    }))
}

/// Returns the ids of the artifacts that the task had before the turn.
async fn artifacts_before(handle: &TaskHandle, turn: u64) -> Result<BTreeSet<String>> {
    let (mut artifacts, mut log) = (BTreeSet::new(), handle.log());
    while let Some(stored) = log.next().await? {
        match stored.event {
            Event::TurnStarted { turn: started, .. } if started == turn => break,
            Event::Artifact { artifact, .. } => _ = artifacts.insert(artifact.artifact_id),
            _ => {}
        }
    }
    Ok(artifacts)
}

/// Returns the parts with the pieces of streamed texts put together.
fn joined(parts: &[Part]) -> Vec<Part> {
    let mut joined = Artifact::new("", Vec::new());
    joined.append_parts(parts.iter().cloned());
    joined.parts
}
