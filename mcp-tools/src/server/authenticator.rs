//! Authenticates requests by their bearer token, before anything else of the request is read.

use axum::{
    Router,
    http::{HeaderMap, HeaderValue, StatusCode, header},
    response::{IntoResponse, Response},
    routing::post,
};
use serde_json::json;

use super::gateway::refusal;
use crate::episodes::{Episodes, TokenError};

/// Maps bearer tokens to users. A user is the party that a token authorizes.
pub trait Authenticator: Clone + Send + Sync + 'static {
    /// The resource that a token gives access to.
    type User: Clone + Send + Sync + 'static;

    /// Returns the user of a token.
    ///
    /// # Errors
    /// [`Unauthorized`] if it has none; the caller gets HTTP 401.
    fn admit(&self, token: &str) -> Result<Admission<Self::User>, Unauthorized>;

    /// Returns whether tokens of this user may still be admitted. The server drops the sessions of all other
    /// users.
    fn knows(&self, key: &str) -> bool;
}

/// An admitted user.
#[derive(Clone, Debug)]
pub struct Admission<G> {
    /// The user's key: equal for all tokens of this user, different for any other user.
    pub key: String,
    /// The resource that the user may use.
    pub user: G,
}

/// The reason why a request is answered with 401; it is sent in `WWW-Authenticate` (RFC 6750, section 3).
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unauthorized {
    /// The request has no bearer token.
    #[error("a bearer token is needed: Authorization: Bearer TOKEN")]
    Missing,
    /// The token belongs to no user.
    #[error("the token is unknown: it is wrong, or its episode was closed")]
    Unknown,
    /// The token was valid and has expired.
    #[error("the token has expired; ask for another one")]
    Expired,
}

/// Returns a route for clients whose token was refused: those of the official SDK for TypeScript then register for a sign-in, and show
/// nothing but the answer to that (RFC 7591, section 3.2.2).
pub fn without_sign_in() -> Router {
    let description = "this server has no sign-in (OAuth), and the token was missing or was refused: send the bearer \
                       token of its connection details";
    let body = json!({"error": "access_denied", "error_description": description}).to_string();
    let json = [(header::CONTENT_TYPE, "application/json")];
    let answer = async move || (StatusCode::NOT_FOUND, json, body);
    Router::new().route("/register", post(answer))
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
        let challenge = [(header::WWW_AUTHENTICATE, HeaderValue::from_static(challenge))];
        let refusal = refusal(StatusCode::UNAUTHORIZED, &self.to_string());
        (challenge, refusal).into_response()
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
    let value = headers.get(header::AUTHORIZATION).ok_or(Unauthorized::Missing)?;
    let value = value.to_str().map_err(|_| Unauthorized::Unknown)?;
    match value.split_once(' ') {
        Some((scheme, token)) if scheme.eq_ignore_ascii_case("bearer") => Ok(token.trim()),
        Some(_) | None => Err(Unauthorized::Missing),
    }
}

impl Authenticator for Episodes {
    type User = std::sync::Arc<crate::episodes::Episode>;

    fn admit(&self, token: &str) -> Result<Admission<Self::User>, Unauthorized> {
        let user = Self::admit(self, token)?;
        let key = user.id().to_owned();
        Ok(Admission { key, user })
    }

    fn knows(&self, key: &str) -> bool {
        self.get(key).is_some()
    }
}
