//! Tokens for requests that the bridge sends.

pub use super::grant::{Assertion, Grant};

use std::{
    path::PathBuf,
    sync::{Arc, PoisonError, RwLock},
    time::Duration,
};

use jiff::Timestamp;
use tokio::sync::{Mutex, MutexGuard};

use super::{
    FetchError, Issuer, KeyError, Secret, Subject, fetch::Fetcher, grant::Token, keyring::age,
};

/// The remaining lifetime below which a token is not sent, because it would expire on the way.
const TRAVEL: Duration = Duration::from_secs(5);

/// The time before its expiry at which a token is renewed, or a fifth of its lifetime if that is less.
const EARLY: Duration = Duration::from_secs(300);

/// The pause after a failed request to an endpoint.
const PAUSE: Duration = Duration::from_secs(2);

/// The source of tokens for one agent or bot.
#[derive(Debug)]
pub struct Tokens(Kind);

#[derive(Debug)]
enum Kind {
    Own { issuer: Arc<Issuer>, app: String },
    Granted(Box<Granted>),
}

impl Tokens {
    /// Uses tokens of the bridge's own issuer, for the bot with this app id.
    pub fn own(issuer: Arc<Issuer>, app: impl Into<String>) -> Self {
        let app = app.into();
        Self(Kind::Own { issuer, app })
    }

    /// Uses tokens of a token endpoint. Plain http beyond loopback is only used if `plain_http` is set.
    ///
    /// # Errors
    /// Returns an error if no HTTP client can be created.
    pub fn granted(grant: Grant, plain_http: bool) -> Result<Self, TokenError> {
        Ok(Self(Kind::Granted(Box::new(Granted {
            grant,
            fetcher: Fetcher::new(plain_http).map_err(TokenError::Endpoint)?,
            token: RwLock::default(),
            flight: Mutex::default(),
        }))))
    }

    /// Returns a token for a bot whose answers go to `service_url`. Concurrent callers share one request to the
    /// endpoint, and a token is renewed some time before it expires.
    ///
    /// # Errors
    /// Returns an error if there is no valid token. Errors name the endpoint, and no secret.
    pub async fn token(&self, service_url: &str, now: Timestamp) -> Result<Secret, TokenError> {
        match &self.0 {
            Kind::Own { issuer, app } => {
                let subject = Subject {
                    audience: app.clone(),
                    subject: None,
                    service_url: Some(service_url.to_owned()),
                };
                issuer.token(&subject, now).await.map_err(TokenError::Own)
            }
            Kind::Granted(granted) => granted.token(now).await,
        }
    }
}

#[derive(Debug)]
struct Granted {
    grant: Grant,
    fetcher: Fetcher,
    token: RwLock<Option<Token>>,
    /// Held by the task that requests a token; contains the last failure.
    flight: Mutex<Option<(Timestamp, TokenError)>>,
}

impl Granted {
    async fn token(&self, now: Timestamp) -> Result<Secret, TokenError> {
        match self.known(now) {
            Some(token) if is_fresh(&token, now) => Ok(token.secret),
            // The token is still valid: one caller renews it, the others use it without waiting.
            Some(token) => match self.flight.try_lock() {
                Ok(flight) => Ok(self.ask(flight, now).await.unwrap_or(token.secret)),
                Err(_) => Ok(token.secret),
            },
            None => {
                let flight = self.flight.lock().await;
                match self.known(now) {
                    Some(token) => Ok(token.secret),
                    None => self.ask(flight, now).await,
                }
            }
        }
    }

    async fn ask(
        &self,
        mut flight: MutexGuard<'_, Option<(Timestamp, TokenError)>>,
        now: Timestamp,
    ) -> Result<Secret, TokenError> {
        if let Some((at, error)) = &*flight
            && *at <= now
            && age(*at, now) < PAUSE
        {
            return Err(error.clone());
        }
        let asked = self.grant.ask(&self.fetcher, now).await;
        match asked {
            Ok(token) => {
                *flight = None;
                let secret = token.secret.clone();
                *self.token.write().unwrap_or_else(PoisonError::into_inner) = Some(token);
                Ok(secret)
            }
            Err(error) => {
                tracing::warn!(%error, "a token endpoint failed");
                *flight = Some((now, error.clone()));
                Err(error)
            }
        }
    }

    /// Returns the cached token, if it is still valid long enough.
    fn known(&self, now: Timestamp) -> Option<Token> {
        let token = self.token.read().unwrap_or_else(PoisonError::into_inner);
        // The end of a token is not known if the clock was set back since.
        let sendable = |token: &&Token| token.got <= now && age(now, token.expires) > TRAVEL;
        token.as_ref().filter(sendable).cloned()
    }
}

/// Returns whether it is too early to renew the token.
fn is_fresh(token: &Token, now: Timestamp) -> bool {
    let lifetime = age(token.got, token.expires);
    age(now, token.expires) > EARLY.min(lifetime / 5)
}

#[cfg(test)]
mod tests;

/// The reason why there is no token.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[expect(missing_docs, reason = "the messages say what the fields are")]
pub enum TokenError {
    /// The bridge's own issuer failed.
    #[error("the bridge's own issuer issued no token: {0}")]
    Own(KeyError),
    /// The token endpoint returned none.
    #[error("no token: {0}")]
    Endpoint(FetchError),
    /// The assertion for the token endpoint cannot be read.
    #[error("no token: the assertion in {path}: {reason}")]
    Assertion { path: PathBuf, reason: String },
}
