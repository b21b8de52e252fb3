//! The errors of discovery.

use std::time::Duration;

use bridge_http::advice_on_status;
use bridge_protocol::wire::FieldError;
use url::Url;

use crate::interface::without_user;

/// The protocols that this client supports, for error messages.
const WAYS: &str = match cfg!(feature = "grpc") {
    true => "JSONRPC, HTTP+JSON, GRPC of 1.0 or 0.3, or execute",
    false => "JSONRPC, HTTP+JSON or execute",
};

/// The result of a discovery.
pub type Result<T, E = DiscoveryError> = std::result::Result<T, E>;

/// The reason why discovery found no agent.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[expect(missing_docs, reason = "the messages say what the fields are")]
pub enum DiscoveryError {
    /// Every location answered that it has no card.
    #[error("there is no agent card at {target}: looked at {}", all(.tried))]
    NotFound {
        target: String,
        /// The locations that were tried, in order.
        tried: Vec<Url>,
    },
    /// The address does not have the scheme http or https.
    #[error("expected an address that begins with http:// or https://, found {0}")]
    Scheme(String),
    /// The server cannot be reached.
    #[error("{url} cannot be reached: {cause}")]
    Unreachable { url: String, cause: String },
    /// The answer took too long.
    #[error("no answer from {url} within {limit:?}")]
    Timeout { url: String, limit: Duration },
    /// The answer was too large for a card.
    #[error("the answer of {url} is larger than {limit} bytes")]
    TooLarge { url: String, limit: usize },
    /// The answer has an HTTP status that is an error, other than 404 and 410.
    #[error("{url} answered with HTTP status {status}{}", advice_on_status(*.status))]
    Status { url: String, status: u16 },
    /// The document is no agent card.
    #[error("the document at {url} is no agent card: {why}")]
    NotACard {
        url: String,
        /// The invalid field and what was expected there.
        why: FieldError,
    },
    /// A redirect leads to another host.
    #[error("{url} redirects to {to}, another host: use that address if it is the right one")]
    Elsewhere { url: String, to: String },
    /// There are too many redirects, or one has no valid target.
    #[error("{url} redirects more than {limit} times, or without an address")]
    Redirects { url: String, limit: usize },
    /// The address is not public.
    #[error("{url} is at {address}, which is not a public address, so no connection is made")]
    Private { url: String, address: String },
    /// The card has no interface that this client supports.
    #[error("the card at {url} offers {offered}: expected {WAYS}")]
    NoWayToSpeak { url: String, offered: String },
}

impl DiscoveryError {
    /// Returns whether there is no agent, as opposed to an error on the way to it.
    pub fn is_not_found(&self) -> bool {
        matches!(self, Self::NotFound { .. })
    }

    /// Returns whether all other locations of the same host would give the same error.
    pub(super) fn is_final(&self) -> bool {
        matches!(
            self,
            Self::Scheme(_)
                | Self::Unreachable { .. }
                | Self::Timeout { .. }
                | Self::Private { .. }
        )
    }
}

fn all(tried: &[Url]) -> String {
    let tried: Vec<_> = tried.iter().map(without_user).collect();
    tried.join(", ")
}
