//! Tasks, their states and what they produce (specification 4.1.1 to 4.1.3, 4.1.7).

use alloc::{string::String, vec::Vec};

use super::{Message, Metadata, Part};
use crate::wire::{object, open_enum};

object! {
    /// A piece of work that an agent does.
    pub struct Task {
        /// Made by the server.
        required id: String = "id",
        /// The conversation that it belongs to.
        optional context_id: Option<String> = "contextId",
        /// How it stands.
        required status: TaskStatus = "status",
        /// What it produced so far.
        optional artifacts: Vec<Artifact> = "artifacts",
        /// What was said before the present status, oldest first.
        optional history: Vec<Message> = "history",
        /// Free-form data about it.
        optional metadata: Option<Metadata> = "metadata",
    }
}

object! {
    /// How a task stands.
    pub struct TaskStatus {
        /// The state.
        required state: TaskState = "state",
        /// What the agent says about it.
        optional message: Option<Message> = "message",
        /// Since when, RFC 3339 in UTC.
        optional timestamp: Option<String> = "timestamp",
    }
}

object! {
    /// Something that a task produced.
    pub struct Artifact {
        /// Unique within the task.
        required artifact_id: String = "artifactId",
        /// A name for people and for those who look for it.
        optional name: Option<String> = "name",
        /// What it is.
        optional description: Option<String> = "description",
        /// Its content.
        required parts: Vec<Part> = "parts",
        /// Free-form data about it.
        optional metadata: Option<Metadata> = "metadata",
        /// URIs of the extensions that contributed to it.
        optional extensions: Vec<String> = "extensions",
    }
}

open_enum! {
    /// The states of a task (specification 4.1.3).
    pub enum TaskState, "a task state such as TASK_STATE_WORKING" {
        /// Nobody said which.
        Unspecified = "TASK_STATE_UNSPECIFIED",
        /// Accepted, not begun.
        Submitted = "TASK_STATE_SUBMITTED",
        /// Being worked on.
        Working = "TASK_STATE_WORKING",
        /// Ended well.
        Completed = "TASK_STATE_COMPLETED",
        /// Ended badly.
        Failed = "TASK_STATE_FAILED",
        /// Ended by the client's wish.
        Canceled = "TASK_STATE_CANCELED",
        /// Waits for another message.
        InputRequired = "TASK_STATE_INPUT_REQUIRED",
        /// Not accepted.
        Rejected = "TASK_STATE_REJECTED",
        /// Waits for credentials.
        AuthRequired = "TASK_STATE_AUTH_REQUIRED",
    }
}

impl TaskState {
    /// Whether nothing can follow: the task is immutable.
    pub fn is_terminal(&self) -> bool {
        match self {
            Self::Completed | Self::Failed | Self::Canceled | Self::Rejected => true,
            Self::Unspecified
            | Self::Submitted
            | Self::Working
            | Self::InputRequired
            | Self::AuthRequired
            | Self::Unknown(_) => false,
        }
    }

    /// Whether the task waits for the client.
    pub fn is_interrupted(&self) -> bool {
        match self {
            Self::InputRequired | Self::AuthRequired => true,
            Self::Unspecified
            | Self::Submitted
            | Self::Working
            | Self::Completed
            | Self::Failed
            | Self::Canceled
            | Self::Rejected
            | Self::Unknown(_) => false,
        }
    }
}

impl TaskStatus {
    /// A status without a message.
    pub fn new(state: TaskState) -> Self {
        Self {
            state,
            message: None,
            timestamp: None,
            extra: Metadata::new(),
        }
    }
}
