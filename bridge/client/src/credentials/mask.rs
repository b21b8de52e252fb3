//! Masks the secrets that an agent may repeat in its answers.

use bridge_protocol::jsonrpc::RpcError;
use reqwest::header::HeaderValue;

use super::{Credentials, PlacedSecret};
use crate::Fault;

impl Credentials {
    /// Masks the secrets in a fault.
    pub(crate) fn mask_fault(&self, mut fault: Fault) -> Fault {
        match &mut fault {
            Fault::Http { body: text, .. }
            // The address of a request can contain a secret in its query.
            | Fault::Unconnected(text)
            | Fault::Unreachable(text)
            | Fault::StreamBroken(text)
            // A card can repeat the credentials with which it was fetched.
            | Fault::NoInterface { offered: text, .. }
            | Fault::Untrusted(text)
            | Fault::Elsewhere(text) => self.mask(text),
            Fault::Extensions(uris) => uris.iter_mut().for_each(|uri| self.mask(uri)),
            Fault::Unauthenticated { challenge, explanation }
            | Fault::Forbidden { challenge, explanation } => {
                challenge.iter_mut().for_each(|challenge| self.mask(challenge));
                self.mask(explanation);
            }
            Fault::Invalid(error) => {
                self.mask(&mut error.path);
                self.mask(&mut error.found);
            }
            Fault::Rpc(error) => self.mask_error(error),
            Fault::Private { .. }
            | Fault::Timeout(_)
            | Fault::TooLarge(_)
            | Fault::Asked(_)
            | Fault::Certificate(_)
            | Fault::NoCredentials { .. }
            | Fault::NotInVersion(_) => {}
        }
        fault
    }

    fn mask_error(&self, error: &mut RpcError) {
        self.mask(&mut error.message);
        if let Some(data) = &error.data {
            let (text, mut masked) = (data.to_string(), data.to_string());
            self.mask(&mut masked);
            if masked != text {
                error.data = None;
            }
        }
    }

    fn mask(&self, text: &mut String) {
        let shown = self.shown.iter().filter_map(|shown| match shown {
            PlacedSecret::Header(_, value) => bare(value),
            PlacedSecret::Bearer(token) => bare(&token.value()),
            PlacedSecret::Query(_, value) | PlacedSecret::Cookie(_, value) => Some(value.clone()),
        });
        for secret in shown.chain(self.named.values().cloned()) {
            *text = masked(text, &secret);
        }
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
