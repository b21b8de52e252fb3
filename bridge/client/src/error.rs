//! The errors of calls to an agent.

use std::{net::IpAddr, time::Duration};

use bridge_http::{advice_on_status, root_cause_with_proxy};
use bridge_protocol::{a2a::ErrorKind, jsonrpc::RpcError, wire::FieldError};
use url::Url;

use crate::{Binding, certificate, guard::PrivateAddress, interface::without_user};

/// The result of an operation of a client.
pub type Result<T, E = ClientError> = std::result::Result<T, E>;

/// A call that failed: the agent, the operation, the binding and the cause.
#[derive(Debug, thiserror::Error)]
#[error("{operation} at {agent}{}: {fault}", over(*.binding))]
pub struct ClientError {
    /// The agent's address.
    pub agent: Box<str>,
    /// The operation's name in 1.0, or `card`.
    pub operation: &'static str,
    /// The binding; `None` until the card has been read.
    pub binding: Option<Binding>,
    /// The cause.
    pub fault: Fault,
}

/// The cause of a failed call.
#[derive(Debug, thiserror::Error)]
#[expect(missing_docs, reason = "the messages say what the fields are")]
pub enum Fault {
    /// The server did not accept the connection, so the request was not sent.
    #[error("cannot be reached: {0}")]
    Unconnected(String),
    /// The connection failed after the request may have been sent.
    #[error("cannot be reached: {0}")]
    Unreachable(String),
    /// The agent's host has, or its name now resolves to, a private address: see [`allow_private`].
    ///
    /// [`allow_private`]: crate::Options::allow_private
    #[error("{host} is at {address}, which is not a public address, so no connection is made")]
    Private { host: String, address: IpAddr },
    /// The server's certificate is not trusted, or is for another host.
    #[error("its certificate is not trusted: {0}")]
    Certificate(String),
    /// The answer took too long.
    #[error("no answer within {0:?}")]
    Timeout(Duration),
    /// The answer was too large.
    #[error("the answer is larger than {0} bytes")]
    TooLarge(usize),
    /// The agent requires credentials, and got none or wrong ones (HTTP 401).
    #[error("the agent requires valid credentials{}{}", asking(.challenge), quoted(.explanation))]
    Unauthenticated {
        /// The value of `WWW-Authenticate`.
        challenge: Option<String>,
        /// The agent's explanation: the protocol error, or the beginning of the body.
        explanation: String,
    },
    /// The agent does not allow the request with these credentials (HTTP 403).
    #[error("not allowed with these credentials{}{}", asking(.challenge), quoted(.explanation))]
    Forbidden {
        /// The value of `WWW-Authenticate`, such as a required scope.
        challenge: Option<String>,
        /// The agent's explanation: the protocol error, or the beginning of the body.
        explanation: String,
    },
    /// The answer has another HTTP error status.
    #[error("HTTP status {status}{}{}", advice_on_status(*.status), quoted(.body))]
    Http {
        status: u16,
        /// The beginning of the body.
        body: String,
    },
    /// The agent answered with a protocol error.
    #[error("the agent answered: {0}")]
    Rpc(RpcError),
    /// The answer is not valid A2A.
    #[error("the answer is not valid: {0}")]
    Invalid(FieldError),
    /// The request cannot be sent in this version or binding.
    #[error("the request is not valid: {0}")]
    Asked(FieldError),
    /// The stream broke before its end.
    #[error("the stream broke: {0}")]
    StreamBroken(String),
    /// The card has no interface that this client can use.
    #[error("the card offers {offered}, but this client needs {needed}")]
    NoInterface {
        /// The binding and version of each interface of the card.
        offered: String,
        /// The bindings and versions that were looked for.
        needed: String,
    },
    /// The card requires extensions that the options do not name; their URIs.
    #[error("the card requires an extension that this client does not know: {}", .0.join(", "))]
    Extensions(Vec<String>),
    /// The card failed the check that the options require.
    #[error("the card is not trusted: {0}")]
    Untrusted(String),
    /// None of the credentials matches a security requirement of the card.
    #[error("the card requires credentials for {asked}, but those given are for {held}")]
    NoCredentials { asked: String, held: String },
    /// The card would have credentials sent to a server that they are not for.
    #[error(
        "the card names {0} for messages: connect to that server if the credentials are for it"
    )]
    Elsewhere(String),
    /// The agent's version does not have this operation.
    #[error("A2A {0} does not have this operation")]
    NotInVersion(&'static str),
}

impl Fault {
    /// Adds the agent and the operation.
    pub(crate) fn of(self, agent: &Url, operation: &'static str) -> ClientError {
        ClientError { agent: without_user(agent).into(), operation, binding: None, fault: self }
    }

    /// Adds the locations that were searched for a card.
    pub(crate) fn of_card_at(self, tried: &[Url]) -> ClientError {
        let tried: Vec<_> = tried.iter().map(without_user).collect();
        ClientError {
            agent: tried.join(" and ").into(),
            operation: "card",
            binding: None,
            fault: self,
        }
    }

    /// Returns whether a retry may succeed.
    pub(crate) fn is_transient(&self) -> bool {
        match self {
            Self::Unconnected(_) | Self::Unreachable(_) | Self::Timeout(_) => true,
            Self::Http { status, .. } => matches!(status, 408 | 429 | 500..=599) && *status != 501,
            Self::Rpc(error) => {
                matches!(error.kind(), Some(ErrorKind::Unavailable | ErrorKind::ResourceExhausted))
            }
            _ => false,
        }
    }

    /// Returns whether a request that changes nothing may succeed if it is repeated.
    pub(crate) fn may_pass(&self) -> bool {
        self.is_transient() || matches!(self, Self::StreamBroken(_))
    }

    /// Converts an error of reqwest. `limit` is the time limit of the request.
    pub(crate) fn transport(error: &reqwest::Error, limit: Duration) -> Self {
        if let Some(private) = PrivateAddress::in_error(error) {
            return private.clone().into();
        }
        if error.is_timeout() && !error.is_connect() {
            return Self::Timeout(limit);
        }
        if let Some(why) = certificate::rejection(error) {
            return Self::Certificate(why);
        }
        let cause = certificate::refusal(error).unwrap_or_else(|| root_cause_with_proxy(error));
        match (error.is_connect(), error.is_request()) {
            (true, _) => Self::Unconnected(cause),
            (false, true) => Self::Unreachable(cause),
            (false, false) => Self::StreamBroken(cause),
        }
    }
}

impl From<PrivateAddress> for Fault {
    fn from(PrivateAddress { host, address }: PrivateAddress) -> Self {
        Self::Private { host, address }
    }
}

/// Returns the binding for error messages; JSON-RPC, the most common one, is not named.
fn over(binding: Option<Binding>) -> String {
    match binding {
        None | Some(Binding::JsonRpc) => String::new(),
        Some(other @ (Binding::HttpJson | Binding::Grpc)) => format!(" over {other}"),
    }
}

fn quoted(text: &str) -> String {
    if text.trim().is_empty() { String::new() } else { format!(": {text}") }
}

fn asking(challenge: &Option<String>) -> String {
    let asked = challenge.as_ref();
    asked.map_or_else(String::new, |asked| format!(" (it asks for {asked})"))
}
