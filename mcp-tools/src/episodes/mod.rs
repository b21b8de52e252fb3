//! Running environments, each with a token and limits.
//!
//! An [episode](Episode) is an environment with a bearer token, limits and, once it has ended, an [`Outcome`]. An
//! evaluator opens an episode in [`Episodes`], gives the token to the agent, waits until the episode has
//! [`finished`](Episodes::finished), and closes it.
//!
//! Only the SHA-256 of a token is stored. A token's episode does not depend on connections or protocol sessions.

mod episode;
mod outcome;

pub(crate) use episode::catch_panic;
pub use episode::{Episode, Limits, MAX_TIME};
pub use outcome::{EndReason, Outcome, TracedCall};

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, atomic::Ordering},
    time::Duration,
};

use bridge_program::{clock, lock};
use jiff::{SignedDuration, Timestamp};
use sha2::{Digest as _, Sha256};
use thiserror::Error;
use url::Url;

use crate::{
    connection::{ConnectionDetails, DEFAULT_NAME},
    environments::{Environment, TaskInfo},
    secret::Secret,
};

/// The name of the tool that ends an episode; it takes an `answer`, for tasks that ask for one.
pub const SUBMIT: &str = "submit";

/// The SHA-256 of a token.
pub(crate) type TokenHash = [u8; 32];

/// The episodes of one evaluator. Clones share them.
#[derive(Clone, Debug)]
pub struct Episodes(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    most: usize,
    open: Mutex<Open>,
}

/// The open episodes by id, and the id for each token's hash.
#[derive(Debug, Default)]
struct Open {
    episodes: BTreeMap<String, Arc<Episode>>,
    tokens: BTreeMap<TokenHash, String>,
}

/// A new episode, with the data that its agent needs.
#[derive(Clone, Debug)]
pub struct Opened {
    /// The id under which [`Episodes`] has the episode; it is not secret.
    pub id: String,
    /// The bearer token that gives access to the episode.
    pub token: Secret,
    /// The time at which the episode and its token expire.
    pub expires_at: Timestamp,
    /// The task description.
    pub task: TaskInfo,
}

impl Opened {
    /// Returns the connection details for the agent; `url` is the address at which the episodes are served.
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
    /// Creates an empty collection of at most `most` episodes. Ended episodes count until they are closed.
    pub fn new(most: usize) -> Self {
        let open = Mutex::default();
        Self(Arc::new(Shared { most, open }))
    }

    /// Opens an episode at `now` by the wall clock. Its time limit runs from this call.
    ///
    /// # Errors
    /// [`OpenError`]; then nothing is open.
    pub fn open(
        &self,
        environment: Box<dyn Environment>,
        limits: Limits,
        now: Timestamp,
    ) -> Result<Opened, OpenError> {
        let task = environment.task();
        let id = clock::new_id();
        if limits.time > MAX_TIME {
            return Err(OpenError::TooLong { wanted: limits.time, longest: MAX_TIME });
        }
        let episode = Arc::new(Episode::new(id.clone(), environment, limits, now)?);
        let token = Secret::new(clock::new_secret());
        self.keep(&episode, token_hash(token.expose()))?;
        let time = SignedDuration::try_from(limits.time).unwrap_or(SignedDuration::MAX);
        Ok(Opened {
            id,
            token,
            expires_at: now.saturating_add(time).unwrap_or(Timestamp::MAX),
            task,
        })
    }

    fn keep(&self, episode: &Arc<Episode>, hash: TokenHash) -> Result<(), OpenError> {
        let mut open = lock(&self.0.open);
        if open.episodes.len() >= self.0.most {
            return Err(OpenError::Full(self.0.most));
        }
        let id = episode.id().to_owned();
        open.tokens.insert(hash, id.clone());
        open.episodes.insert(id, Arc::clone(episode));
        Ok(())
    }

    /// Returns the episode that a token gives access to. An episode that has ended is returned until its time is
    /// over: calls of its tools then report that it has ended.
    ///
    /// # Errors
    /// [`TokenError`]
    pub fn admit(&self, token: &str) -> Result<Arc<Episode>, TokenError> {
        let hash = token_hash(token);
        let episode = {
            let open = lock(&self.0.open);
            let id = open.tokens.get(&hash).ok_or(TokenError::Unknown)?;
            open.episodes.get(id).cloned().ok_or(TokenError::Unknown)?
        };
        if episode.is_expired() {
            return Err(TokenError::Expired);
        }
        episode.reached.store(true, Ordering::Relaxed);
        Ok(episode)
    }

    /// Returns the episode of this id, until it is closed.
    pub fn get(&self, id: &str) -> Option<Arc<Episode>> {
        lock(&self.0.open).episodes.get(id).cloned()
    }

    /// Returns the outcome of an episode; `None` while the episode is running, and if there is none of this id. An
    /// episode whose time is over ends by this call at the latest.
    pub async fn outcome(&self, id: &str) -> Option<Outcome> {
        self.get(id)?.outcome().await
    }

    /// Waits until an episode has ended, at the latest by its time limit. Returns `None` if there is none of this
    /// id.
    pub async fn finished(&self, id: &str) -> Option<Outcome> {
        Some(self.get(id)?.finished().await)
    }

    /// Ends an episode if it has not ended, and removes it: its token is rejected from now on. Returns `None` if
    /// there is none of this id.
    pub async fn close(&self, id: &str) -> Option<Outcome> {
        let episode = {
            let mut open = lock(&self.0.open);
            open.tokens.retain(|_, owner| owner != id);
            open.episodes.remove(id)?
        };
        Some(episode.close().await)
    }
}

/// Returns the SHA-256 of a token. A lookup compares hashes, so its timing reveals nothing about the tokens.
pub(crate) fn token_hash(token: &str) -> TokenHash {
    Sha256::digest(token).into()
}

/// The reason why an episode cannot be opened.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[expect(missing_docs, reason = "the messages say what the fields are")]
pub enum OpenError {
    /// The largest number of episodes is open.
    #[error("{0} episodes are open, which is the limit; close one that has ended")]
    Full(usize),
    /// A tool of the environment is named like the episode's own tool.
    #[error("the environment has a tool named submit, which is the episode's own; rename it")]
    ReservedTool,
    /// Two tools of the environment have the same name.
    #[error("the environment has two tools named {0:?}; rename one")]
    SameTool(String),
    /// A time limit is longer than a day.
    #[error("an episode may take at most {longest:?}, not {wanted:?}")]
    TooLong { wanted: Duration, longest: Duration },
}

/// The reason why a token is rejected.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum TokenError {
    /// The token belongs to no episode, or to one that was closed.
    #[error("the token is not one of an open episode")]
    Unknown,
    /// The time of the token's episode is over.
    #[error("the token has expired")]
    Expired,
}

#[cfg(test)]
mod tests;
