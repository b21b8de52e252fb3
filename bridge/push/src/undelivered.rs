//! Lists the settings whose delivery was given up, and retries them.

use std::sync::Arc;

use jiff::Timestamp;

use super::{
    Push, Seal, progress::DeliveryProgress, setting::SettingKey,
    setting_repository::SettingRepository,
};
use crate::{
    caller::Caller,
    store::{Result, Seq, Store, StoreError},
};

/// A setting whose delivery was given up at some event. That event and all later ones are kept until the operator
/// retries the delivery or the owner makes the setting again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Undelivered {
    /// The owner of the task.
    pub caller: Caller,
    /// The agent that works on it.
    pub agent: String,
    /// The task's id.
    pub task: String,
    /// The setting's id.
    pub id: String,
    /// The webhook's host, as `HOST:PORT`.
    pub host: String,
    /// The number of the event that could not be delivered.
    pub seq: Seq,
    /// The number of attempts.
    pub attempts: u32,
    /// The time of the first attempt.
    pub since: Timestamp,
    /// The reason why the last attempt failed.
    pub reason: String,
}

impl Undelivered {
    /// Returns all undelivered settings in a store, of all callers, sorted by task.
    ///
    /// # Errors
    /// If the store cannot be read.
    pub async fn all(store: &Arc<dyn Store>) -> Result<Vec<Self>> {
        let repository = unsealed(store);
        let mut all = Vec::new();
        for (key, progress) in repository.all_progress().await? {
            let given_up = progress.failing.filter(|failing| failing.is_given_up);
            let Some(failing) = given_up else {
                continue;
            };
            let host = match repository.stored(&key).await {
                Ok(Some(stored)) => stored.host(),
                Ok(None) => continue,
                // The failure says that the setting cannot be read.
                Err(StoreError::Corrupt { .. }) => String::new(),
                Err(error) => return Err(error),
            };
            all.push(Self {
                caller: key.caller,
                agent: progress.agent.to_string(),
                task: key.task,
                id: key.id,
                host,
                seq: failing.seq,
                attempts: failing.attempts,
                since: failing.since,
                reason: failing.reason,
            });
        }
        Ok(all)
    }

    /// Schedules a retry for the next start of the bridge; returns whether the setting was still given up. Use it for a
    /// store that no bridge has open, and [`Push::retry`] otherwise.
    ///
    /// # Errors
    /// If the store fails.
    pub async fn retry_later(&self, store: &Arc<dyn Store>) -> Result<bool> {
        let repository = unsealed(store);
        let key = self.key();
        let Some(progress) = given_up(&repository, &key).await? else {
            return Ok(false);
        };
        repository.put_progress(&key, &progress.without_failure()).await?;
        Ok(true)
    }

    fn key(&self) -> SettingKey {
        SettingKey::new(&self.caller, &self.task, &self.id)
    }
}

impl Push {
    /// Returns all settings whose delivery was given up, of all callers, sorted by task.
    ///
    /// # Errors
    /// If the store cannot be read.
    pub async fn undelivered(&self) -> Result<Vec<Undelivered>> {
        Undelivered::all(self.0.repository.store()).await
    }

    /// Retries a delivery at once; returns whether the setting was still given up.
    ///
    /// # Errors
    /// If the store fails.
    pub async fn retry(&self, one: &Undelivered) -> Result<bool> {
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

/// Opens the repository without keys: hosts and progress are never encrypted.
fn unsealed(store: &Arc<dyn Store>) -> SettingRepository {
    SettingRepository::new(store.clone(), Seal::default())
}

async fn given_up(
    repository: &SettingRepository,
    key: &SettingKey,
) -> Result<Option<DeliveryProgress>> {
    let progress = repository.progress(key).await?;
    Ok(progress.filter(DeliveryProgress::is_given_up))
}
