//! What can go wrong on the way to an agent and back.

use std::time::Duration;

use bridge_protocol::{jsonrpc::RpcError, wire::FieldError};

/// A call that failed: which agent, which operation, why.
#[derive(Debug, thiserror::Error)]
#[error("{operation} at {agent}: {fault}")]
pub struct ClientError {
    /// The agent's address.
    pub agent: String,
    /// The operation's name in 1.0, or `card`.
    pub operation: &'static str,
    /// Why.
    #[source]
    pub fault: Fault,
}

/// Why a call failed.
#[derive(Debug, thiserror::Error)]
pub enum Fault {
    /// Nobody answered.
    #[error("cannot be reached: {0}")]
    Unreachable(String),
    /// The answer took too long.
    #[error("no answer within {0:?}")]
    Timeout(Duration),
    /// The answer was too large.
    #[error("the answer is larger than {limit} bytes")]
    TooLarge {
        /// The limit.
        limit: usize,
    },
    /// HTTP said no.
    #[error("HTTP status {status}: {body}")]
    Http {
        /// The status code.
        status: u16,
        /// The beginning of the body.
        body: String,
    },
    /// The agent answered with an error of the protocol.
    #[error("the agent answered: {0}")]
    Rpc(RpcError),
    /// The answer is not A2A; the field says where.
    #[error("the answer is not valid: {0}")]
    Invalid(FieldError),
    /// A stream broke before it had ended.
    #[error("the stream broke: {0}")]
    StreamBroken(String),
    /// The card names no interface that this client can use.
    #[error("the card offers {offered}, but this client needs {needed}")]
    NoInterface {
        /// What the card offers: binding and version of each interface.
        offered: String,
        /// What was looked for.
        needed: String,
    },
    /// The card would have credentials sent to another server than the one that they are for.
    #[error(
        "the card has messages sent to {url}: connect there if the credentials are for that server"
    )]
    Elsewhere {
        /// Where messages would go.
        url: String,
    },
    /// The version that is spoken does not have this operation.
    #[error("A2A {0} does not have this operation")]
    NotInVersion(&'static str),
}

impl Fault {
    /// Names the agent and the operation.
    pub(crate) fn of(self, agent: &str, operation: &'static str) -> ClientError {
        ClientError {
            agent: agent.to_owned(),
            operation,
            fault: self,
        }
    }

    /// A fault that reqwest reports, seen under a limit of time.
    pub(crate) fn transport(error: &reqwest::Error, limit: Duration) -> Self {
        if error.is_timeout() && !error.is_connect() {
            return Self::Timeout(limit);
        }
        let cause = root_cause(error);
        match error.is_connect() || error.is_request() {
            true => Self::Unreachable(cause),
            false => Self::StreamBroken(cause),
        }
    }
}

/// The innermost error says what happened ("connection refused"); the outer ones say it again.
pub(crate) fn root_cause(error: &dyn std::error::Error) -> String {
    let mut inner = error;
    while let Some(source) = inner.source() {
        inner = source;
    }
    inner.to_string()
}
