//! Error responses to bots.

use axum::{
    Extension,
    http::{
        StatusCode,
        header::{RETRY_AFTER, WWW_AUTHENTICATE},
    },
    response::{IntoResponse, Response},
};
use bridge_program::Json;
use serde_json::json;

use crate::{
    bot::remote::{AdmissionError, ConnectorError},
    store::StoreError,
};

/// `Retry-After` in seconds if a token could not be checked. The keys of a failing issuer are not requested more
/// often.
const RETRY_AFTER_SECONDS: &str = "5";

/// Marks responses to requests with a wrong secret or token.
#[derive(Clone, Copy, Debug)]
pub struct WrongCredential;

impl IntoResponse for ConnectorError {
    fn into_response(self) -> Response {
        if let Self::Store(error) = &self
            && !error.is_reported_by_store()
        {
            tracing::error!(%error, "a bot's output could not be stored");
        }
        let (status, code) = status(&self);
        let error = json!({"error": {"code": code, "message": self.to_string()}});
        let is_wrong_credential =
            matches!(self, Self::UnknownAddress | Self::Access(AdmissionError::Unauthenticated(_)));
        let mark = is_wrong_credential.then_some(Extension(WrongCredential));
        let header = match status {
            StatusCode::UNAUTHORIZED => Some([(WWW_AUTHENTICATE, "Bearer")]),
            StatusCode::SERVICE_UNAVAILABLE => Some([(RETRY_AFTER, RETRY_AFTER_SECONDS)]),
            _ => None,
        };
        (status, mark, header, Json(error)).into_response()
    }
}

fn status(refused: &ConnectorError) -> (StatusCode, &'static str) {
    match refused {
        ConnectorError::UnknownAddress => (StatusCode::NOT_FOUND, "NotFound"),
        ConnectorError::Conversation { .. } => (StatusCode::NOT_FOUND, "ConversationNotFound"),
        ConnectorError::Activity { .. } => (StatusCode::NOT_FOUND, "ActivityNotFound"),
        ConnectorError::Member { .. } => (StatusCode::NOT_FOUND, "MemberNotFound"),
        ConnectorError::Attachment => (StatusCode::NOT_FOUND, "AttachmentNotFound"),
        ConnectorError::Body(_) => (StatusCode::BAD_REQUEST, "BadSyntax"),
        ConnectorError::Access(AdmissionError::Unauthenticated(_)) => {
            (StatusCode::UNAUTHORIZED, "Unauthorized")
        }
        ConnectorError::Access(AdmissionError::Forbidden(_)) => {
            (StatusCode::FORBIDDEN, "Forbidden")
        }
        ConnectorError::Access(AdmissionError::Unavailable(_)) => {
            (StatusCode::SERVICE_UNAVAILABLE, "ServiceUnavailable")
        }
        ConnectorError::TooLarge { .. }
        | ConnectorError::BodyTooLarge
        | ConnectorError::TooMuch(_)
        | ConnectorError::Store(StoreError::TooLarge { .. }) => {
            (StatusCode::PAYLOAD_TOO_LARGE, "MessageSizeTooBig")
        }
        ConnectorError::Store(error) if error.is_temporary() => {
            (StatusCode::SERVICE_UNAVAILABLE, "ServiceUnavailable")
        }
        ConnectorError::Store(_) => (StatusCode::INTERNAL_SERVER_ERROR, "ServiceError"),
    }
}
