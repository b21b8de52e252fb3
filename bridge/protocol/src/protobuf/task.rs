//! Tasks, their states and artifacts.

use super::{Proto, field::proto, v1};
use crate::{a2a::TaskState, wire::FieldError};

proto!(Task {
    plain id = "id",
    plain context_id = "contextId",
    plain status = "status",
    plain artifacts = "artifacts",
    plain history = "history",
    plain metadata = "metadata",
});

proto!(TaskStatus {
    plain state = "state",
    plain message = "message",
    plain timestamp = "timestamp",
});

proto!(Artifact {
    plain artifact_id = "artifactId",
    plain name = "name",
    plain description = "description",
    plain parts = "parts",
    plain metadata = "metadata",
    plain extensions = "extensions",
});

impl Proto<i32> for TaskState {
    fn to_proto(&self) -> i32 {
        let state = match self {
            Self::Unspecified | Self::Unknown(_) => v1::TaskState::Unspecified,
            Self::Submitted => v1::TaskState::Submitted,
            Self::Working => v1::TaskState::Working,
            Self::Completed => v1::TaskState::Completed,
            Self::Failed => v1::TaskState::Failed,
            Self::Canceled => v1::TaskState::Canceled,
            Self::InputRequired => v1::TaskState::InputRequired,
            Self::Rejected => v1::TaskState::Rejected,
            Self::AuthRequired => v1::TaskState::AuthRequired,
        };
        state.into()
    }

    fn from_proto(proto: i32) -> Result<Self, FieldError> {
        Ok(match v1::TaskState::try_from(proto) {
            Ok(v1::TaskState::Unspecified) | Err(_) => Self::Unspecified,
            Ok(v1::TaskState::Submitted) => Self::Submitted,
            Ok(v1::TaskState::Working) => Self::Working,
            Ok(v1::TaskState::Completed) => Self::Completed,
            Ok(v1::TaskState::Failed) => Self::Failed,
            Ok(v1::TaskState::Canceled) => Self::Canceled,
            Ok(v1::TaskState::InputRequired) => Self::InputRequired,
            Ok(v1::TaskState::Rejected) => Self::Rejected,
            Ok(v1::TaskState::AuthRequired) => Self::AuthRequired,
        })
    }
}

/// A filter by state, which is absent if it is UNSPECIFIED.
impl Proto<i32> for Option<TaskState> {
    fn to_proto(&self) -> i32 {
        self.as_ref().map_or(0, TaskState::to_proto)
    }

    fn from_proto(proto: i32) -> Result<Self, FieldError> {
        match v1::TaskState::try_from(proto) {
            Ok(v1::TaskState::Unspecified) => Ok(None),
            Ok(_) => TaskState::from_proto(proto).map(Some),
            Err(_) => Err(FieldError::new(
                "a state such as TASK_STATE_WORKING (2)",
                alloc::format!("the number {proto}"),
            )),
        }
    }
}
