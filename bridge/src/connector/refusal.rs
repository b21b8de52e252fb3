//! What is answered to a call that is refused.

use axum::{
    Json,
    http::{
        HeaderValue, StatusCode,
        header::{RETRY_AFTER, WWW_AUTHENTICATE},
    },
    response::{IntoResponse, Response},
};
use serde_json::json;

use crate::bot::remote::{Refusal as NoAccess, Refused};

/// After how many seconds a bot may try again that could not be checked: an issuer that failed is left alone
/// for as long.
const AGAIN: HeaderValue = HeaderValue::from_static("5");

/// A call that is refused, as bots are told.
#[derive(Debug)]
pub(super) struct Refusal(Refused);

impl From<Refused> for Refusal {
    fn from(refused: Refused) -> Self {
        Self(refused)
    }
}

impl IntoResponse for Refusal {
    fn into_response(self) -> Response {
        if let Refused::Store(error) = &self.0
            && !error.is_reported_by_store()
        {
            tracing::error!(%error, "what a bot said could not be kept");
        }
        let (status, code) = status(&self.0);
        let error = json!({"error": {"code": code, "message": self.0.to_string()}});
        let mut response = (status, Json(error)).into_response();
        if status == StatusCode::UNAUTHORIZED {
            let scheme = HeaderValue::from_static("Bearer");
            response.headers_mut().insert(WWW_AUTHENTICATE, scheme);
        }
        if status == StatusCode::SERVICE_UNAVAILABLE {
            response.headers_mut().insert(RETRY_AFTER, AGAIN);
        }
        response
    }
}

fn status(refused: &Refused) -> (StatusCode, &'static str) {
    match refused {
        Refused::Nowhere => (StatusCode::NOT_FOUND, "NotFound"),
        Refused::Conversation { .. } => (StatusCode::NOT_FOUND, "ConversationNotFound"),
        Refused::Activity { .. } => (StatusCode::NOT_FOUND, "ActivityNotFound"),
        Refused::Member { .. } => (StatusCode::NOT_FOUND, "MemberNotFound"),
        Refused::Attachment => (StatusCode::NOT_FOUND, "AttachmentNotFound"),
        Refused::Body(_) => (StatusCode::BAD_REQUEST, "BadSyntax"),
        Refused::Access(NoAccess::Unauthenticated(_)) => (StatusCode::UNAUTHORIZED, "Unauthorized"),
        Refused::Access(NoAccess::Forbidden(_)) => (StatusCode::FORBIDDEN, "Forbidden"),
        Refused::Access(NoAccess::Unavailable(_)) => {
            (StatusCode::SERVICE_UNAVAILABLE, "ServiceUnavailable")
        }
        Refused::TooLarge(_) => (StatusCode::PAYLOAD_TOO_LARGE, "MessageSizeTooBig"),
        Refused::Store(error) if error.is_passing() => {
            (StatusCode::SERVICE_UNAVAILABLE, "ServiceUnavailable")
        }
        Refused::Store(_) => (StatusCode::INTERNAL_SERVER_ERROR, "ServiceError"),
    }
}
