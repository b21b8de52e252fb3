//! Environments that are being worked in.
//!
//! An [episode](Episode) is an environment with a bearer token, limits and, once it has ended, an
//! [`Outcome`]. [`Episodes`] keeps them: whoever evaluates opens one, hands the token on, waits until it
//! has [`finished`](Episodes::finished), and closes it.
//!
//! A token is kept by its SHA-256 only. What it stands for does not depend on connections or sessions of
//! the protocol that carries the calls.

mod episode;
mod error;
mod outcome;
mod token;

pub use episode::{Episode, Limits};
pub use error::{OpenError, TokenError};
pub use outcome::{Ended, Outcome, TracedCall};

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use jiff::{SignedDuration, Timestamp};
use url::Url;
use uuid::Uuid;

use crate::{
    connection::{ConnectionDetails, DEFAULT_NAME},
    environments::{Environment, TaskInfo},
    secret::Secret,
};
use token::TokenHash;

/// The tool that ends an episode; it takes an `answer`, for tasks that ask for one.
pub const SUBMIT: &str = "submit";

/// The episodes of one evaluator. Clones share them.
#[derive(Clone, Debug)]
pub struct Episodes(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    most: usize,
    open: Mutex<Open>,
}

/// By id, and whose token is whose.
#[derive(Debug, Default)]
struct Open {
    episodes: BTreeMap<String, Arc<Episode>>,
    tokens: BTreeMap<TokenHash, String>,
}

/// A new episode: what its agent has to be told.
#[derive(Clone, Debug)]
pub struct Opened {
    /// Names it towards [`Episodes`]; it is no secret.
    pub id: String,
    /// Lets its bearer work in it.
    pub token: Secret,
    /// When its time is over, and the token with it.
    pub expires_at: Timestamp,
    /// What is to be done.
    pub task: TaskInfo,
}

impl Opened {
    /// How its agent reaches it: `url` is where the episodes are served.
    pub fn details(&self, url: Url) -> ConnectionDetails {
        let details = ConnectionDetails::http(DEFAULT_NAME, url).with_bearer(&self.token);
        ConnectionDetails {
            episode_id: Some(self.id.clone()),
            expires_at: Some(self.expires_at),
            ..details
        }
    }
}

impl Episodes {
    /// Keeps up to `most` episodes; those that have ended count until they are closed.
    pub fn new(most: usize) -> Self {
        let open = Mutex::default();
        Self(Arc::new(Shared { most, open }))
    }

    /// Begins an episode, at `now` by the wall clock. Its time runs from this call.
    pub fn open(
        &self,
        environment: Box<dyn Environment>,
        limits: Limits,
        now: Timestamp,
    ) -> Result<Opened, OpenError> {
        let task = environment.task();
        let id = new_id();
        let limits = limits.checked()?;
        let episode = Arc::new(Episode::new(id.clone(), environment, limits, now)?);
        let (token, hash) = token::draw();
        self.keep(&episode, hash)?;
        let time = SignedDuration::try_from(limits.time).unwrap_or(SignedDuration::MAX);
        Ok(Opened {
            id,
            token,
            expires_at: now.saturating_add(time).unwrap_or(Timestamp::MAX),
            task,
        })
    }

    fn keep(&self, episode: &Arc<Episode>, hash: TokenHash) -> Result<(), OpenError> {
        let mut open = self.lock();
        if open.episodes.len() >= self.0.most {
            return Err(OpenError::Full { most: self.0.most });
        }
        let id = episode.id().to_owned();
        open.tokens.insert(hash, id.clone());
        open.episodes.insert(id, Arc::clone(episode));
        Ok(())
    }

    /// The episode that a token lets its bearer work in. An episode that has ended is still found until
    /// its time is over: calls to it say that it has ended.
    pub fn admit(&self, token: &str) -> Result<Arc<Episode>, TokenError> {
        let hash = TokenHash::of(token);
        let episode = {
            let open = self.lock();
            let id = open.tokens.get(&hash).ok_or(TokenError::Unknown)?;
            open.episodes.get(id).cloned().ok_or(TokenError::Unknown)?
        };
        if episode.is_expired() {
            return Err(TokenError::Expired);
        }
        Ok(episode)
    }

    /// The episode of this id, until it is closed.
    pub fn get(&self, id: &str) -> Option<Arc<Episode>> {
        self.lock().episodes.get(id).cloned()
    }

    /// What became of an episode; `None` while it goes on, and if there is none of this id. One whose
    /// time is over is ended by being asked for.
    pub async fn outcome(&self, id: &str) -> Option<Outcome> {
        self.get(id)?.outcome().await
    }

    /// Waits until an episode has ended, which it does at the end of its time at the latest. `None` if
    /// there is none of this id.
    pub async fn finished(&self, id: &str) -> Option<Outcome> {
        Some(self.get(id)?.finished().await)
    }

    /// Ends an episode if it has not ended, and forgets it: its token is refused from now on. `None` if
    /// there is none of this id.
    pub async fn close(&self, id: &str) -> Option<Outcome> {
        let episode = {
            let mut open = self.lock();
            open.tokens.retain(|_, owner| owner != id);
            open.episodes.remove(id)?
        };
        Some(episode.close().await)
    }

    /// Nothing that is done under the lock can leave it half done.
    fn lock(&self) -> MutexGuard<'_, Open> {
        self.0.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[expect(
    clippy::disallowed_methods,
    reason = "an episode is begun by the world outside, which has no name for it"
)]
fn new_id() -> String {
    Uuid::new_v4().to_string()
}

#[cfg(test)]
mod tests;
