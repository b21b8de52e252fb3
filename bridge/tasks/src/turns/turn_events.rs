//! Builds the events for a message and the start of its turn.

use std::sync::Arc;

use bridge_protocol::a2a::{TaskState, TaskStatus};
use bridge_translate::keys::{EVENT, EVENTS};

use super::{IncomingMessage, queue::TurnJob, submit::Target};
use crate::{
    agent::Agent,
    clock,
    store::{Created, Event, Head, Turn, TurnState},
};

/// Returns the events with which a message is logged. A turn that runs at once is started in the same append, which saves
/// one write before the agent is called.
pub(super) fn submission_events(
    agent: &Agent,
    incoming: &IncomingMessage,
    target: &Target,
    job: &TurnJob,
    runs_at_once: bool,
) -> Vec<Event> {
    let mut events = Vec::with_capacity(5);
    let Target { task, context, .. } = target;
    if target.head.is_none() {
        events.push(Event::Created(Created {
            agent: Arc::clone(&agent.name),
            owner: incoming.caller.clone(),
            context_id: Arc::clone(context),
            client_id: incoming.client_id.as_deref().map(Arc::from),
            metadata: incoming.metadata.clone(),
        }));
    }
    let mut message = incoming.message.clone();
    let names_context = Some(message.context_id.is_some());
    message.task_id = Some(task.to_string());
    message.context_id = Some(context.to_string());
    let (turn, message_id) = (job.turn, message.message_id.clone());
    events.push(Event::Message(message));
    let traceparent = job.cause.traceparent().map(Arc::from);
    events.push(Event::TurnQueued { turn, message_id, names_context, traceparent });
    if target.head.is_some() {
        events.extend(metadata_event(incoming));
    }
    match (runs_at_once, &target.head) {
        (true, _) => events.extend(start_events(job.turn, agent)),
        (false, Some(head)) => events.push(queued_status(head)),
        // A new task already has the state submitted.
        (false, None) => {}
    }
    events
}

/// Returns the event that adds the metadata of a later request to the task's, where the agent finds that of the first one.
/// Reports of the agent's own, which a client may have copied from the task, are not reported again.
fn metadata_event(incoming: &IncomingMessage) -> Option<Event> {
    let mut metadata = incoming.metadata.clone()?;
    metadata.retain(|key, _| !matches!(key.as_str(), EVENT | EVENTS));
    (!metadata.is_empty()).then_some(Event::Metadata { metadata, revised: None })
}

/// Returns the event for a message that is queued. It shows that the message was accepted: a task that asked for input
/// is no longer waiting.
fn queued_status(head: &Head) -> Event {
    let runs = |turn: &Turn| matches!(turn.state, TurnState::Started { .. });
    let state = if head.turns.iter().any(runs) { TaskState::Working } else { TaskState::Submitted };
    Event::Status { status: TaskStatus::new(state), metadata: None }
}

pub(super) fn start_events(turn: u64, agent: &Agent) -> [Event; 2] {
    let survives_restart_for = agent.executor.survives_restart_for();
    let start = Event::TurnStarted {
        turn,
        open_until: survives_restart_for.and_then(|limit| clock::now().checked_add(limit).ok()),
        reference: None,
    };
    let working = Event::Status { status: TaskStatus::new(TaskState::Working), metadata: None };
    [start, working]
}
