//! Sample tasks for tests in which times and texts do not matter.

use std::sync::Arc;

use bridge_protocol::a2a::{Artifact, Message, Part, Role, TaskState, TaskStatus};
use jiff::Timestamp;

use crate::{Append, Created, Event, Head, Seq, Store, caller::Caller};

/// A task of a caller, with helpers that append events to it.
#[derive(Clone, Debug)]
pub struct Sample {
    /// The caller.
    pub caller: Caller,
    /// The task.
    pub task: String,
    /// The task's context.
    pub context: String,
}

pub(super) const AGENT: &str = "sample";

impl Sample {
    /// Creates a task of `alice` in the context `c`.
    pub fn new(task: impl Into<String>) -> Self {
        Self { caller: Caller::new("alice"), task: task.into(), context: "c".into() }
    }

    /// Sets the caller.
    #[must_use]
    pub fn of(mut self, caller: Caller) -> Self {
        self.caller = caller;
        self
    }

    /// Sets the context.
    #[must_use]
    pub fn within(mut self, context: &str) -> Self {
        self.context = context.into();
        self
    }

    /// Returns the event that creates the task.
    pub fn created(&self) -> Event {
        Event::Created(Created {
            agent: AGENT.into(),
            owner: self.caller.clone(),
            context_id: self.context.as_str().into(),
            client_id: None,
            metadata: None,
        })
    }

    /// Returns an append of these events, `millis` milliseconds after 1970.
    pub fn append(&self, expected: Seq, millis: i64, events: Vec<Event>) -> Append {
        Append { task: self.task.as_str().into(), expected, time: at(millis), events }
    }

    /// Creates the task with a first message `TASK-1` and its queued turn: events 1 to 3.
    pub async fn create(&self, store: &dyn Store, millis: i64) {
        let id = format!("{}-1", self.task);
        let queued = Event::TurnQueued {
            turn: 1,
            message_id: id.clone(),
            names_context: None,
            traceparent: None,
        };
        let events = vec![self.created(), said(&id, "hello"), queued];
        let append = self.append(0, millis, events);
        let head = store.append(&self.caller, append).await.unwrap();
        assert_eq!(head.seq, 3);
    }

    /// Appends one event at the end.
    pub async fn then(&self, store: &dyn Store, millis: i64, event: Event) -> Seq {
        let seq = self.head(store).await.seq;
        let append = self.append(seq, millis, vec![event]);
        let head = store.append(&self.caller, append).await.unwrap();
        assert_eq!(self.head(store).await, head);
        head.seq
    }

    /// Returns the task's head.
    pub async fn head(&self, store: &dyn Store) -> Arc<Head> {
        store.head(&self.caller, &self.task).await.unwrap()
    }
}

/// Returns the time that is `millis` milliseconds after 1970.
pub(super) fn at(millis: i64) -> Timestamp {
    Timestamp::from_millisecond(millis).unwrap()
}

/// Returns the event of a message of the caller.
pub(super) fn said(id: &str, text: &str) -> Event {
    Event::Message(Message::new(id, Role::User, vec![Part::text(text)]))
}

/// Returns the event of a status with a message of the agent. The id of the message is its text.
pub fn status(state: TaskState, text: &str) -> Event {
    let message = Message::new(text, Role::Agent, vec![Part::text(text)]);
    let mut status = TaskStatus::new(state);
    status.message = Some(message);
    let metadata = None;
    Event::Status { status, metadata }
}

/// Returns the event of an artifact with one part, or of a further piece of it.
pub fn artifact(id: &str, part: Part, append: bool) -> Event {
    Event::Artifact {
        artifact: Artifact::new(id, vec![part]),
        append,
        last_chunk: false,
        metadata: None,
    }
}
