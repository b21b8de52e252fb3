//! The interface to agents: an executor gets a turn and returns the changes of the task.

mod cancel_signal;
mod handle;
pub(crate) mod validity;

use std::{
    ops::Deref,
    // The modules that `interleavings` compiles again find replacements under these names.
    sync::{self, Arc},
    time::Duration,
};

pub use async_trait::async_trait;
use bridge_protocol::a2a::{Artifact, Message, Metadata, Part, Role, Task, TaskState, TaskStatus};
use bridge_translate::answer;
use tokio::sync as async_sync;

pub use cancel_signal::CancelSignal;
pub use handle::{EmitError, TaskHandle};

use crate::{
    caller::Caller,
    store::{Event, Revised},
};

/// Implements an agent. Bots are one kind of agent; anything that can answer a message is another.
#[async_trait]
pub trait Executor: Send + Sync + 'static {
    /// Runs one turn and returns the changes that end it. They are logged together with the end of the turn. Changes
    /// that should be visible earlier are emitted through the turn's [`TaskHandle`].
    ///
    /// This function is never called twice for the same message. If it panics or exceeds the agent's time limit, the task fails
    /// with an explanation, and later changes are refused.
    ///
    /// The last change should leave the task ended or waiting for its caller. If there is none, or the last state is
    /// Working, the turn ends and the task stays open: streams end, and callers that wait for an answer wait until the
    /// service's time limit (its setting `wait`, 300 seconds by default) and get the task in its state at that time.
    /// The task may be ended later through the turn's [`TaskHandle`].
    ///
    /// Callers get only valid objects of A2A. A message of the agent always gets its role, an id and a part. A state
    /// that A2A does not have, or an artifact without an id, fails the turn with an explanation.
    async fn execute(&self, turn: Turn) -> Vec<Update>;

    /// Returns the time for which a turn stays open over a restart of this process, if the agent runs outside of it;
    /// `None` if its turns end with the process.
    fn survives_restart_for(&self) -> Option<Duration> {
        None
    }

    /// Resumes a turn that began before a restart, in place of [`Executor::execute`]: the agent may have seen the
    /// message and may still answer it. It is only called if [`survives_restart_for`](Self::survives_restart_for)
    /// returns a time.
    async fn resume(&self, turn: Turn) -> Vec<Update> {
        let _ = turn;
        Vec::new()
    }

    /// Called when the agent is hosted. During a reload it may be hosted twice for a moment.
    fn on_added(&self) {}

    /// Called when the agent is no longer hosted, or is replaced. Its running turns continue to their ends.
    fn on_removed(&self) {}

    /// Called after a caller has canceled the task, for cleaning up.
    async fn canceled(&self, task: Arc<Task>, caller: Caller) {
        let _ = (task, caller);
    }
}

/// The input of an executor: a message to be answered.
#[derive(Debug)]
pub struct Turn {
    /// The number of the turn in its task, from 1.
    pub number: u64,
    /// The caller's message, with task and context ids.
    pub message: MessageOfTask,
    /// The current task, whose history includes the message.
    pub task: Arc<Task>,
    /// The state in which the task waited for this message: `InputRequired` or `AuthRequired`, so that the message answers
    /// the agent's question, which is before it in the history. `None` if the task did not wait. The status of the task is
    /// `Working` in every turn.
    pub awaited: Option<TaskState>,
    /// The caller.
    pub caller: Caller,
    /// Whether the turn is observed while it runs: the caller streams the answer, does not wait for it, or has set a
    /// webhook.
    pub is_watched: bool,
    /// Emits changes during the turn and afterwards.
    pub handle: TaskHandle,
    /// Signals the cancelation of the task.
    pub cancel_signal: CancelSignal,
}

impl Turn {
    /// Replaces the task by one without artifacts and without a history, except for the message. A turn that holds the whole
    /// task while it changes it lets readers copy the task, which may be long.
    pub fn release_history(&mut self) {
        let Task { id, context_id, status, metadata, extra, .. } = &*self.task;
        let task = Arc::new(Task {
            id: id.clone(),
            context_id: context_id.clone(),
            status: status.clone(),
            artifacts: Vec::new(),
            history: vec![Message::clone(&self.message)],
            metadata: metadata.clone(),
            extra: extra.clone(),
        });
        self.message = MessageOfTask { task: Arc::clone(&task), place: 0 };
        self.task = task;
    }

