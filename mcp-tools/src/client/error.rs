//! The errors of connections and calls.

use std::{io, time::Duration};

use crate::allow_list::NotAllowed;

/// The reason why no connection was opened.
#[derive(Debug, thiserror::Error)]
#[expect(missing_docs, reason = "the messages say what the fields are")]
pub enum ConnectError {
    /// The settings do not allow the connection; nothing was contacted or started.
    #[error(transparent)]
    NotAllowed(#[from] NotAllowed),
    /// The server rejected the token.
    #[error("{0}: unauthorized: the server did not accept the token; ask for new details")]
    Unauthorized(String),
    /// The server did not answer within the limit.
    #[error("{server}: no answer within {limit:?}")]
    TimedOut { server: String, limit: Duration },
    /// A header in the details cannot be sent.
    #[error("{server}: header {header:?}: expected {expected}")]
    Header { server: String, header: String, expected: &'static str },
    /// The program could not be started.
    #[error("{server}: the program could not be started: {error}")]
    Start { server: String, error: io::Error },
    /// No connection was made, or the peer speaks no version of MCP that the client knows.
    #[error("{server}: {reason}")]
    Failed {
        server: String,
        /// The cause, without secrets.
        reason: String,
    },
}

/// The reason why a call has no result.
#[derive(Debug, thiserror::Error)]
#[expect(missing_docs, reason = "the messages say what the fields are")]
pub enum CallError {
    /// The server no longer accepts the token.
    #[error("{0}: unauthorized: the server did not accept the token; ask for new details")]
    Unauthorized(String),
    /// No result arrived within the limit. The server may or may not have executed the call.
    #[error("{call}: no result within {limit:?}")]
    TimedOut { call: String, limit: Duration },
    /// The connection is closed. The server may or may not have executed the call.
    #[error("{call}: the connection is closed: {reason}")]
    Closed {
        call: String,
        /// The cause, without secrets.
        reason: String,
    },
    /// The answer is larger than the limit and was dropped.
    #[error("{call}: the answer has {size} {unit}, more than the limit of {limit}")]
    TooLarge {
        call: String,
        size: usize,
        /// The unit of the size: `bytes` or `tools`.
        unit: &'static str,
        limit: usize,
    },
    /// The server rejected the call, for example because it does not have the tool.
    #[error("{call}: the server answered with error {code}: {message}")]
    Rejected {
        call: String,
        code: i32,
        /// The server's message, without secrets.
        message: String,
    },
    /// The answer violates the protocol.
    #[error("{call}: {reason}")]
    Unexpected {
        call: String,
        /// The violation, without secrets.
        reason: String,
    },
}
