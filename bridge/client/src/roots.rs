//! Whose certificates are believed.

use crate::error::root_cause;

/// Authorities that vouch for agents beside those that everybody believes: a company's own. They hold for
/// cards and for every binding alike.
#[derive(Clone, Debug, Default)]
pub struct Roots(Vec<reqwest::Certificate>);

/// Why a text names no authority.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RootsError {
    /// There is no certificate in it.
    #[error(
        "expected certificates in PEM, found none that begins with -----BEGIN CERTIFICATE-----"
    )]
    Empty,
    /// One of them cannot be read.
    #[error("expected certificates in PEM: {0}")]
    Unreadable(String),
}

impl Roots {
    /// The authorities whose certificates are in a text, PEM.
    ///
    /// # Errors
    /// If there is none in it, or one that cannot be read.
    pub fn from_pem(text: &[u8]) -> Result<Self, RootsError> {
        let unreadable = |error: reqwest::Error| RootsError::Unreadable(root_cause(&error));
        let found = reqwest::Certificate::from_pem_bundle(text).map_err(unreadable)?;
        if found.is_empty() {
            return Err(RootsError::Empty);
        }
        let roots = Self(found);
        // What is in a certificate is only looked at when a client is made with it.
        let tried = roots.add_to(reqwest::Client::builder()).build();
        tried.map(|_| roots).map_err(unreadable)
    }

    /// A client that believes them too.
    pub(crate) fn add_to(&self, client: reqwest::ClientBuilder) -> reqwest::ClientBuilder {
        let roots = self.0.iter().cloned();
        roots.fold(client, reqwest::ClientBuilder::add_root_certificate)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn authorities_are_certificates_in_pem() {
        let broken = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n";
        for (text, expected) in [
            (
                "",
                "found none that begins with -----BEGIN CERTIFICATE-----",
            ),
            ("no certificate", "found none"),
            (broken, "expected certificates in PEM: "),
        ] {
            let error = Roots::from_pem(text.as_bytes()).unwrap_err().to_string();
            assert!(error.contains(expected), "{error}");
        }
    }
}
