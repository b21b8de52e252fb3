//! The one seam to an agent: it gets a turn and says how the task changes.

mod handle;

use std::{
    ops::Deref,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

pub use async_trait::async_trait;
use bridge_protocol::{
    a2a::{Artifact, Message, Metadata, Part, Role, Task, TaskState, TaskStatus},
    translate::answer,
};
use tokio::sync::Notify;

pub use handle::{EmitError, TaskHandle};

use crate::{
    caller::Caller,
    store::{Event, Revised},
};

/// An agent as the bridge sees it. Bot-style agents are one kind; anything that can answer a message is
/// another.
#[async_trait]
pub trait Executor: Send + Sync + 'static {
    /// Works on one turn and returns the changes that end it; they are logged together with the end of
    /// the turn. What should be seen earlier is emitted through the turn's [`TaskHandle`].
    ///
    /// It is never called twice for the same message. If it panics, or takes longer than the agent's turn
    /// may take, the task fails and says so; what it emits after that is refused.
    async fn execute(&self, turn: Turn) -> Vec<Update>;

    /// How long a turn stays open over a restart of this process, for an agent outside of it; none for one
    /// inside, whose turns die with the process.
    fn survives_restart_for(&self) -> Option<Duration> {
        None
    }

    /// Takes up a turn that was begun before a restart, in place of [`Executor::execute`]: the agent may
    /// have seen the message and may still answer it. It is asked of executors that say how long.
    async fn resume(&self, turn: Turn) -> Vec<Update> {
        let _ = turn;
        Vec::new()
    }

    /// It is hosted from now on. It may have been hosted before, and be hosted twice for a moment.
    fn on_added(&self) {}

    /// It is not hosted any more, or another one in its place. Turns of it that run go on to their ends.
    fn on_removed(&self) {}

    /// The caller has canceled the task. It is canceled already: this is for cleaning up.
    async fn canceled(&self, task: Arc<Task>, caller: Caller) {
        let _ = (task, caller);
    }
}

/// What an executor gets: one message, to be answered.
#[derive(Debug)]
pub struct Turn {
    /// Counts the task's turns, from 1.
    pub number: u64,
    /// What the caller said; its task and context ids are set.
    pub message: MessageOfTask,
    /// The task as it stands, the message in its history.
    pub task: Arc<Task>,
    /// Who said it.
    pub caller: Caller,
    /// Whether they watch the answer as it comes, in a stream of their own.
    pub is_watched: bool,
    /// Emits changes while the turn runs, and afterwards.
    pub handle: TaskHandle,
    /// What arrives meanwhile.
    pub cancel_signal: CancelSignal,
}

/// A message in the history of its task. It is read like any [`Message`], and shares what it has with the task.
#[derive(Clone, Debug)]
pub struct MessageOfTask {
    task: Arc<Task>,
    /// Its place in the history.
    place: usize,
}

impl MessageOfTask {
    /// The newest message with this id, if the task has one.
    pub fn find(task: &Arc<Task>, message_id: &str) -> Option<Self> {
        let has_id = |message: &Message| message.message_id == message_id;
        let place = task.history.iter().rposition(has_id)?;
        Some(Self {
            task: Arc::clone(task),
            place,
        })
    }
}

impl Deref for MessageOfTask {
    type Target = Message;

    fn deref(&self) -> &Message {
        &self.task.history[self.place]
    }
}

/// Tells a running turn that its task was canceled. Its clones tell the same.
#[derive(Clone, Debug, Default)]
pub struct CancelSignal(Arc<Canceled>);

#[derive(Debug, Default)]
struct Canceled {
    is_canceled: AtomicBool,
    told: Notify,
}

impl CancelSignal {
    /// An inbox of no turn: nothing changes in it any more.
    pub(crate) fn fixed(is_canceled: bool) -> Self {
        let cancel_signal = Self::default();
        cancel_signal
            .0
            .is_canceled
            .store(is_canceled, Ordering::Release);
        cancel_signal
    }

    /// The task was canceled.
    pub(crate) fn cancel(&self) {
        self.0.is_canceled.store(true, Ordering::Release);
        self.0.told.notify_waiters();
    }

    /// Comes when the task is canceled; never otherwise.
    pub async fn canceled(&mut self) {
        let Canceled { is_canceled, told } = &*self.0;
        loop {
            // It hears of what is told from here on, before it looks.
            let told = told.notified();
            if is_canceled.load(Ordering::Acquire) {
                return;
            }
            told.await;
        }
    }

    /// Whether the task was canceled.
    pub fn is_canceled(&self) -> bool {
        self.0.is_canceled.load(Ordering::Acquire)
    }
}

