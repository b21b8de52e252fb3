//! Settings whose delivery was given up: looked at, and tried anew.

use std::sync::Arc;

use jiff::Timestamp;

use super::{
    Push, Seal,
    progress::{DeliveryProgress, FailedDelivery},
    setting_repository::{SettingKey, SettingRepository},
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
        let repository = unsealed(store);
        let mut all = Vec::new();
        for (key, progress) in repository.all_progress().await? {
            let given_up = progress.failing.filter(|failing| failing.is_given_up);
            if let (Some(failing), Some(stored)) = (given_up, repository.stored(&key).await?) {
                all.push(Self::of(key, progress.agent, stored.host(), failing));
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
        let repository = unsealed(store);
        let key = self.key();
        let Some(progress) = given_up(&repository, &key).await? else {
            return Ok(false);
        };
        repository
            .put_progress(&key, &progress.without_failure())
            .await?;
        Ok(true)
    }

    fn of(key: SettingKey, agent: String, host: String, failing: FailedDelivery) -> Self {
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

    fn key(&self) -> SettingKey {
        SettingKey::new(&self.caller, &self.task, &self.id)
    }
}

impl Push {
    /// All settings whose delivery was given up, of all callers, by task.
    ///
    /// # Errors
    /// If the store cannot be read.
    pub async fn undelivered(&self) -> Result<Vec<Undelivered>, StoreError> {
        Undelivered::all(self.0.repository.store()).await
    }

    /// Has one tried anew at once; says whether there was still such a one.
    ///
    /// # Errors
    /// If the store fails.
    pub async fn retry(&self, one: &Undelivered) -> Result<bool, StoreError> {
        let _alone = self.changing(&one.task).lock().await;
        let (repository, key) = (&self.0.repository, one.key());
        let Some(progress) = given_up(repository, &key).await? else {
            return Ok(false);
        };
        if repository.setting(&key).await?.is_none() {
            return Ok(false);
        }
        let progress = progress.without_failure();
        repository.put_progress(&key, &progress).await?;
        self.0.metrics.push_given_up(&progress.agent, -1);
        self.0.metrics.push_open(&progress.agent, 1);
        self.0.workers.start(key);
        Ok(true)
    }
}

/// The book for those who have no key: hosts and progress are never sealed.
fn unsealed(store: &Arc<dyn Store>) -> SettingRepository {
    SettingRepository::new(store.clone(), Seal::default())
}

async fn given_up(
    repository: &SettingRepository,
    key: &SettingKey,
) -> Result<Option<DeliveryProgress>, StoreError> {
    let progress = repository.progress(key).await?;
    Ok(progress.filter(DeliveryProgress::is_given_up))
}
