//! The errors of the operator's requests.

use axum::{
    http::StatusCode,
    response::{IntoResponse, Response},
};
use bridge_program::Json;
use serde_json::json;

use crate::turns::TurnError;

/// The reason why a request of the operator is refused.
#[derive(Debug, thiserror::Error)]
pub(super) enum AdminError {
    #[error("{0}")]
    Turn(TurnError),
    /// A parameter of the query has an invalid value.
    #[error("{name}: expected {expected}, found {found:?}")]
    Query { name: String, expected: &'static str, found: String },
}

impl<E: Into<TurnError>> From<E> for AdminError {
    fn from(error: E) -> Self {
        Self::Turn(error.into())
    }
}

impl AdminError {
    fn status(&self) -> StatusCode {
        match self {
            Self::Query { .. } => StatusCode::BAD_REQUEST,
            Self::Turn(TurnError::NotFound { .. }) => StatusCode::NOT_FOUND,
            Self::Turn(TurnError::Ended { .. }) => StatusCode::CONFLICT,
            Self::Turn(
                TurnError::OtherContext { .. }
                | TurnError::OtherMessage { .. }
                | TurnError::MovedOn { .. }
                | TurnError::Busy { .. }
                | TurnError::OutOfMemory { .. }
                | TurnError::AgentBusy { .. }
                | TurnError::TaskTooLarge { .. }
                | TurnError::NoAgent { .. }
                | TurnError::Store(_),
            ) => StatusCode::INTERNAL_SERVER_ERROR,
        }
    }
}

impl IntoResponse for AdminError {
    fn into_response(self) -> Response {
        (self.status(), Json(json!({"error": self.to_string()}))).into_response()
    }
}
