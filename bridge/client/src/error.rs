//! What can go wrong on the way to an agent and back.

use std::{net::IpAddr, time::Duration};

use bridge_protocol::{jsonrpc::RpcError, wire::FieldError};
use url::Url;

use crate::{Binding, certificate, guard::Private, interface::without_user};

/// A call that failed: which agent, which operation, how it was carried, why.
#[derive(Debug, thiserror::Error)]
#[error("{operation} at {agent}{}: {fault}", over(*.binding))]
pub struct ClientError {
    /// The agent's address.
    pub agent: Box<str>,
    /// The operation's name in 1.0, or `card`.
    pub operation: &'static str,
    /// How the call was carried; nothing until the card has said it.
    pub binding: Option<Binding>,
    /// Why.
    #[source]
    pub fault: Fault,
}

/// Why a call failed.
#[derive(Debug, thiserror::Error)]
pub enum Fault {
    /// Nobody took the connection, so nobody heard what was asked.
    #[error("cannot be reached: {0}")]
    Unconnected(String),
    /// Nobody answered.
    #[error("cannot be reached: {0}")]
    Unreachable(String),
    /// The agent is, or its name now leads, where nothing must be reached: see [`allow_private`].
    ///
    /// [`allow_private`]: crate::Options::allow_private
    #[error("{host} is at {address}, which is not of the public internet and so is not reached")]
    Private {
        /// The host.
        host: String,
        /// Its address.
        address: IpAddr,
    },
    /// Who answered has a certificate that is not believed, or is not the agent's.
    #[error("its certificate is not trusted: {0}")]
    Certificate(String),
    /// The answer took too long.
    #[error("no answer within {0:?}")]
    Timeout(Duration),
    /// The answer was too large.
    #[error("the answer is larger than {limit} bytes")]
    TooLarge {
        /// The limit.
        limit: usize,
    },
    /// The agent wants to know who asks, or does not believe it (HTTP 401).
    #[error("not let in without credentials that the agent accepts{}: {said}", asking(.challenge))]
    Unauthenticated {
        /// What `WWW-Authenticate` asks for.
        challenge: Option<String>,
        /// What the agent says: the error of the protocol, or the beginning of the body.
        said: String,
    },
    /// The agent knows who asks and does not allow it (HTTP 403).
    #[error("not allowed with these credentials{}: {said}", asking(.challenge))]
    Forbidden {
        /// What `WWW-Authenticate` asks for, such as a scope.
        challenge: Option<String>,
        /// What the agent says: the error of the protocol, or the beginning of the body.
        said: String,
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
    /// What was asked cannot be carried so; the field says where.
    #[error("the request is not valid: {0}")]
    Asked(FieldError),
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
    /// The card requires extensions of the protocol, by URI, that the options do not ask for.
    #[error("the card requires an extension that this client does not know: {}", .0.join(", "))]
    Extensions(Vec<String>),
    /// The card did not pass the check that the options ask for.
    #[error("the card is not trusted: {0}")]
    Untrusted(String),
    /// None of the credentials that are held is what the card asks for.
    #[error("the card asks for credentials for {asked}, but what is held is for {held}")]
    NoCredentials {
        /// The names of security schemes in the card.
        asked: String,
        /// The names under which secrets are held.
        held: String,
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
    pub(crate) fn of(self, agent: &Url, operation: &'static str) -> ClientError {
        ClientError {
            agent: without_user(agent).into(),
            operation,
            binding: None,
            fault: self,
        }
    }

    /// Names the places where a card was looked for.
    pub(crate) fn of_card_at(self, tried: &[Url]) -> ClientError {
        let tried: Vec<_> = tried.iter().map(without_user).collect();
        ClientError {
            agent: tried.join(" and ").into(),
            operation: "card",
            binding: None,
            fault: self,
        }
    }

    /// Whether another attempt may fare better.
    pub(crate) fn is_passing(&self) -> bool {
        match self {
            Self::Unconnected(_) | Self::Unreachable(_) | Self::Timeout(_) => true,
            Self::Http { status, .. } => matches!(status, 408 | 429 | 500..=599) && *status != 501,
            Self::StreamBroken(_)
            | Self::Private { .. }
            | Self::Certificate(_)
            | Self::TooLarge { .. }
            | Self::Unauthenticated { .. }
            | Self::Forbidden { .. }
            | Self::Rpc(_)
            | Self::Invalid(_)
            | Self::Asked(_)
            | Self::NoInterface { .. }
            | Self::Extensions(_)
            | Self::Untrusted(_)
            | Self::NoCredentials { .. }
            | Self::Elsewhere { .. }
            | Self::NotInVersion(_) => false,
        }
    }

    /// Whether another credential may help: none was held for what the card asks, or the agent does not know who asks.
    pub(crate) fn wants_credentials(&self) -> bool {
        match self {
            Self::Unauthenticated { .. } | Self::NoCredentials { .. } => true,
            Self::Unconnected(_)
            | Self::Unreachable(_)
            | Self::Private { .. }
            | Self::Certificate(_)
            | Self::Timeout(_)
            | Self::TooLarge { .. }
            | Self::Forbidden { .. }
            | Self::Http { .. }
            | Self::Rpc(_)
            | Self::Invalid(_)
            | Self::Asked(_)
            | Self::StreamBroken(_)
            | Self::NoInterface { .. }
            | Self::Extensions(_)
            | Self::Untrusted(_)
            | Self::Elsewhere { .. }
            | Self::NotInVersion(_) => false,
        }
    }

    /// A fault that reqwest reports, seen under a limit of time.
    pub(crate) fn transport(error: &reqwest::Error, limit: Duration) -> Self {
        if let Some(private) = Private::in_error(error) {
            return private.clone().into();
        }
        if error.is_timeout() && !error.is_connect() {
            return Self::Timeout(limit);
        }
        if let Some(why) = certificate::distrust(error) {
            return Self::Certificate(why);
        }
        let cause = root_cause(error);
        match (error.is_connect(), error.is_request()) {
            (true, _) => Self::Unconnected(cause),
            (false, true) => Self::Unreachable(cause),
            (false, false) => Self::StreamBroken(cause),
        }
    }
}

impl From<Private> for Fault {
    fn from(Private { host, address }: Private) -> Self {
        Self::Private { host, address }
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

/// JSON-RPC is what most agents speak and what errors are understood to be about.
fn over(binding: Option<Binding>) -> String {
    match binding {
        None | Some(Binding::JsonRpc) => String::new(),
        Some(other @ (Binding::HttpJson | Binding::Grpc)) => format!(" over {other}"),
    }
}

fn asking(challenge: &Option<String>) -> String {
    let asked = challenge.as_ref();
    asked.map_or_else(String::new, |asked| format!(" (it asks for {asked})"))
}
