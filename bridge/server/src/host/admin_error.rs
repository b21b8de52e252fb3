//! Why a question of the operator is not answered.

use axum::{
    http::StatusCode,
    response::{IntoResponse, Response},
};
use bridge_program::Json;
use serde_json::json;

use crate::turns::TurnError;

/// Why a question is not answered.
pub(super) struct AdminError(TurnError);

impl<E: Into<TurnError>> From<E> for AdminError {
    fn from(error: E) -> Self {
        Self(error.into())
    }
}

impl IntoResponse for AdminError {
    fn into_response(self) -> Response {
        let Self(error) = self;
        let status = match error {
            TurnError::NotFound { .. } => StatusCode::NOT_FOUND,
            TurnError::Ended { .. } => StatusCode::CONFLICT,
            TurnError::OtherContext { .. }
            | TurnError::OtherMessage { .. }
            | TurnError::MovedOn { .. }
            | TurnError::Busy { .. }
            | TurnError::OutOfMemory { .. }
            | TurnError::AgentBusy { .. }
            | TurnError::TaskTooLarge { .. }
            | TurnError::NoAgent { .. }
            | TurnError::Store(_) => StatusCode::INTERNAL_SERVER_ERROR,
        };
        (status, Json(json!({"error": error.to_string()}))).into_response()
    }
}
