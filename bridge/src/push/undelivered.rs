//! Settings whose delivery was given up: looked at, and tried anew.

use std::sync::Arc;

use jiff::Timestamp;

use super::{
    Push, Seal,
    book::{Book, Key},
    progress::{Failing, Progress},
};
use crate::{
    caller::Caller,
    store::{Seq, Store, StoreError},
};

/// A setting whose delivery was given up at some event. That event and all after it wait until somebody has
/// it tried anew: who runs the bridge, or the owner by setting it again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Undelivered {
    /// To whom the task belongs.
    pub caller: Caller,
    /// The agent that works on it.
    pub agent: String,
    /// The task.
    pub task: String,
    /// The setting.
    pub id: String,
    /// Where it delivers to, as `HOST:PORT`.
    pub host: String,
    /// The event that was not taken.
    pub seq: Seq,
    /// How often it was tried.
    pub attempts: u32,
    /// When it was tried first.
    pub since: Timestamp,
    /// What came of the last time.
    pub reason: String,
}

impl Undelivered {
    /// All of a store, of all callers, by task.
    ///
    /// # Errors
    /// If the store cannot be read.
    pub async fn all(store: &Arc<dyn Store>) -> Result<Vec<Self>, StoreError> {
        let book = unsealed(store);
        let mut all = Vec::new();
        for (key, progress) in book.all_progress().await? {
            let given_up = progress.failing.filter(|failing| failing.is_given_up);
            if let (Some(failing), Some(kept)) = (given_up, book.kept(&key).await?) {
                all.push(Self::of(key, progress.agent, kept.host(), failing));
            }
        }
        Ok(all)
    }

    /// Has it tried anew when the bridge is started again; says whether there was still such a one. For a store
    /// that nobody serves; else see [`Push::retry`].
    ///
    /// # Errors
    /// If the store fails.
    pub async fn retry_later(&self, store: &Arc<dyn Store>) -> Result<bool, StoreError> {
        let book = unsealed(store);
        let key = self.key();
        let Some(progress) = given_up(&book, &key).await? else {
            return Ok(false);
        };
        book.put_progress(&key, &progress.anew()).await?;
        Ok(true)
    }

    fn of(key: Key, agent: String, host: String, failing: Failing) -> Self {
        Self {
            caller: key.caller,
            agent,
            task: key.task,
            id: key.id,
            host,
            seq: failing.seq,
            attempts: failing.attempts,
            since: failing.since,
            reason: failing.reason,
        }
    }

    fn key(&self) -> Key {
        Key::new(&self.caller, &self.task, &self.id)
    }
}

impl Push {
    /// All settings whose delivery was given up, of all callers, by task.
    ///
    /// # Errors
    /// If the store cannot be read.
    pub async fn undelivered(&self) -> Result<Vec<Undelivered>, StoreError> {
        Undelivered::all(self.0.book.store()).await
    }

    /// Has one tried anew at once; says whether there was still such a one.
    ///
    /// # Errors
    /// If the store fails.
    pub async fn retry(&self, one: &Undelivered) -> Result<bool, StoreError> {
        let _alone = self.changing(&one.task).lock().await;
        let (book, key) = (&self.0.book, one.key());
        let Some(progress) = given_up(book, &key).await? else {
            return Ok(false);
        };
        if book.setting(&key).await?.is_none() {
            return Ok(false);
        }
        let progress = progress.anew();
        book.put_progress(&key, &progress).await?;
        self.0.metrics.push_given_up(&progress.agent, -1);
        self.0.metrics.push_open(&progress.agent, 1);
        self.0.lanes.start(key);
        Ok(true)
    }
}

/// The book for those who have no key: hosts and progress are never sealed.
fn unsealed(store: &Arc<dyn Store>) -> Book {
    Book::new(store.clone(), Seal::default())
}

async fn given_up(book: &Book, key: &Key) -> Result<Option<Progress>, StoreError> {
    let progress = book.progress(key).await?;
    Ok(progress.filter(Progress::is_given_up))
}
