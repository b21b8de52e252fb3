//! Masks the secrets that an agent may repeat in its answers.

use bridge_protocol::jsonrpc::RpcError;
use reqwest::header::HeaderValue;

use super::{Credentials, PlacedSecret};
use crate::Fault;

impl Credentials {
    /// Masks the secrets in a fault.
    pub(crate) fn mask_fault(&self, fault: Fault) -> Fault {
        match fault {
            Fault::Http { status, body } => Fault::Http { status, body: self.mask(body) },
            Fault::Rpc(error) => Fault::Rpc(self.mask_error(error)),
            Fault::Unauthenticated { challenge, explanation } => Fault::Unauthenticated {
                challenge: challenge.map(|challenge| self.mask(challenge)),
                explanation: self.mask(explanation),
            },
            Fault::Forbidden { challenge, explanation } => Fault::Forbidden {
                challenge: challenge.map(|challenge| self.mask(challenge)),
                explanation: self.mask(explanation),
            },
            // The address of a request can contain a secret in its query.
            Fault::Unconnected(explanation) => Fault::Unconnected(self.mask(explanation)),
            Fault::Unreachable(explanation) => Fault::Unreachable(self.mask(explanation)),
            Fault::StreamBroken(explanation) => Fault::StreamBroken(self.mask(explanation)),
            other @ (Fault::Private { .. }
            | Fault::Timeout(_)
            | Fault::TooLarge(_)
            | Fault::Invalid(_)
            | Fault::Asked(_)
            | Fault::NoInterface { .. }
            | Fault::Extensions(_)
            | Fault::Certificate(_)
            | Fault::Untrusted(_)
            | Fault::NoCredentials { .. }
            | Fault::Elsewhere(_)
            | Fault::NotInVersion(_)) => other,
        }
    }

    fn mask_error(&self, error: RpcError) -> RpcError {
        let data = error.data.filter(|data| {
            let text = data.to_string();
            self.mask(text.clone()) == text
        });
        RpcError { message: self.mask(error.message), data, ..error }
    }

    fn mask(&self, text: String) -> String {
        let shown = self.shown.iter().filter_map(|shown| match shown {
            PlacedSecret::Header(_, value) => bare(value),
            PlacedSecret::Bearer(token) => bare(&token.value()),
            PlacedSecret::Query(_, value) | PlacedSecret::Cookie(_, value) => Some(value.clone()),
        });
        shown
            .chain(self.named.values().cloned())
            .fold(text, |text, secret| text.replace(&secret, "***"))
    }
}

/// Returns the secret of a header without its authentication scheme.
fn bare(value: &HeaderValue) -> Option<String> {
    let secret = value.to_str().ok()?;
    let schemes = ["Bearer ", "Basic "];
    let stripped = schemes.iter().find_map(|scheme| secret.strip_prefix(scheme));
    Some(stripped.unwrap_or(secret).to_owned())
}
