//! What goes into the machine of a turn, and what comes out.

use alloc::{
    boxed::Box,
    string::{String, ToString},
};

use crate::{
    a2a::{Artifact, Message, Metadata, TaskState},
    activity::Activity,
};

/// What happened in a turn.
#[derive(Clone, Debug, PartialEq)]
#[expect(
    clippy::large_enum_variant,
    reason = "almost all inputs are activities"
)]
pub enum Input {
    /// The bot sent an activity.
    Activity(Activity),
    /// The bot has done its turn: it will send nothing more.
    TurnEnded,
    /// The bot broke, for this reason: an HTTP error, a panic, no connection.
    Failed(String),
    /// The client canceled the task.
    Canceled,
    /// The turn took longer than it may.
    TimedOut,
    /// The bot has been silent for a while, and has not done its turn.
    Lull,
}

/// What the caller must log, in this order.
#[derive(Clone, Debug, PartialEq)]
pub enum Output {
    /// The bot said this. Whether it is the answer, a question or a word on the way is not known yet, so those
    /// who watch the task are told later; the task as it stands has it as the message of its status.
    Said(Message),
    /// The status of the task changes. The caller adds the time.
    Status {
        /// The state from now on.
        state: TaskState,
        /// What the agent says; none takes the former message out of the status.
        message: Option<Message>,
        /// About the change.
        metadata: Option<Metadata>,
    },
    /// The task has an artifact, or more of one.
    Artifact {
        /// The artifact, or the piece of it.
        artifact: Artifact,
        /// The piece is added; otherwise it replaces what there is.
        append: bool,
        /// Nothing more of it follows.
        last_chunk: bool,
        /// About the piece.
        metadata: Option<Metadata>,
    },
    /// Metadata of the task that leaves its status as it stands.
    Metadata(Metadata),
    /// A message is not as it was: another version stands in its place, or nothing. Whoever was shown the
    /// message must be shown this too, as a status update with the status as it stands then.
    Revised {
        /// The message.
        message_id: String,
        /// What stands in its place; none if it was taken back.
        message: Option<Message>,
        /// About the change.
        metadata: Metadata,
        /// Whether those who watch are not told of it: they were not told of the message.
        is_quiet: bool,
    },
    /// The turn is over; nothing follows.
    Ended,
}

/// What a turn that ends without saying so leaves behind. Bots that chat never say that they are done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SilentEnd {
    /// The user may go on.
    #[default]
    InputRequired,
    /// The task is done.
    Completed,
    /// The task goes on, as with Microsoft's own hosting. Clients that wait will wait for their limit.
    Working,
}

impl SilentEnd {
    /// The state of the task afterwards.
    pub fn state(self) -> TaskState {
        match self {
            Self::InputRequired => TaskState::InputRequired,
            Self::Completed => TaskState::Completed,
            Self::Working => TaskState::Working,
        }
    }
}

/// An activity that came after the end of its turn.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("no activity after the turn has ended, found {kind} {id:?}: log it and let it go", kind = activity.kind, id = id(activity))]
pub struct Dropped {
    /// The activity, whole.
    pub activity: Box<Activity>,
}

impl Dropped {
    pub(super) fn new(activity: Activity) -> Self {
        Self {
            activity: Box::new(activity),
        }
    }
}

fn id(activity: &Activity) -> String {
    activity.id.as_deref().unwrap_or_default().to_string()
}
