//! Authenticates requests by their bearer token, before anything else of the request is read.

use axum::{
    http::{HeaderMap, HeaderValue, StatusCode, header},
    response::{IntoResponse, Response},
};

use crate::episodes::{Episodes, TokenError};

/// Maps bearer tokens to guests. A guest is one authorized user of the server.
pub trait Authenticator: Clone + Send + Sync + 'static {
    /// The resource that a token gives access to.
    type Guest: Clone + Send + Sync + 'static;

    /// Returns the guest of a token.
    fn admit(&self, token: &str) -> Result<Admission<Self::Guest>, Unauthorized>;

    /// Returns whether tokens of this guest may still be admitted. The server drops the sessions of all other
    /// guests.
    fn knows(&self, key: &str) -> bool;
}

/// An admitted guest.
#[derive(Clone, Debug)]
pub struct Admission<G> {
    /// The guest's key: equal for all tokens of this guest, different for any other guest.
    pub key: String,
    /// The resource that the guest may use.
    pub guest: G,
}

/// The reason why a request is answered with 401; it is sent in `WWW-Authenticate` (RFC 6750, section 3).
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unauthorized {
    /// The request has no bearer token.
    #[error("a bearer token is needed: Authorization: Bearer TOKEN")]
    Missing,
    /// The token belongs to no guest.
    #[error("the token is unknown: it is wrong, or its episode was closed")]
    Unknown,
    /// The token was valid and has expired.
    #[error("the token has expired; ask for another one")]
    Expired,
}

impl IntoResponse for Unauthorized {
    fn into_response(self) -> Response {
        let challenge = match self {
            Self::Missing => "Bearer",
            Self::Unknown => {
                r#"Bearer error="invalid_token", error_description="the token is not known here""#
            }
            Self::Expired => {
                r#"Bearer error="invalid_token", error_description="the token has expired""#
            }
        };
        let challenge = [(
            header::WWW_AUTHENTICATE,
            HeaderValue::from_static(challenge),
        )];
        (StatusCode::UNAUTHORIZED, challenge, self.to_string()).into_response()
    }
}

impl From<TokenError> for Unauthorized {
    fn from(error: TokenError) -> Self {
        match error {
            TokenError::Unknown => Self::Unknown,
            TokenError::Expired => Self::Expired,
        }
    }
}

/// Returns the bearer token of a request (RFC 6750, section 2.1). The scheme's case is ignored.
pub(super) fn token(headers: &HeaderMap) -> Result<&str, Unauthorized> {
    let value = headers
        .get(header::AUTHORIZATION)
        .ok_or(Unauthorized::Missing)?;
    let value = value.to_str().map_err(|_| Unauthorized::Unknown)?;
    match value.split_once(' ') {
        Some((scheme, token)) if scheme.eq_ignore_ascii_case("bearer") => Ok(token.trim()),
        Some(_) | None => Err(Unauthorized::Missing),
    }
}

impl Authenticator for Episodes {
    type Guest = std::sync::Arc<crate::episodes::Episode>;

    fn admit(&self, token: &str) -> Result<Admission<Self::Guest>, Unauthorized> {
        let guest = Self::admit(self, token)?;
        let key = guest.id().to_owned();
        Ok(Admission { key, guest })
    }

    fn knows(&self, key: &str) -> bool {
        self.get(key).is_some()
    }
}
