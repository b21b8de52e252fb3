//! The inputs and outputs of a turn.

use alloc::{
    boxed::Box,
    string::{String, ToString},
};

use bridge_protocol::{
    a2a::{Artifact, Message, Metadata, TaskState},
    activity::Activity,
};

/// An event in a turn.
#[derive(Clone, Debug, PartialEq)]
#[expect(clippy::large_enum_variant, reason = "almost all inputs are activities")]
pub enum Input {
    /// The bot sent an activity.
    Activity(Activity),
    /// The bot has finished its turn and sends nothing more.
    TurnEnded,
    /// The bot failed: an HTTP error, a panic, no connection. The text is the reason.
    Failed(String),
    /// The client canceled the task.
    Canceled,
    /// The turn exceeded its time limit.
    TimedOut,
    /// The bot has been silent for a while without finishing its turn.
    Lull,
}

/// An entry for the log, to be written in order.
#[derive(Clone, Debug, PartialEq)]
pub enum Output {
    /// The bot sent this message. It is not yet known whether it is the answer, a question or an intermediate message,
    /// so watchers are informed later; the stored task has it as the message of its status.
    Said(Message),
    /// The status of the task changes. The caller adds the time.
    Status {
        /// The new state.
        state: TaskState,
        /// The agent's message; `None` removes the former message from the status.
        message: Option<Message>,
        /// Metadata of the change.
        metadata: Option<Metadata>,
    },
    /// The task has a new artifact, or a piece of one.
    Artifact {
        /// The artifact, or the piece of it.
        artifact: Artifact,
        /// Whether the piece is appended; otherwise it replaces the artifact.
        append: bool,
        /// Whether this is the last piece.
        last_chunk: bool,
        /// Metadata of the piece.
        metadata: Option<Metadata>,
    },
    /// New metadata of the task; its status does not change.
    Metadata(Metadata),
    /// A message was changed or deleted. Clients that were shown the message must be shown this too, as a
    /// status update with the status at that time.
    Revised {
        /// The id of the message.
        message_id: String,
        /// The new version; `None` if it was deleted.
        message: Option<Message>,
        /// Metadata of the change.
        metadata: Metadata,
        /// Whether watchers are not told, because they were not told of the message.
        is_quiet: bool,
    },
    /// The turn is over; nothing follows.
    Ended,
}

/// The state of a task after a turn that ends silently. Chat bots never say that they are done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SilentEnd {
    /// The user may continue.
    #[default]
    InputRequired,
    /// The task is completed.
    Completed,
    /// The task stays open, as in Microsoft's hosting. Blocking clients wait until their limit.
    Working,
}

impl SilentEnd {
    /// Returns the resulting state of the task.
    pub fn state(self) -> TaskState {
        match self {
            Self::InputRequired => TaskState::InputRequired,
            Self::Completed => TaskState::Completed,
            Self::Working => TaskState::Working,
        }
    }
}

/// The state of a task after a turn in which the bot has asked its user something.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum QuestionEnd {
    /// The task waits for the answer.
    #[default]
    InputRequired,
    /// The question completes the task as its artifact, which clients show that do not show the message of a status. The
    /// answer begins the next task of the context.
    Completed,
}

/// An activity that arrived after the end of its turn.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("no activity after the turn has ended, found {kind} {id:?}: log it and let it go", kind = activity.kind, id = id(activity))]
pub struct LateActivity {
    /// The activity.
    pub activity: Box<Activity>,
}

impl LateActivity {
    pub(super) fn new(activity: Activity) -> Self {
        Self { activity: Box::new(activity) }
    }
}

fn id(activity: &Activity) -> String {
    activity.id.as_deref().unwrap_or_default().to_string()
}
