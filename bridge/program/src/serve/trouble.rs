//! Why the body of a request was not read to its end.

use axum::http::StatusCode;

/// Why a body was not read to its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trouble {
    /// It did not come on.
    Late,
    /// Others' bodies have all the room.
    Full,
}

impl Trouble {
    /// How HTTP tells it.
    pub fn status(self) -> StatusCode {
        match self {
            Self::Late => StatusCode::REQUEST_TIMEOUT,
            Self::Full => StatusCode::SERVICE_UNAVAILABLE,
        }
    }
}
