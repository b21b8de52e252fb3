//! Tasks with their states and artifacts (specification 4.1.1 to 4.1.3, 4.1.7).

use alloc::{string::String, vec::Vec};

use super::{Message, Metadata, Part};
use crate::wire::open_enum;

proto_message! {
    /// A unit of work of an agent.
    pub struct Task {
        /// The id, made by the server.
        required id: String = "id",
        /// The id of the context that the task belongs to.
        optional context_id: Option<String> = "contextId",
        /// The current status.
        required status: TaskStatus = "status",
        /// The artifacts that were produced so far.
        optional artifacts: Vec<Artifact> = "artifacts",
        /// The messages before the current status, oldest first.
        optional history: Vec<Message> = "history",
        /// Free-form data about the object.
        optional metadata: Option<Metadata> = "metadata",
    }
}

proto_message! {
    /// The status of a task.
    pub struct TaskStatus {
        /// The state.
        required state: TaskState = "state",
        /// The agent's message about the status.
        optional message: Option<Message> = "message",
        /// The time of the status, RFC 3339 in UTC.
        optional timestamp: Option<String> = "timestamp",
    }
}

proto_message! {
    /// A result of a task.
    pub struct Artifact {
        /// The id, unique within the task.
        required artifact_id: String = "artifactId",
        /// The name.
        optional name: Option<String> = "name",
        /// A description for people.
        optional description: Option<String> = "description",
        /// The content.
        required parts: Vec<Part> = "parts",
        /// Free-form data about the object.
        optional metadata: Option<Metadata> = "metadata",
        /// The URIs of the extensions that contributed to the artifact.
        optional extensions: Vec<String> = "extensions",
    }
}

open_enum! {
    /// The states of a task (specification 4.1.3).
    #[derive(Default)]
    pub enum TaskState, "a task state such as TASK_STATE_WORKING", numbered {
        /// Not specified.
        #[default]
        Unspecified = "TASK_STATE_UNSPECIFIED",
        /// The task is accepted but has not begun.
        Submitted = "TASK_STATE_SUBMITTED",
        /// The agent is working on the task.
        Working = "TASK_STATE_WORKING",
        /// The task ended successfully.
        Completed = "TASK_STATE_COMPLETED",
        /// The task failed.
        Failed = "TASK_STATE_FAILED",
        /// The client canceled the task.
        Canceled = "TASK_STATE_CANCELED",
        /// The agent waits for another message.
        InputRequired = "TASK_STATE_INPUT_REQUIRED",
        /// The agent rejected the task.
        Rejected = "TASK_STATE_REJECTED",
        /// The agent waits for credentials.
        AuthRequired = "TASK_STATE_AUTH_REQUIRED",
    }
}

impl TaskState {
    /// Returns whether the state is final: the task can no longer change.
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

    /// Returns whether the task waits for the client.
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

impl Task {
    /// Creates a task without a context, artifacts and history.
    pub fn new(id: impl Into<String>, status: TaskStatus) -> Self {
        Self { id: id.into(), status, ..Self::default() }
    }
}

impl TaskStatus {
    /// Creates a status without a message.
    pub fn new(state: TaskState) -> Self {
        Self { state, ..Self::default() }
    }
}

impl Artifact {
    /// Creates an artifact without a name.
    pub fn new(artifact_id: impl Into<String>, parts: Vec<Part>) -> Self {
        Self { artifact_id: artifact_id.into(), parts, ..Self::default() }
    }
}
