//! The credentials that are sent to an agent.
//!
//! - [`bearer_token`]: a token that is replaced while clients use it
//! - [`scheme`]: chooses among several by the security schemes of the agent's card
//! - [`mask`]: masks them in the agent's answers

mod bearer_token;
mod mask;
mod scheme;

use std::{collections::BTreeMap, fmt};

use base64::{Engine as _, prelude::BASE64_STANDARD};
use bridge_http::is_loopback;
use reqwest::{
    RequestBuilder,
    header::{AUTHORIZATION, COOKIE, HeaderName, HeaderValue},
};
use url::Url;

use crate::{Fault, interface::without_user};

pub use bearer_token::BearerToken;
pub(crate) use mask::CUT;

/// The credentials sent with every request to one agent: a bearer token, API keys, or what the card's
/// security schemes require.
///
/// They are sent only to the server that the client connects to, and never appear in errors or debug output.
#[derive(Clone, Default)]
pub struct Credentials {
    shown: Vec<PlacedSecret>,
    /// Secrets by the name of the card's security scheme that they are for.
    named: BTreeMap<String, String>,
    /// The agent that they are for, wherever its card was found.
    meant_for: Option<Url>,
}

/// A secret and where in a request it is sent.
#[derive(Clone)]
enum PlacedSecret {
    Header(HeaderName, HeaderValue),
    /// In `Authorization`.
    Bearer(BearerToken),
    Query(String, String),
    Cookie(String, String),
}

/// The reason why a credential cannot be sent. It never contains the secret.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CredentialError {
    /// The name is no valid header name.
    #[error("expected the name of an HTTP header, found {0:?}")]
    Name(String),
    /// The secret has characters that a header cannot have.
    #[error("expected a secret of one line of visible ASCII for the header {0}")]
    Value(HeaderName),
    /// The name or the secret has characters that a cookie cannot have.
    #[error("expected a cookie of visible ASCII without spaces, quotes, commas and semicolons")]
    Cookie,
    /// The secret is empty.
    #[error("expected a secret for {0}, found nothing")]
    Empty(String),
    /// The user name has a colon, which ends it in HTTP Basic (RFC 7617).
    #[error("expected a user name without a colon")]
    User,
}

impl Credentials {
    /// Adds `Authorization: Bearer` with this token.
    ///
    /// # Errors
    /// [`CredentialError::Value`]
    pub fn bearer(self, token: &str) -> Result<Self, CredentialError> {
        Ok(self.bearer_token(&BearerToken::new(token)?))
    }

    /// Adds `Authorization: Bearer` with a token that can be replaced later.
    #[must_use]
    pub fn bearer_token(mut self, token: &BearerToken) -> Self {
        self.remove_header(&AUTHORIZATION);
        self.shown.push(PlacedSecret::Bearer(token.clone()));
        self
    }

    /// Adds `Authorization: Basic` with a user name and password (RFC 7617).
    ///
    /// # Errors
    /// [`CredentialError::User`]
    pub fn basic(self, user: &str, password: &str) -> Result<Self, CredentialError> {
        if user.contains(':') {
            return Err(CredentialError::User);
        }
        self.with_header(AUTHORIZATION, &basic(&format!("{user}:{password}")))
    }

    /// Adds a header such as `X-API-Key`, and replaces one of the same name.
    ///
    /// # Errors
    /// [`CredentialError::Name`], [`CredentialError::Value`]
    pub fn header(self, name: &str, value: &str) -> Result<Self, CredentialError> {
        match HeaderName::from_bytes(name.as_bytes()) {
            Ok(name) => self.with_header(name, value),
            Err(_) => Err(CredentialError::Name(name.into())),
        }
    }

    /// Adds a query parameter.
    ///
    /// # Errors
    /// [`CredentialError::Empty`]
    pub fn query(mut self, name: &str, value: &str) -> Result<Self, CredentialError> {
        if value.is_empty() {
            return Err(CredentialError::Empty(name.into()));
        }
        self.shown.push(PlacedSecret::Query(name.into(), value.into()));
        Ok(self)
    }

    /// Adds a cookie (RFC 6265).
    ///
    /// # Errors
    /// [`CredentialError::Cookie`]
    pub fn cookie(mut self, name: &str, value: &str) -> Result<Self, CredentialError> {
        let is_token = |text: &str| {
            let fits = |c: char| c.is_ascii_graphic() && !matches!(c, '"' | ',' | ';' | '\\');
            !text.is_empty() && text.chars().all(fits)
        };
        if !is_token(name) || name.contains('=') || !is_token(value) {
            return Err(CredentialError::Cookie);
        }
        self.shown.push(PlacedSecret::Cookie(name.into(), value.into()));
        Ok(self)
    }

