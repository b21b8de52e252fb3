//! A security scheme declared in a card, with the check for its credentials.

use axum::http::HeaderName;
use bridge_protocol::a2a::SecurityScheme;

use super::{Check, credential_location::CredentialLocation};

/// The result of reading the security of a card.
pub(super) type Result<T, E = AccessError> = std::result::Result<T, E>;

/// A declared security scheme.
#[derive(Debug)]
pub(super) struct Scheme {
    pub(super) place: CredentialLocation,
    pub(super) check: Check,
}

/// The reason why the access rules of a card cannot be enforced.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[expect(missing_docs, reason = "the messages say what the fields are")]
pub enum AccessError {
    /// The card declares a scheme without a check.
    #[error(
        "the card declares the security scheme {scheme:?}, and no check of it is configured: expected {needed}"
    )]
    Unchecked { scheme: String, needed: String },
    /// There is a check for a scheme that the card does not declare.
    #[error("there is a check for the security scheme {scheme:?}, which the card does not declare")]
    Undeclared { scheme: String },
    /// The card requires a scheme that it does not have.
    #[error(
        "the card requires the security scheme {scheme:?}, which is not among its security schemes"
    )]
    Unknown { scheme: String },
    /// The scheme has an unknown kind or an invalid declaration.
    #[error("the security scheme {scheme:?}: expected {expected}, found {found:?}")]
    Declared { scheme: String, expected: &'static str, found: String },
    /// The extended card has other schemes or requirements than the public one.
    #[error("the extended card differs from the card in its {what}: expected the same in both")]
    Hidden { what: &'static str },
    /// Only tokens carry scopes.
    #[error(
        "the card requires scopes of the security scheme {scheme:?}, and only signed tokens carry any: expected {scheme} = []"
    )]
    Scopes { scheme: String },
}

impl Scheme {
    /// Combines a declared scheme with its check.
    pub(super) fn new(name: &str, declared: &SecurityScheme, check: Check) -> Result<Self> {
        let place = place(name, declared)?;
        match needed(&place, &check, name) {
            Some(needed) => Err(AccessError::Unchecked { scheme: name.to_owned(), needed }),
            None => Ok(Self { place, check }),
        }
    }

    /// Returns a short description of the accepted credentials.
    pub(super) fn how(&self) -> String {
        let secrets = self.check.secrets.names().count();
        let ways = [
            self.check.token.as_ref().map(|_| "a signed token".to_owned()),
            (secrets > 0).then(|| format!("one of {secrets} secrets")),
            self.check.certificates.as_ref().map(|_| "a certificate".to_owned()),
        ];
        ways.into_iter().flatten().collect::<Vec<_>>().join(" or ")
    }
}

/// Returns the location of a scheme's credential in a request.
fn place(name: &str, declared: &SecurityScheme) -> Result<CredentialLocation> {
    let wrong = |expected: &'static str, found: &str| AccessError::Declared {
        scheme: name.to_owned(),
        expected,
        found: found.to_owned(),
    };
    match declared {
        SecurityScheme::ApiKey(key) => match key.location.as_str() {
            "header" => HeaderName::from_bytes(key.name.as_bytes())
                .map(CredentialLocation::Header)
                .map_err(|_| wrong("the name of a header", &key.name)),
            "query" => Ok(CredentialLocation::Query(key.name.clone())),
            "cookie" => Ok(CredentialLocation::Cookie(key.name.clone())),
            other => Err(wrong("the location header, query or cookie", other)),
        },
        SecurityScheme::HttpAuth(http) => match http.scheme.to_ascii_lowercase().as_str() {
            "bearer" => Ok(CredentialLocation::Bearer),
            "basic" => Ok(CredentialLocation::Basic),
            other => Err(wrong("the HTTP scheme Bearer or Basic", other)),
        },
        SecurityScheme::OAuth2(_) | SecurityScheme::OpenIdConnect(_) => {
            Ok(CredentialLocation::Bearer)
        }
        SecurityScheme::MutualTls(_) => Ok(CredentialLocation::Connection),
    }
}

/// Returns the setting that is missing to check credentials at this location; `None` if nothing is missing.
fn needed(place: &CredentialLocation, check: &Check, name: &str) -> Option<String> {
    let at = format!("[agents.access.{name}]");
    let (is_there, needed) = match place {
        CredentialLocation::Bearer => (
            check.token.is_some() || !check.secrets.is_empty(),
            format!("{at} with token or secrets"),
        ),
        CredentialLocation::Basic
        | CredentialLocation::Header(_)
        | CredentialLocation::Query(_)
        | CredentialLocation::Cookie(_) => {
            (!check.secrets.is_empty(), format!("{at} with secrets"))
        }
        CredentialLocation::Connection => (
            check.certificates.is_some(),
            format!("{at} with certificates, and client_ca in the table tls"),
        ),
    };
    (!is_there).then_some(needed)
}
