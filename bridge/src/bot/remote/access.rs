//! Who may speak with whom: what goes with calls to a bot, and what must come with calls of one.

use async_trait::async_trait;
use reqwest::header::HeaderValue;
use url::Url;

use crate::bot::BotError;

/// What the bridge shows a bot to be let in.
#[async_trait]
pub trait Credential: Send + Sync + 'static {
    /// The `Authorization` header of a call, sensitive; none for bots that want no header at all. Bots that
    /// let everybody in may still refuse a token that they do not know.
    ///
    /// # Errors
    /// If there is none to be had. It is logged, and the task fails without the reason.
    async fn authorization(&self, call: &BotCall<'_>) -> Result<Option<HeaderValue>, BotError>;
}

/// A call of the bridge to a bot.
#[derive(Clone, Copy, Debug)]
pub struct BotCall<'a> {
    /// Where the bot takes activities.
    pub bot: &'a Url,
    /// Where it shall answer, for the claim `serviceurl`. A secret.
    pub service_url: &'a str,
}

/// Decides which calls of bots are let in. That a call knows its unguessable service URL is checked
/// before.
#[async_trait]
pub trait Admission: Send + Sync + 'static {
    /// Says yes or no to a call.
    ///
    /// # Errors
    /// [`AdmissionError`]
    async fn admit(&self, call: &ConnectorCall<'_>) -> Result<(), AdmissionError>;
}

/// A call of a bot to the bridge.
#[derive(Clone, Copy, Debug)]
pub struct ConnectorCall<'a> {
    /// The agent whose conversation it is about.
    pub agent: &'a str,
    /// The service URL that the bot was given. A secret.
    pub service_url: &'a str,
    /// The `Authorization` header, as it came.
    pub authorization: Option<&'a HeaderValue>,
}

/// Why a bot's call is not let in.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AdmissionError {
    /// It does not say who calls, or cannot prove it: HTTP 401.
    #[error("expected a bearer token that proves who calls: {0}")]
    Unauthenticated(String),
    /// It is known who calls, and that is not the conversation's bot: HTTP 403.
    #[error("expected the bot of this conversation: {0}")]
    Forbidden(String),
    /// Nobody can tell at the moment, and that is not the caller's fault: HTTP 503. The same call may be let
    /// in later.
    #[error("cannot check who calls now, try again: {0}")]
    Unavailable(String),
}

/// Sends no header at all, and lets everybody in.
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