    /// Adds a secret for the security scheme of this name in the agent's card: a token, an API key, or
    /// `user:password` for HTTP Basic. The scheme says where in the request the secret is sent. Of several
    /// secrets only those that the card requires are sent (specification 4.5.1, 7.3).
    ///
    /// # Errors
    /// [`CredentialError::Empty`]
    pub fn named(mut self, scheme: &str, secret: &str) -> Result<Self, CredentialError> {
        if secret.is_empty() {
            return Err(CredentialError::Empty(scheme.into()));
        }
        self.named.insert(scheme.into(), secret.into());
        Ok(self)
    }

    /// Restricts these credentials to the agent at this address. The card may then come from anywhere, such
    /// as a registry: the caller, not the card, has named the receiver.
    #[must_use]
    pub fn meant_for(self, agent: &Url) -> Self {
        let meant_for = Some(agent.clone());
        Self { meant_for, ..self }
    }

    /// Returns whether [`meant_for`](Self::meant_for) was called with an address of this agent's scheme, host and port.
    pub fn are_meant_for(&self, agent: &Url) -> bool {
        let meant_for = self.meant_for.as_ref();
        meant_for.is_some_and(|meant_for| is_same_place(meant_for, agent))
    }

    fn with_header(mut self, name: HeaderName, value: &str) -> Result<Self, CredentialError> {
        let value = secret_value(&name, value)?;
        self.remove_header(&name);
        self.shown.push(PlacedSecret::Header(name, value));
        Ok(self)
    }

    fn remove_header(&mut self, name: &HeaderName) {
        self.shown.retain(|shown| match shown {
            PlacedSecret::Header(known, _) => known != name,
            PlacedSecret::Bearer(_) => *name != AUTHORIZATION,
            PlacedSecret::Query(..) | PlacedSecret::Cookie(..) => true,
        });
    }

    /// Adds the credentials to a request.
    pub(crate) fn apply_to(&self, request: RequestBuilder) -> RequestBuilder {
        let mut cookies = Vec::new();
        let mut request = request;
        for shown in &self.shown {
            request = match shown {
                PlacedSecret::Header(name, value) => request.header(name, value),
                PlacedSecret::Bearer(token) => request.header(AUTHORIZATION, token.value()),
                PlacedSecret::Query(name, value) => request.query(&[(name, value)]),
                PlacedSecret::Cookie(name, value) => {
                    cookies.push(format!("{name}={value}"));
                    request
                }
            };
        }
        match HeaderValue::from_str(&cookies.join("; ")) {
            Ok(mut value) if !cookies.is_empty() => {
                value.set_sensitive(true);
                request.header(COOKIE, value)
            }
            Ok(_) | Err(_) => request,
        }
    }

    /// Refuses to send credentials to another server: a card can name any address.
    pub(crate) fn check(&self, base: &Url, url: &Url) -> Result<(), Fault> {
        let home = self.meant_for.as_ref().unwrap_or(base);
        match self.is_empty() || is_same_place(home, url) {
            true => Ok(()),
            false => Err(Fault::Elsewhere(without_user(url))),
        }
    }

    /// Returns whether there are none.
    pub fn is_empty(&self) -> bool {
        self.shown.is_empty() && self.named.is_empty()
    }
}

/// Returns the value of a header with a secret, which logs do not show.
fn secret_value(name: &HeaderName, value: &str) -> Result<HeaderValue, CredentialError> {
    match HeaderValue::from_str(value) {
        Ok(mut value) if !value.is_empty() && value.to_str().is_ok() => {
            value.set_sensitive(true);
            Ok(value)
        }
        Ok(_) | Err(_) => Err(CredentialError::Value(name.clone())),
    }
}

fn basic(user_and_password: &str) -> String {
    format!("Basic {}", BASE64_STANDARD.encode(user_and_password))
}

impl fmt::Debug for Credentials {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shown = self.shown.iter().map(|shown| match shown {
            PlacedSecret::Header(name, _) => name.as_str(),
            PlacedSecret::Bearer(_) => AUTHORIZATION.as_str(),
            PlacedSecret::Query(name, _) | PlacedSecret::Cookie(name, _) => name,
        });
        let named = self.named.keys().map(String::as_str);
        f.debug_list().entries(shown.chain(named)).finish()
    }
}

/// Returns whether two addresses belong to the same server. All names of this machine are the same, because servers use
/// any of them for themselves.
fn is_same_place(one: &Url, other: &Url) -> bool {
    let here = is_loopback(one) && is_loopback(other);
    let port = one.port_or_known_default() == other.port_or_known_default();
    one.origin() == other.origin() || (here && port && one.scheme() == other.scheme())
}

#[cfg(test)]
mod tests;