    /// Returns the messages of the conversation, oldest first, up to the caller's message: those of at most `tasks` earlier
    /// tasks of this caller in the context, and those of this task. An agent over a language model needs them because a
    /// completed task accepts no message: the caller's next one begins another task, which has only the context in common.
    ///
    /// The artifacts of a task are one message of the agent, without those that the message of the status repeats.
    /// Tasks are in the order of their last status.
    ///
    /// ```
    /// use bridge_protocol::a2a::{Message, Role};
    /// use bridge_tasks::executor::{EmitError, Turn};
    /// use serde_json::{Value, json};
    ///
    /// /// Returns the messages in the form of OpenAI's API.
    /// async fn messages(turn: &Turn) -> Result<Vec<Value>, EmitError> {
    ///     let conversation = turn.conversation(20).await?;
    ///     let role = |role: &Role| if *role == Role::Agent { "assistant" } else { "user" };
    ///     let message = |one: &Message| json!({"role": role(&one.role), "content": one.text()});
    ///     Ok(conversation.iter().map(message).collect())
    /// }
    /// # let _ = messages;
    /// ```
    ///
    /// # Errors
    /// Returns [`EmitError::Store`] if the earlier tasks cannot be read.
    pub async fn conversation(&self, tasks: usize) -> Result<Vec<Message>, EmitError> {
        let earlier = self.handle.earlier_tasks(tasks).await?;
        let mut messages: Vec<Message> =
            earlier.iter().flat_map(|task| messages_of(task)).collect();
        // Later messages of the caller may be queued already.
        messages.extend_from_slice(self.message.earlier());
        messages.extend(artifacts_of(&self.task));
        messages.push(Message::clone(&self.message));
        Ok(messages)
    }
}

fn messages_of(task: &Task) -> Vec<Message> {
    let last = task.status.message.iter().cloned();
    task.history.iter().cloned().chain(artifacts_of(task)).chain(last).collect()
}

/// Returns the artifacts that the message of the status does not repeat, as one message.
fn artifacts_of(task: &Task) -> Option<Message> {
    let parts = task.produced().flat_map(|artifact| &artifact.parts);
    let parts: Vec<Part> = parts.cloned().collect();
    let id = format!("{}.artifacts", task.id);
    (!parts.is_empty()).then(|| Message::new(id, Role::Agent, parts))
}

/// A message in the history of its task, which dereferences to [`Message`]. The content is shared with the task.
#[derive(Clone, Debug)]
pub struct MessageOfTask {
    task: Arc<Task>,
    /// The index in the history.
    place: usize,
}

impl MessageOfTask {
    /// Returns the newest message with this id, if the task has one. If the agent has reused the id of the caller's
    /// message, the caller's message is returned.
    pub fn find(task: &Arc<Task>, message_id: &str) -> Option<Self> {
        let has_id = |message: &Message| message.message_id == message_id;
        let is_caller = |message: &Message| has_id(message) && message.role != Role::Agent;
        let messages = || task.history.iter();
        let place = messages().rposition(is_caller);
        let place = place.or_else(|| messages().rposition(has_id))?;
        Some(Self { task: Arc::clone(task), place })
    }

    /// Returns the messages before it in the history of its task.
    fn earlier(&self) -> &[Message] {
        &self.task.history[..self.place]
    }
}

impl Deref for MessageOfTask {
    type Target = Message;

    fn deref(&self) -> &Message {
        &self.task.history[self.place]
    }
}

/// A change of a task.
#[derive(Clone, Debug, PartialEq)]
pub enum Update {
    /// The task has a new state.
    Status {
        /// The new state.
        state: TaskState,
        /// The message of the status.
        message: Option<Message>,
        /// Metadata, merged into the task's.
        metadata: Option<Metadata>,
    },
    /// A message whose kind is decided later: it becomes the message of a status, or an artifact with the same parts.
    /// Until then it is the message of the task's status, and streams do not show it.
    Said(Message),
    /// The task has a new artifact, or a new piece of one.
    Artifact {
        /// The artifact or piece.
        artifact: Artifact,
        /// Whether the parts are appended to the artifact with the same id, if there is one; otherwise they replace
        /// it.
        append: bool,
        /// Whether this is the last piece.
        last_chunk: bool,
        /// Metadata of the change.
        metadata: Option<Metadata>,
    },
    /// Metadata, merged into the task's.
    Metadata(Metadata),
    /// An earlier message was changed or deleted. Streams show it with the current status.
    Revised {
        /// The change of the message.
        revised: Revised,
        /// Metadata of the change, merged into the task's.
        metadata: Metadata,
    },
}

