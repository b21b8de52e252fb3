//! Credentials that are sent to one host each. Their secrets come from environment variables, because other users
//! can read command lines, and a model must not choose credentials.

use bridge_client::{CredentialError, Credentials, is_loopback};
use bridge_program::secret::Secret;
use url::Url;

/// A secret that is sent to one host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Credential {
    pub(super) host: String,
    /// The name of the header that has the secret; `Authorization: Bearer` if absent.
    header: Option<String>,
    pub(super) secret: Secret,
}

/// The reason why a text is not a valid credential.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[expect(missing_docs, reason = "the messages say what the fields are")]
pub enum CredentialFlagError {
    /// The text has not the form `HOST=VARIABLE`.
    #[error("expected HOST=VARIABLE or HOST=HEADER:VARIABLE, found {0:?}")]
    Pair(String),
    /// The environment variable is not set.
    #[error("the environment variable {variable} is not set: put the secret for {host} there")]
    NotSet { variable: String, host: String },
}

impl Credential {
    /// Creates a bearer token for a host, which is a name or `NAME:PORT`.
    pub fn bearer(host: impl Into<String>, secret: Secret) -> Self {
        Self { host: host.into(), header: None, secret }
    }

    /// Reads `HOST=VARIABLE`, a bearer token, or `HOST=HEADER:VARIABLE`. `variables` looks up the secret by the
    /// variable's name.
    ///
    /// # Errors
    /// [`CredentialFlagError`]
    pub fn read(
        text: &str,
        variables: impl Fn(&str) -> Option<String>,
    ) -> Result<Self, CredentialFlagError> {
        let pair = || CredentialFlagError::Pair(text.to_owned());
        let (host, named) = text.split_once('=').ok_or_else(pair)?;
        let (header, variable) = match named.split_once(':') {
            Some((header, variable)) => (Some(header.to_owned()), variable),
            None => (None, named),
        };
        if host.is_empty() || variable.is_empty() {
            return Err(pair());
        }
        let secret = variables(variable).filter(|secret| !secret.is_empty());
        let not_set =
            || CredentialFlagError::NotSet { variable: variable.to_owned(), host: host.to_owned() };
        Ok(Self { host: host.to_owned(), header, secret: Secret::new(secret.ok_or_else(not_set)?) })
    }

    /// Returns whether the credential may be sent to this address: its host must match, and beyond this machine the
    /// scheme must be https, so that nobody between can read the secret.
    pub(super) fn is_for(&self, url: &Url) -> bool {
        let name = url.host_str().unwrap_or_default();
        let port = url.port_or_known_default().unwrap_or_default();
        let is_named = self.host.eq_ignore_ascii_case(name)
            || self.host.eq_ignore_ascii_case(&format!("{name}:{port}"));
        is_named && (url.scheme() == "https" || is_loopback(url))
    }

    /// Adds this credential to others.
    pub(super) fn add_to(&self, all: Credentials) -> Result<Credentials, CredentialError> {
        match &self.header {
            Some(header) => all.header(header, self.secret.expose()),
            None => all.bearer(self.secret.expose()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Credential, CredentialFlagError> {
        Credential::read(text, |name| (name == "TOKEN").then(|| "hunter2".to_owned()))
    }

    #[test]
    fn a_secret_is_for_its_host_only() {
        let url = |text: &str| Url::parse(text).unwrap();
        let any_port = read("club.example=TOKEN").unwrap();
        assert!(any_port.is_for(&url("https://CLUB.example/a")));
        assert!(any_port.is_for(&url("https://club.example:8443/a")));
        assert!(!any_port.is_for(&url("https://club.example.evil/")));
        assert!(!any_port.is_for(&url("http://club.example/")));
        let one_port = read("127.0.0.1:9020=X-Key:TOKEN").unwrap();
        assert!(one_port.is_for(&url("http://127.0.0.1:9020/")));
        assert!(!one_port.is_for(&url("http://127.0.0.1:9021/")));
        assert_eq!(one_port.header.as_deref(), Some("X-Key"));
        assert!(!format!("{one_port:?}").contains("hunter2"));
    }

    #[test]
    fn a_malformed_credential_is_reported() {
        for (text, expected) in [
            ("club.example", "expected HOST=VARIABLE"),
            ("=TOKEN", "expected HOST=VARIABLE"),
            ("club.example=X:", "expected HOST=VARIABLE"),
            ("club.example=NONE", "the environment variable NONE is not set"),
        ] {
            let error = read(text).unwrap_err().to_string();
            assert!(error.starts_with(expected), "{error}");
        }
    }
}
