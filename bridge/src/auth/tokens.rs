//! Tokens for what the bridge calls.

use std::{
    path::PathBuf,
    sync::{Arc, PoisonError, RwLock},
    time::Duration,
};

use jiff::Timestamp;
use tokio::sync::{Mutex, MutexGuard};

pub use super::grant::{Assertion, Grant};
use super::{
    FetchError, Issuer, KeyError, Secret, Subject, fetch::Fetcher, grant::Token, keyring::age,
};

/// A token that ends this soon is not sent any more: it has to arrive yet.
const TRAVEL: Duration = Duration::from_secs(5);

/// How long before its end a token is asked for again at the earliest, if a fifth of its time is longer.
const EARLY: Duration = Duration::from_secs(300);

/// How long an endpoint that failed is left alone.
const PAUSE: Duration = Duration::from_secs(2);

/// Proves to one agent or bot who calls.
#[derive(Debug)]
pub struct Tokens(Kind);

#[derive(Debug)]
enum Kind {
    Own { issuer: Arc<Issuer>, app: String },
    Granted(Box<Granted>),
}

/// Why there is no token.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TokenError {
    /// The bridge's own issuer failed.
    #[error("the bridge's own issuer gave no token: {0}")]
    Own(#[from] KeyError),
    /// The token endpoint gave none.
    #[error("no token: {0}")]
    Endpoint(#[from] FetchError),
    /// There is nothing to show to the token endpoint.
    #[error("no token: the assertion in {path}: {reason}")]
    Assertion {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
}

impl Tokens {
    /// Tokens of the bridge's own issuer, for the bot with this app id.
    pub fn own(issuer: Arc<Issuer>, app: impl Into<String>) -> Self {
        let app = app.into();
        Self(Kind::Own { issuer, app })
    }

    /// Tokens of a token endpoint. Plain http beyond loopback is only used if `plain_http` says so.
    ///
    /// # Errors
    /// If this machine cannot make a connection at all.
    pub fn granted(grant: Grant, plain_http: bool) -> Result<Self, TokenError> {
        Ok(Self(Kind::Granted(Box::new(Granted {
            grant,
            fetcher: Fetcher::new(plain_http)?,
            token: RwLock::default(),
            flight: Mutex::default(),
        }))))
    }

    /// A token to send to a bot that is told to answer at `service_url`. One endpoint is asked once for all
    /// who wait, and again some time before the token ends.
    ///
    /// # Errors
    /// If there is no token that is valid still. Errors name the endpoint, and no secret.
    pub async fn token(&self, service_url: &str, now: Timestamp) -> Result<Secret, TokenError> {
        match &self.0 {
            Kind::Own { issuer, app } => {
                let subject = Subject {
                    audience: app.clone(),
                    subject: None,
                    service_url: Some(service_url.to_owned()),
                };
                Ok(issuer.token(&subject, now).await?)
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
    /// Held by the one who asks; holds how the endpoint failed last.
    flight: Mutex<Option<(Timestamp, TokenError)>>,
}

impl Granted {
    async fn token(&self, now: Timestamp) -> Result<Secret, TokenError> {
        match self.known(now) {
            Some(token) if is_fresh(&token, now) => Ok(token.secret),
            // It is good still: one of those who come asks for the next, the others need not wait.
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

    /// The token there is, if it can be sent still.
    fn known(&self, now: Timestamp) -> Option<Token> {
        let token = self.token.read().unwrap_or_else(PoisonError::into_inner);
        let sendable = |token: &&Token| age(now, token.expires) > TRAVEL;
        token.as_ref().filter(sendable).cloned()
    }
}

/// Whether it is too early to ask for the next token.
fn is_fresh(token: &Token, now: Timestamp) -> bool {
    let lifetime = age(token.got, token.expires);
    age(now, token.expires) > EARLY.min(lifetime / 5)
}

#[cfg(test)]
mod tests;
