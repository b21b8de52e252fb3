//! Masks the secrets that an agent may repeat in its answers.

use bridge_protocol::{jsonrpc::RpcError, wire::FieldError};
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
            Fault::Invalid(error) => Fault::Invalid(FieldError {
                path: self.mask(error.path),
                found: self.mask(error.found),
                ..error
            }),
            // A card can repeat the credentials with which it was fetched.
            Fault::NoInterface { offered, needed } => {
                Fault::NoInterface { offered: self.mask(offered), needed }
            }
            Fault::Extensions(uris) => {
                Fault::Extensions(uris.into_iter().map(|uri| self.mask(uri)).collect())
            }
            Fault::Untrusted(why) => Fault::Untrusted(self.mask(why)),
            Fault::Elsewhere(url) => Fault::Elsewhere(self.mask(url)),
            other @ (Fault::Private { .. }
            | Fault::Timeout(_)
            | Fault::TooLarge(_)
            | Fault::Asked(_)
            | Fault::Certificate(_)
            | Fault::NoCredentials { .. }
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
        shown.chain(self.named.values().cloned()).fold(text, |text, secret| masked(&text, &secret))
    }
}

/// The end of a text of an agent that was cut off.
pub(crate) const CUT: char = '…';

/// The shortest beginning of a secret that is masked, in bytes. A shorter one says little, and is often something else.
const TELLING: usize = 4;

/// Returns the text without the secret, and without its beginning if the text was cut off within it.
fn masked(text: &str, secret: &str) -> String {
    let text = text.replace(secret, "***");
    let begun = text.strip_suffix(CUT).and_then(|kept| {
        let ends = secret.char_indices().map(|(end, _)| end).rev();
        let mut begun = ends.take_while(|end| *end >= TELLING);
        let end = begun.find(|end| kept.ends_with(&secret[..*end]))?;
        Some(format!("{}***{CUT}", &kept[..kept.len() - end]))
    });
    begun.unwrap_or(text)
}

/// Returns the secret of a header without its authentication scheme.
fn bare(value: &HeaderValue) -> Option<String> {
    let secret = value.to_str().ok()?;
    let schemes = ["Bearer ", "Basic "];
    let stripped = schemes.iter().find_map(|scheme| secret.strip_prefix(scheme));
    Some(stripped.unwrap_or(secret).to_owned())
}
