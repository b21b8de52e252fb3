//! Why a connection or a call failed.

use std::{io, time::Duration};

use crate::allowed::Refused;

/// Why there is no connection.
#[derive(Debug, thiserror::Error)]
pub enum ConnectError {
    /// The settings do not allow it; nothing was contacted or started.
    #[error(transparent)]
    Refused(#[from] Refused),
    /// The server knows no such token, or no longer.
    #[error("{server}: unauthorized: the server did not accept the token; ask for new details")]
    Unauthorized {
        /// Where it is.
        server: String,
    },
    /// The server said nothing in time.
    #[error("{server}: no answer within {limit:?}")]
    TimedOut {
        /// Where it is.
        server: String,
        /// How long it had.
        limit: Duration,
    },
    /// A header of the details cannot be sent.
    #[error("{server}: header {header:?}: expected {expected}")]
    Header {
        /// Where it is.
        server: String,
        /// The header's name.
        header: String,
        /// What it should have been.
        expected: &'static str,
    },
    /// The program could not be started.
    #[error("{server}: the program could not be started: {source}")]
    Start {
        /// What was to be started.
        server: String,
        /// Why not.
        source: io::Error,
    },
    /// No connection, or none that speaks MCP in a version that both sides know.
    #[error("{server}: {reason}")]
    Failed {
        /// Where it is.
        server: String,
        /// What went wrong, without secrets.
        reason: String,
    },
}

/// Why a call has no result.
#[derive(Debug, thiserror::Error)]
pub enum CallError {
    /// The token is not accepted any more.
    #[error("{call}: unauthorized: the server did not accept the token; ask for new details")]
    Unauthorized {
        /// What was called.
        call: String,
    },
    /// No result in time. Whether the server did it is not known.
    #[error("{call}: no result within {limit:?}")]
    TimedOut {
        /// What was called.
        call: String,
        /// How long it had.
        limit: Duration,
    },
    /// The server is gone. Whether it did what was asked is not known.
    #[error("{call}: the connection is closed: {reason}")]
    Closed {
        /// What was called.
        call: String,
        /// What is known about the end, without secrets.
        reason: String,
    },
    /// The answer is larger than the limit, and was dropped.
    #[error("{call}: the answer has {size} {unit}, more than the limit of {limit}")]
    TooLarge {
        /// What was called.
        call: String,
        /// How large it is.
        size: usize,
        /// What was counted: `bytes` or `tools`.
        unit: &'static str,
        /// How large it may be.
        limit: usize,
    },
    /// The server does not do this, such as a tool that it does not have.
    #[error("{call}: the server answered with error {code}: {message}")]
    Rejected {
        /// What was called.
        call: String,
        /// The JSON-RPC error code.
        code: i32,
        /// What the server says, without secrets.
        message: String,
    },
    /// The answer is not what the protocol allows here.
    #[error("{call}: {reason}")]
    Unexpected {
        /// What was called.
        call: String,
        /// What was wrong with it, without secrets.
        reason: String,
    },
}
