//! Builds the events for a message and the start of its turn.

use bridge_protocol::a2a::{Message, TaskState, TaskStatus};
use bridge_telemetry::TraceContext;

use super::IncomingMessage;
use crate::{
    agent::Agent,
    clock,
    store::{Created, Event, Head, Turn, TurnState},
};

/// Returns the first event of a new task.
pub(super) fn created_event(agent: &Agent, incoming: &IncomingMessage, context: &str) -> Created {
    Created {
        agent: agent.name.clone(),
        owner: incoming.caller.clone(),
        context_id: context.to_owned(),
        client_id: incoming.client_id.clone(),
        metadata: incoming.metadata.clone(),
    }
}

/// Returns the events for a message.
pub(super) fn message_events(
    message: &Message,
    task: &str,
    context: &str,
    turn: u64,
    cause: &TraceContext,
) -> [Event; 2] {
    let names_context = Some(message.context_id.is_some());
    let mut message = message.clone();
    message.task_id = Some(task.to_owned());
    message.context_id = Some(context.to_owned());
    let message_id = message.message_id.clone();
    [
        Event::Message(message),
        Event::TurnQueued {
            turn,
            message_id,
            names_context,
            traceparent: cause.traceparent(),
        },
    ]
}

/// Returns the event for a message that is queued. It shows that the message was accepted: a task that asked for input
/// is no longer waiting.
pub(super) fn queued_status(head: &Head) -> Event {
    let runs = |turn: &Turn| matches!(turn.state, TurnState::Started { .. });
    let state = match head.turns.iter().any(runs) {
        true => TaskState::Working,
        false => TaskState::Submitted,
    };
    Event::Status {
        status: TaskStatus::new(state),
        metadata: None,
    }
}

/// Returns the events for the start of a turn.
pub(super) fn start_events(turn: u64, agent: &Agent) -> [Event; 2] {
    let survives_restart_for = agent.executor.survives_restart_for();
    let start = Event::TurnStarted {
        turn,
        open_until: survives_restart_for.and_then(|limit| clock::now().checked_add(limit).ok()),
        reference: None,
    };
    let working = Event::Status {
        status: TaskStatus::new(TaskState::Working),
        metadata: None,
    };
    [start, working]
}
