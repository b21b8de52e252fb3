//! Authentication between the bridge and remote bots, in both directions.

use async_trait::async_trait;
use reqwest::header::{AUTHORIZATION, HeaderMap, HeaderValue};
use url::Url;

use crate::{
    auth::{self, Tokens, Verifier, bearer},
    bot::BotError,
    clock,
};

/// Authenticates the bridge's calls to a bot.
#[async_trait]
pub trait Credential: Send + Sync + 'static {
    /// Returns the `Authorization` header of a call, marked as sensitive, or `None` for bots that expect no header.
    /// Bots without authentication may still reject unknown tokens.
    ///
    /// # Errors
    /// Returns an error if no credential is available. It is logged, and the task fails without naming the reason.
    async fn authorization(&self, call: &BotCall<'_>) -> Result<Option<HeaderValue>, BotError>;
}

/// A call from the bridge to a bot.
#[derive(Clone, Copy, Debug)]
pub struct BotCall<'a> {
    /// The bot's endpoint for activities.
    pub bot: &'a Url,
    /// The service URL for the bot's answers, for the claim `serviceurl`. It is a secret.
    pub service_url: &'a str,
}

/// Authenticates calls of bots to the bridge. The unguessable service URL of a call is checked before.
#[async_trait]
pub trait Admission: Send + Sync + 'static {
    /// Checks a call.
    ///
    /// # Errors
    /// Returns an [`AdmissionError`] if the call is refused.
    async fn admit(&self, call: &ConnectorCall<'_>) -> Result<(), AdmissionError>;
}

/// A call from a bot to the bridge.
#[derive(Clone, Copy, Debug)]
pub struct ConnectorCall<'a> {
    /// The agent of the conversation.
    pub agent: &'a str,
    /// The service URL that the bot was given. It is a secret.
    pub service_url: &'a str,
    /// The `Authorization` header as received.
    pub authorization: Option<&'a HeaderValue>,
}

/// The reason why a bot's call is refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AdmissionError {
    /// The call has no valid credential: HTTP 401.
    #[error("expected a bearer token that identifies the caller: {0}")]
    Unauthenticated(String),
    /// The caller is known, but is not the bot of this conversation: HTTP 403.
    #[error("expected the bot of this conversation: {0}")]
    Forbidden(String),
    /// The credential cannot be checked at present, through no fault of the caller: HTTP 503. A retry may succeed.
    #[error("the caller cannot be identified at present, try again: {0}")]
    Unavailable(String),
}

/// Sends no header and admits every call.
#[derive(Clone, Copy, Debug, Default)]
pub struct Anonymous;

#[async_trait]
impl Credential for Anonymous {
    async fn authorization(&self, _: &BotCall<'_>) -> Result<Option<HeaderValue>, BotError> {
        Ok(None)
    }
}

#[async_trait]
impl Admission for Anonymous {
    async fn admit(&self, _: &ConnectorCall<'_>) -> Result<(), AdmissionError> {
        Ok(())
    }
}

#[async_trait]
impl Credential for Tokens {
    async fn authorization(&self, call: &BotCall<'_>) -> Result<Option<HeaderValue>, BotError> {
        let token = self.token(call.service_url, clock::now()).await?;
        let mut header = HeaderValue::from_str(&format!("Bearer {}", token.expose()))?;
        header.set_sensitive(true);
        Ok(Some(header))
    }
}

#[async_trait]
impl Admission for Verifier {
    async fn admit(&self, call: &ConnectorCall<'_>) -> Result<(), AdmissionError> {
        let given = call.authorization.into_iter();
        let headers: HeaderMap = given.map(|value| (AUTHORIZATION, value.clone())).collect();
        let token = bearer(&headers).map_err(admission_error)?;
        self.verify(token, clock::now()).await.map(drop).map_err(admission_error)
    }
}

/// Converts a refusal. A known caller that is not the expected one need not retry with another token.
fn admission_error(refusal: auth::Refusal) -> AdmissionError {
    let text = refusal.to_string();
    match refusal {
        auth::Refusal::Audience(_) | auth::Refusal::Claim(_) => AdmissionError::Forbidden(text),
        auth::Refusal::Missing
        | auth::Refusal::Malformed
        | auth::Refusal::Algorithm { .. }
        | auth::Refusal::Issuer(_)
        | auth::Refusal::UnknownKey(_)
        | auth::Refusal::Signature
        | auth::Refusal::NoExpiry
        | auth::Refusal::Expired(_)
        | auth::Refusal::NotYet(_) => AdmissionError::Unauthenticated(text),
        auth::Refusal::Keys(error) => {
            tracing::warn!(%error, "a bot's token cannot be checked");
            AdmissionError::Unavailable("the issuer's keys cannot be read".to_owned())
        }
    }
}