impl Update {
    /// Returns a status without a message.
    pub fn state(state: TaskState) -> Self {
        Self::Status { state, message: None, metadata: None }
    }

    /// Returns a status with a message of the agent.
    pub fn said(state: TaskState, message_id: impl Into<String>, text: impl Into<String>) -> Self {
        Self::Status {
            state,
            message: Some(Message::new(message_id, Role::Agent, vec![Part::text(text)])),
            metadata: None,
        }
    }

    /// Returns the changes that complete the task with a message as its answer. The message becomes an artifact,
    /// which most clients show exactly once. An empty message becomes none. A message without an id gets one, from which
    /// that of the artifact is derived.
    pub fn answer(message: &Message) -> Vec<Self> {
        let message = match message.message_id.is_empty() {
            true => &validity::repaired(message.clone()),
            false => message,
        };
        let answer = answer::artifact(message).map(|artifact| Self::Artifact {
            artifact,
            append: false,
            last_chunk: true,
            metadata: None,
        });
        let ended = Self::state(TaskState::Completed);
        answer.into_iter().chain([ended]).collect()
    }

    /// Returns a complete artifact.
    pub fn artifact(id: impl Into<String>, name: impl Into<String>, parts: Vec<Part>) -> Self {
        Self::Artifact {
            artifact: Artifact { name: Some(name.into()), ..Artifact::new(id, parts) },
            append: false,
            last_chunk: true,
            metadata: None,
        }
    }

    /// Returns a piece of an artifact. The first piece creates the artifact.
    pub fn piece(id: impl Into<String>, parts: Vec<Part>, last_chunk: bool) -> Self {
        Self::Artifact {
            artifact: Artifact::new(id, parts),
            append: true,
            last_chunk,
            metadata: None,
        }
    }

    /// Returns whether the task ends with this change.
    fn ends_task(&self) -> bool {
        matches!(self, Self::Status { state, .. } if state.is_terminal())
    }

    /// Converts the change to an event of the log. Messages get the ids of the task and its context, and all required
    /// fields.
    pub fn into_event(self, task: &str, context: &str) -> Event {
        match self {
            Self::Status { state, message, metadata } => Event::Status {
                status: TaskStatus {
                    message: message.map(|message| belonging(message, task, context)),
                    ..TaskStatus::new(state)
                },
                metadata,
            },
            Self::Said(message) => Event::Said(belonging(message, task, context)),
            Self::Artifact { artifact, append, last_chunk, metadata } => Event::Artifact {
                artifact: Artifact { parts: validity::with_content(artifact.parts), ..artifact },
                append,
                last_chunk,
                metadata,
            },
            Self::Metadata(metadata) => Event::Metadata { metadata, revised: None },
            Self::Revised { revised, metadata } => Event::Metadata {
                metadata,
                revised: Some(Revised {
                    message: revised.message.map(|message| belonging(message, task, context)),
                    ..revised
                }),
            },
        }
    }
}

fn belonging(message: Message, task: &str, context: &str) -> Message {
    let mut message = validity::repaired(message);
    message.task_id = Some(task.to_owned());
    message.context_id = Some(context.to_owned());
    message
}

/// Implements an agent with a function from text to text. Each message completes its task, with the answer as an
/// artifact.
///
/// For tests and examples.
pub struct FnExecutor<F>(pub F);

#[async_trait]
impl<F> Executor for FnExecutor<F>
where
    F: Fn(&str) -> String + Send + Sync + 'static,
{
    async fn execute(&self, turn: Turn) -> Vec<Update> {
        let text = (self.0)(&turn.message.text());
        // The caller chooses a message's id, so it may not be unique.
        let id = format!("{}.{}", turn.task.id, turn.number);
        Update::answer(&Message::new(id, Role::Agent, vec![Part::text(text)]))
    }
}
