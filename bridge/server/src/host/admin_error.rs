//! The errors of the operator's requests.

use std::fmt;

use axum::{
    http::StatusCode,
    response::{IntoResponse, Response},
};
use bridge_program::Json;
use serde_json::json;

use crate::turns::TurnError;

/// The reason why a request of the operator is refused.
pub(super) enum AdminError {
    Turn(TurnError),
    /// A parameter of the query has an invalid value.
    Query {
        name: String,
        expected: &'static str,
        found: String,
    },
}

impl<E: Into<TurnError>> From<E> for AdminError {
    fn from(error: E) -> Self {
        Self::Turn(error.into())
    }
}

impl fmt::Display for AdminError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Turn(error) => error.fmt(f),
            Self::Query { name, expected, found } => {
                write!(f, "{name}: expected {expected}, found {found:?}")
            }
        }
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
