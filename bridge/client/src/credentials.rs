//! What an agent is shown to let its client in.

use std::fmt;

use bridge_protocol::jsonrpc::RpcError;
use reqwest::header::{AUTHORIZATION, HeaderMap, HeaderName, HeaderValue};
use url::{Host, Url};

use crate::Fault;

/// Headers that go with every request to one agent: a bearer token, API keys, whatever its card asks for.
///
/// They are sent to where the client connects and nowhere else, and appear in no error and no debug output.
#[derive(Clone, Default)]
pub struct Credentials(HeaderMap);

/// Why something cannot be sent as a header. What it is, is not said.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CredentialError {
    /// There is no such header.
    #[error("expected the name of an HTTP header, found {0:?}")]
    Name(String),
    /// The secret has characters that no header can have.
    #[error("expected a secret of one line of visible ASCII for the header {0}")]
    Value(HeaderName),
}

impl Credentials {
    /// These, and `Authorization: Bearer` with a token.
    ///
    /// # Errors
    /// [`CredentialError::Value`]
    pub fn bearer(self, token: &str) -> Result<Self, CredentialError> {
        self.with(AUTHORIZATION, &format!("Bearer {token}"))
    }

    /// These, and a header such as `X-API-Key`. One of the same name is replaced.
    ///
    /// # Errors
    /// [`CredentialError`]
    pub fn header(self, name: &str, value: &str) -> Result<Self, CredentialError> {
        match HeaderName::from_bytes(name.as_bytes()) {
            Ok(name) => self.with(name, value),
            Err(_) => Err(CredentialError::Name(name.into())),
        }
    }

    fn with(mut self, name: HeaderName, value: &str) -> Result<Self, CredentialError> {
        match HeaderValue::from_str(value) {
            Ok(mut value) if !value.is_empty() && value.to_str().is_ok() => {
                value.set_sensitive(true);
                self.0.insert(name, value);
                Ok(self)
            }
            Ok(_) | Err(_) => Err(CredentialError::Value(name)),
        }
    }

    pub(crate) fn headers(&self) -> HeaderMap {
        self.0.clone()
    }

    /// Refuses to send them elsewhere: anybody can write any address into a card.
    pub(crate) fn check(&self, base: &Url, url: &Url) -> Result<(), Fault> {
        match self.0.is_empty() || is_same_place(base, url) {
            true => Ok(()),
            false => Err(Fault::Elsewhere {
                url: url.to_string(),
            }),
        }
    }

    /// A fault whose texts may be those of an agent, should it have repeated what it was shown.
    pub(crate) fn hide_in(&self, fault: Fault) -> Fault {
        match fault {
            Fault::Http { status, body } => Fault::Http {
                status,
                body: self.mask(body),
            },
            Fault::Rpc(error) => Fault::Rpc(self.hide_in_error(error)),
            other @ (Fault::Unreachable(_)
            | Fault::Timeout(_)
            | Fault::TooLarge { .. }
            | Fault::Invalid(_)
            | Fault::StreamBroken(_)
            | Fault::NoInterface { .. }
            | Fault::Elsewhere { .. }
            | Fault::NotInVersion(_)) => other,
        }
    }

    fn hide_in_error(&self, error: RpcError) -> RpcError {
        let data = error.data.filter(|data| {
            let text = data.to_string();
            self.mask(text.clone()) == text
        });
        RpcError {
            message: self.mask(error.message),
            data,
            ..error
        }
    }

    fn mask(&self, text: String) -> String {
        let secrets = self.0.values().filter_map(|value| value.to_str().ok());
        secrets.fold(text, |text, secret| {
            let token = secret.strip_prefix("Bearer ").unwrap_or(secret);
            text.replace(token, "***")
        })
    }
}

impl fmt::Debug for Credentials {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.0.keys()).finish()
    }
}

/// Whether two addresses are one server's. The names of this machine are one: servers call themselves by
/// any of them.
fn is_same_place(one: &Url, other: &Url) -> bool {
    let here = is_loopback(one) && is_loopback(other);
    let port = one.port_or_known_default() == other.port_or_known_default();
    one.origin() == other.origin() || (here && port && one.scheme() == other.scheme())
}

pub(crate) fn is_loopback(url: &Url) -> bool {
    match url.host() {
        Some(Host::Domain(name)) => name == "localhost",
        Some(Host::Ipv4(address)) => address.is_loopback(),
        Some(Host::Ipv6(address)) => address.is_loopback(),
        None => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn secret() -> Credentials {
        let credentials = Credentials::default().bearer("hunter2").unwrap();
        credentials.header("X-API-Key", "swordfish").unwrap()
    }

    #[test]
    fn secrets_are_not_shown() {
        assert_eq!(
            format!("{:?}", secret()),
            r#"["authorization", "x-api-key"]"#
        );
        let text = "no hunter2, no swordfish";
        let http = secret().hide_in(Fault::Http {
            status: 401,
            body: text.into(),
        });
        let rpc = secret().hide_in(Fault::Rpc(RpcError {
            code: -1,
            message: text.into(),
            data: Some(text.into()),
        }));
        for fault in [http, rpc] {
            let shown = format!("{fault} {fault:?}");
            assert!(shown.contains("no ***, no ***"), "{shown}");
            assert!(!shown.contains("hunter2") && !shown.contains("swordfish"));
        }
    }

    #[test]
    fn what_no_header_can_be_is_refused_without_saying_it() {
        for (name, value) in [
            ("a b", "x"),
            ("X-Key", "a\nb"),
            ("X-Key", ""),
            ("X-Key", "ä"),
        ] {
            let error = Credentials::default().header(name, value).unwrap_err();
            let shown = error.to_string();
            assert!(shown.starts_with("expected"), "{shown}");
            assert!(!shown.contains('\n') && !shown.contains('ä'), "{shown}");
        }
    }

    #[test]
    fn they_go_to_one_server_only() {
        for (base, url, is_same) in [
            ("https://h/a", "https://h:443/b", true),
            ("http://localhost:1/", "http://127.0.0.1:1/x", true),
            ("http://localhost:1/", "http://127.0.0.1:2/", false),
            ("https://h/", "http://h/", false),
            ("https://h/", "https://h.evil/", false),
        ] {
            let (base, url) = (Url::parse(base).unwrap(), Url::parse(url).unwrap());
            assert_eq!(secret().check(&base, &url).is_ok(), is_same, "{url}");
            assert!(Credentials::default().check(&base, &url).is_ok());
        }
    }
}
