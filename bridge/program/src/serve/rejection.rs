//! The reasons for which a request is rejected before its handler runs.

use axum::{
    body::Body,
    http::{Response, StatusCode, request::Parts},
};

/// Makes the response to a rejected request, of whose head only the first lines may be known.
pub(super) type RejectionResponse = fn(&Parts, Rejection) -> Response<Body>;

/// The reason for which a request is rejected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rejection {
    /// Too many requests or connections are open. The client can send the request again later.
    Overloaded,
    /// The head of the request is too large.
    HeadTooLarge,
    /// The request has no `Host`, several, or something else in its place (RFC 9112, 3.2): a proxy in front may read another one.
    Host,
}

impl Rejection {
    /// Returns the status of the response.
    pub fn status(self) -> StatusCode {
        match self {
            Self::Overloaded => StatusCode::SERVICE_UNAVAILABLE,
            Self::HeadTooLarge => StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE,
            Self::Host => StatusCode::BAD_REQUEST,
        }
    }

    /// Returns the message of the response.
    pub fn text(self) -> &'static str {
        match self {
            Self::Overloaded => "there are too many requests at once",
            Self::HeadTooLarge => {
                "expected a request whose head has at most 64 KiB and 100 headers"
            }
            Self::Host => "expected a request with one Host header: a host and an optional port",
        }
    }
}
