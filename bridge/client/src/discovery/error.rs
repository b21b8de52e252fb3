//! Why there is no agent to be found.

use std::time::Duration;

use bridge_protocol::wire::FieldError;
use url::Url;

/// The ways in which this client can speak, as errors name them.
const WAYS: &str = match cfg!(feature = "grpc") {
    true => "JSONRPC, HTTP+JSON, GRPC of 1.0, or execute",
    false => "JSONRPC, HTTP+JSON or execute",
};

/// Why discovery found no agent.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DiscoveryError {
    /// Every place answered that nothing is there.
    #[error("there is no agent card at {target}: looked at {}", all(.tried))]
    NotFound {
        /// Where an agent was looked for.
        target: String,
        /// The places, in order.
        tried: Vec<Url>,
    },
    /// An address of a kind that cards cannot have.
    #[error("expected an address that begins with http:// or https://, found {target}")]
    Scheme {
        /// The address.
        target: String,
    },
    /// Nobody answered.
    #[error("{url} cannot be reached: {cause}")]
    Unreachable {
        /// Who was asked.
        url: String,
        /// Why not.
        cause: String,
    },
    /// The answer took too long.
    #[error("no answer from {url} within {limit:?}")]
    Timeout {
        /// Who was asked.
        url: String,
        /// The limit.
        limit: Duration,
    },
    /// The answer was too large for a card.
    #[error("the answer of {url} is larger than {limit} bytes")]
    TooLarge {
        /// Who was asked.
        url: String,
        /// The limit.
        limit: usize,
    },
    /// HTTP said no, and not that nothing is there.
    #[error("{url} answered with HTTP status {status}")]
    Status {
        /// Who was asked.
        url: String,
        /// The status.
        status: u16,
    },
    /// What is there is no card; the field says where it is not.
    #[error("what is at {url} is no agent card: {why}")]
    NotACard {
        /// Where it is.
        url: String,
        /// What was expected.
        why: FieldError,
    },
    /// A redirect leads to another host.
    #[error("{url} redirects to {to}, another host: discover that one if it is meant")]
    Elsewhere {
        /// Who redirects.
        url: String,
        /// Where to.
        to: String,
    },
    /// A redirect leads to one redirect too many, or says no address.
    #[error("{url} redirects once too often, after {limit} times, or without an address")]
    Redirects {
        /// Who redirects last.
        url: String,
        /// The limit.
        limit: usize,
    },
    /// The address is not of the public internet.
    #[error("{url} is at {address}, which is not of the public internet and so is not reached")]
    Private {
        /// The address that was asked for.
        url: String,
        /// Where that is.
        address: String,
    },
    /// The card names no way in which this client could speak.
    #[error("the card at {url} offers {offered}: expected {WAYS}")]
    NoWayToSpeak {
        /// Where the card is.
        url: String,
        /// What it offers.
        offered: String,
    },
}

impl DiscoveryError {
    /// Whether nothing broke: there is no agent.
    pub fn is_not_found(&self) -> bool {
        matches!(self, Self::NotFound { .. })
    }

    /// Whether every other place of the same host would say the same.
    pub(super) fn is_final(&self) -> bool {
        match self {
            Self::Scheme { .. }
            | Self::Unreachable { .. }
            | Self::Timeout { .. }
            | Self::Private { .. } => true,
            Self::NotFound { .. }
            | Self::TooLarge { .. }
            | Self::Status { .. }
            | Self::NotACard { .. }
            | Self::Elsewhere { .. }
            | Self::Redirects { .. }
            | Self::NoWayToSpeak { .. } => false,
        }
    }
}

fn all(tried: &[Url]) -> String {
    let tried: Vec<_> = tried.iter().map(Url::as_str).collect();
    tried.join(", ")
}
