//! Who may pass: the bearer token of a request, looked at before anything else of it.

use axum::{
    http::{HeaderMap, HeaderValue, StatusCode, header},
    response::{IntoResponse, Response},
};

use crate::episodes::{Episodes, TokenError};

/// Knows bearer tokens, and whom they stand for.
pub trait Authenticator: Clone + Send + Sync + 'static {
    /// What a token lets its bearer work with.
    type Guest: Clone + Send + Sync + 'static;

    /// Whom a token stands for.
    fn admit(&self, token: &str) -> Result<Admission<Self::Guest>, Unauthorized>;

    /// Whether tokens of this key may still be admitted; what is kept for a key that is not is dropped.
    fn knows(&self, key: &str) -> bool;
}

/// Whoever was admitted.
#[derive(Clone, Debug)]
pub struct Admission<G> {
    /// The same for every token of the same guest, and for no other's.
    pub key: String,
    /// What the guest may work with.
    pub guest: G,
}

/// Why nobody was admitted: 401, with the reason in `WWW-Authenticate` (RFC 6750, section 3).
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unauthorized {
    /// There is no bearer token.
    #[error("a bearer token is needed: Authorization: Bearer TOKEN")]
    Missing,
    /// It is nobody's.
    #[error("the token is not known here; it is wrong, or what it opened was closed")]
    Unknown,
    /// It was somebody's once.
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

/// The token of a request (RFC 6750, section 2.1); the scheme's capitals do not matter.
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
