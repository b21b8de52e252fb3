//! Why a request is not looked at, and what its client is told.

use axum::{
    body::Body,
    http::{Response, StatusCode, request::Parts},
};

/// Makes the answer to a request that is not looked at, of which the first lines may be all that is known.
pub(super) type Refuse = fn(&Parts, Unserved) -> Response<Body>;

/// Why a request is not looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unserved {
    /// Too many requests or connections are open. The client may send the request again.
    Full,
    /// Its head is too large.
    Head,
}

impl Unserved {
    /// How HTTP tells it.
    pub fn status(self) -> StatusCode {
        match self {
            Self::Full => StatusCode::SERVICE_UNAVAILABLE,
            Self::Head => StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE,
        }
    }

    /// The same in words.
    pub fn text(self) -> &'static str {
        match self {
            Self::Full => "there are too many requests at once",
            Self::Head => "expected a request whose head has at most 64 KiB",
        }
    }
}