/// A change that an executor makes to its task.
#[derive(Clone, Debug, PartialEq)]
pub enum Update {
    /// The task stands differently.
    Status {
        /// The new state.
        state: TaskState,
        /// What is said about it.
        message: Option<Message>,
        /// Free-form data, merged into the task's.
        metadata: Option<Metadata>,
    },
    /// Something is said of which it is told later what it is: a status, or an artifact with the same parts. The
    /// task as it stands has it as the message of its status; those who watch it are not shown it yet.
    Said(Message),
    /// The task produced something, or a further piece of it.
    Artifact {
        /// The artifact or the piece.
        artifact: Artifact,
        /// Its parts are added to those of the artifact of the same id, if there is one; otherwise they
        /// replace it.
        append: bool,
        /// No further piece follows.
        last_chunk: bool,
        /// Free-form data about this change.
        metadata: Option<Metadata>,
    },
    /// Free-form data, merged into the task's.
    Metadata(Metadata),
    /// Something that was said is not as it was. Streams show it, with the status as it stands then.
    Revised {
        /// The message that was changed or taken back.
        revised: Revised,
        /// Free-form data about the change, merged into the task's.
        metadata: Metadata,
    },
}

impl Update {
    /// A state without a message.
    pub fn state(state: TaskState) -> Self {
        Self::Status {
            state,
            message: None,
            metadata: None,
        }
    }

    /// A state, with a text that the agent says about it.
    pub fn said(state: TaskState, message_id: impl Into<String>, text: impl Into<String>) -> Self {
        Self::Status {
            state,
            message: Some(Message::new(
                message_id,
                Role::Agent,
                vec![Part::text(text)],
            )),
            metadata: None,
        }
    }

    /// The task is completed, and this message is its answer: an artifact, in which most clients show it exactly
    /// once. A message that says nothing is none.
    pub fn answer(message: &Message) -> Vec<Self> {
        let answer = answer::artifact(message).map(|artifact| Self::Artifact {
            artifact,
            append: false,
            last_chunk: true,
            metadata: None,
        });
        let ended = Self::state(TaskState::Completed);
        answer.into_iter().chain([ended]).collect()
    }

    /// A whole artifact.
    pub fn artifact(id: impl Into<String>, name: impl Into<String>, parts: Vec<Part>) -> Self {
        Self::Artifact {
            artifact: artifact(id.into(), Some(name.into()), parts),
            append: false,
            last_chunk: true,
            metadata: None,
        }
    }

    /// A piece of an artifact, perhaps its last one. The first one begins the artifact.
    pub fn piece(id: impl Into<String>, parts: Vec<Part>, last_chunk: bool) -> Self {
        Self::Artifact {
            artifact: artifact(id.into(), None, parts),
            append: true,
            last_chunk,
            metadata: None,
        }
    }

    /// The change as the log keeps it. A message is made to belong to its task.
    pub(crate) fn into_event(self, task: &str, context: &str) -> Event {
        match self {
            Self::Status {
                state,
                message,
                metadata,
            } => Event::Status {
                status: TaskStatus {
                    message: message.map(|message| belonging(message, task, context)),
                    ..TaskStatus::new(state)
                },
                metadata,
            },
            Self::Said(message) => Event::Said(belonging(message, task, context)),
            Self::Artifact {
                artifact,
                append,
                last_chunk,
                metadata,
            } => Event::Artifact {
                artifact,
                append,
                last_chunk,
                metadata,
            },
            Self::Metadata(metadata) => Event::Metadata {
                metadata,
                revised: None,
            },
            Self::Revised { revised, metadata } => Event::Metadata {
                metadata,
                revised: Some(Revised {
                    message: revised
                        .message
                        .map(|message| belonging(message, task, context)),
                    ..revised
                }),
            },
        }
    }
}

fn artifact(artifact_id: String, name: Option<String>, parts: Vec<Part>) -> Artifact {
    Artifact {
        artifact_id,
        name,
        description: None,
        parts,
        metadata: None,
        extensions: Vec::new(),
        extra: Metadata::new(),
    }
}

fn belonging(mut message: Message, task: &str, context: &str) -> Message {
    message.task_id = Some(task.to_owned());
    message.context_id = Some(context.to_owned());
    message
}

/// An executor made of a function that answers a text with a text and so completes the task; the answer is an
/// artifact.
///
/// For tests and first steps.
pub struct FnExecutor<F>(pub F);

#[async_trait]
impl<F> Executor for FnExecutor<F>
where
    F: Fn(&str) -> String + Send + Sync + 'static,
{
    async fn execute(&self, turn: Turn) -> Vec<Update> {
        let text = (self.0)(&turn.message.text());
        // A message's id is its caller's choice, and another one may have chosen the same.
        let id = format!("{}.{}", turn.task.id, turn.number);
        Update::answer(&Message::new(id, Role::Agent, vec![Part::text(text)]))
    }
}
