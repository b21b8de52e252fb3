//! The reasons for which the body of a request was not read to its end.

use axum::http::StatusCode;

/// The reason for which a body was not read to its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BodyError {
    /// The client sent the body too slowly.
    TooSlow,
    /// Other requests use all the memory for bodies.
    NoMemory,
}

impl BodyError {
    /// Returns the status of the response.
    pub fn status(self) -> StatusCode {
        match self {
            Self::TooSlow => StatusCode::REQUEST_TIMEOUT,
            Self::NoMemory => StatusCode::SERVICE_UNAVAILABLE,
        }
    }
}
