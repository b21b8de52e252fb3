//! Keeps push settings and the progress of their deliveries as records in the store. Settings are encrypted if there
//! is a key.
//!
//! A setting belongs to its owner, so the store itself refuses it to other callers. Progress belongs to the bridge: it
//! is stored under one key prefix for all owners, where a restart finds it.

use std::sync::Arc;

use super::{
    Seal,
    progress::DeliveryProgress,
    setting::{Setting, SettingKey, StoredSetting},
};
use crate::{
    caller::Caller,
    store::{RecordKey, Result, Store, decoded, encoded},
};

/// The kind of the records that hold settings; their scope is the task.
const SETTING: &str = "push";

/// The kind of the records that hold progress.
const PROGRESS: &str = "push-progress";

/// Reads and writes the stored settings and their progress.
#[derive(Clone, Debug)]
pub(super) struct SettingRepository {
    store: Arc<dyn Store>,
    seal: Seal,
}

impl SettingKey {
    fn setting(&self) -> RecordKey {
        RecordKey::new(SETTING, &self.task, &self.id)
    }

    /// Task ids contain no slash, so the first slash ends the task's id.
    fn progress(&self) -> RecordKey {
        RecordKey::new(PROGRESS, "", format!("{}/{}", self.task, self.id))
    }
}

impl SettingRepository {
    pub(super) fn new(store: Arc<dyn Store>, seal: Seal) -> Self {
        Self { store, seal }
    }

    pub(super) fn store(&self) -> &Arc<dyn Store> {
        &self.store
    }

    /// Returns a setting as it is stored, without decrypting it.
    pub(super) async fn stored(&self, key: &SettingKey) -> Result<Option<StoredSetting>> {
        let name = key.setting();
        let record = self.store.record(&key.caller, &name).await?;
        record.map(|record| decoded(&name, &record)).transpose()
    }

    pub(super) async fn setting(&self, key: &SettingKey) -> Result<Option<Setting>> {
        let stored = self.stored(key).await?;
        stored.map(|stored| stored.open(key, &self.seal)).transpose()
    }

    /// Returns a setting, and stores it again if it is not encrypted with the current key.
    pub(super) async fn renewed(&self, key: &SettingKey) -> Result<Option<Setting>> {
        let Some(stored) = self.stored(key).await? else {
            return Ok(None);
        };
        let is_current = stored.is_current(&self.seal);
        let setting = stored.open(key, &self.seal)?;
        if !is_current {
            self.put_setting(key, &setting).await?;
        }
        Ok(Some(setting))
    }

    /// Returns all settings of a task, sorted by id.
    pub(super) async fn settings(
        &self,
        caller: &Caller,
        task: &str,
    ) -> Result<Vec<(String, Setting)>> {
        let records = self.store.records(caller, SETTING, task).await?;
        let read = |(id, record): (String, Vec<u8>)| {
            let key = SettingKey::new(caller, task, &id);
            let stored: StoredSetting = decoded(&key.setting(), &record)?;
            Ok((id, stored.open(&key, &self.seal)?))
        };
        records.into_iter().map(read).collect()
    }

    /// Returns the ids of a task's settings, including those that cannot be decrypted.
    pub(super) async fn ids(&self, caller: &Caller, task: &str) -> Result<Vec<String>> {
        let records = self.store.records(caller, SETTING, task).await?;
        Ok(records.into_iter().map(|(id, _)| id).collect())
    }

    pub(super) async fn have_settings(&self, tasks: &[(Caller, String)]) -> Result<Vec<bool>> {
        self.store.have_records(SETTING, tasks).await
    }

    pub(super) async fn put_setting(&self, key: &SettingKey, setting: &Setting) -> Result<()> {
        let record = encoded(&StoredSetting::of(key, setting, &self.seal)?);
        let name = key.setting();
        self.store.put_record(&key.caller, &name, record).await
    }

    pub(super) async fn progress(&self, key: &SettingKey) -> Result<Option<DeliveryProgress>> {
        let name = key.progress();
        let record = self.store.record(&bridge(), &name).await?;
        Ok(record.and_then(|record| readable_progress(&name, &record)))
    }

    /// Returns the progress of all unfinished deliveries, of all callers. Unreadable ones are left out.
    pub(super) async fn all_progress(&self) -> Result<Vec<(SettingKey, DeliveryProgress)>> {
        let records = self.store.records(&bridge(), PROGRESS, "").await?;
        let read = |(id, record): (String, Vec<u8>)| {
            let name = RecordKey::new(PROGRESS, "", id);
            let progress = readable_progress(&name, &record)?;
            let (task, id) = name.id.split_once('/').unwrap_or((&name.id, ""));
            Some((SettingKey::new(&progress.owner, task, id), progress))
        };
        Ok(records.into_iter().filter_map(read).collect())
    }

    pub(super) async fn put_progress(
        &self,
        key: &SettingKey,
        progress: &DeliveryProgress,
    ) -> Result<()> {
        let record = encoded(progress);
        self.store.put_record(&bridge(), &key.progress(), record).await
    }

    /// Removes the progress of a setting whose last event was delivered.
    pub(super) async fn done(&self, key: &SettingKey) -> Result<()> {
        let removed = self.store.delete_record(&bridge(), &key.progress()).await;
        removed.map(drop)
    }

    /// Removes a setting and its progress, in this order, so that a stored setting always has its progress.
    pub(super) async fn remove(&self, key: &SettingKey) -> Result<()> {
        self.store.delete_record(&key.caller, &key.setting()).await?;
        self.done(key).await
    }
}

/// Returns a progress that can be read. Nothing is delivered for a setting without one, until the setting is made again.
fn readable_progress(name: &RecordKey, record: &[u8]) -> Option<DeliveryProgress> {
    let read = decoded(name, record).inspect_err(|error| {
        let setting = &name.id;
        tracing::error!(setting, %error, "nothing is delivered to a webhook: make its setting again");
    });
    read.ok()
}

/// Returns the owner of records that belong to no caller. Their kinds differ from those of callers' records.
fn bridge() -> Caller {
    Caller::anonymous()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::MemoryStore;

    #[tokio::test]
    async fn progress_is_found_for_any_setting_id() {
        let repository = SettingRepository::new(Arc::new(MemoryStore::new()), Seal::default());
        let keys = [("me", "t", "a/b"), ("me", "t", "a"), ("you", "u", "a")];
        let keys = keys.map(|(caller, task, id)| SettingKey::new(&Caller::new(caller), task, id));
        for (seq, key) in (1..).zip(&keys) {
            let progress = DeliveryProgress {
                owner: key.caller.clone(),
                agent: "agent".into(),
                seq,
                failing: None,
            };
            repository.put_progress(key, &progress).await.unwrap();
            assert_eq!(repository.progress(key).await.unwrap(), Some(progress));
        }
        // An unreadable record hides no other one.
        let unreadable = SettingKey::new(&Caller::new("me"), "t", "b").progress();
        repository.store.put_record(&bridge(), &unreadable, b"{".to_vec()).await.unwrap();
        let all = repository.all_progress().await.unwrap();
        let mut found: Vec<_> = all.into_iter().map(|(key, _)| key).collect();
        found.sort();
        let mut expected = keys.to_vec();
        expected.sort();
        assert_eq!(found, expected);
        for key in &keys {
            repository.remove(key).await.unwrap();
        }
        assert_eq!(repository.store.records(&bridge(), PROGRESS, "").await.unwrap().len(), 1);
        assert!(repository.all_progress().await.unwrap().is_empty());
    }
}
