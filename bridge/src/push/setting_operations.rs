//! What the owner of a task does with its settings.

use bridge_protocol::{a2a::TaskPushNotificationConfig, dialect::Version};
use sha2::{Digest as _, Sha256};

use super::{
    Push, PushError, progress::DeliveryProgress, setting::Setting, setting_repository::SettingKey,
};
use crate::{
    caller::Caller,
    store::{Head, Seq, StoreError},
};

/// A setting that was looked at and found good; nothing is kept of it yet.
#[derive(Clone, Debug)]
pub struct CheckedSetting(Setting);

impl Push {
    /// Looks at a setting that somebody wants, who speaks this version.
    ///
    /// # Errors
    /// The field that is not as it has to be.
    pub fn check(
        &self,
        config: TaskPushNotificationConfig,
        version: Version,
    ) -> Result<CheckedSetting, PushError> {
        let setting = Setting::checked(config, version, &self.0.settings)?;
        Ok(CheckedSetting(setting))
    }

    /// Whether the task could get this setting beside those that it has.
    ///
    /// # Errors
    /// [`PushError::TooMany`], [`PushError::Store`].
    pub async fn check_limit(
        &self,
        caller: &Caller,
        task: &str,
        checked: &CheckedSetting,
    ) -> Result<(), PushError> {
        let known = self.0.repository.ids(caller, task).await?;
        let is_new = known.iter().all(|id| id != checked.0.id());
        match is_new && known.len() >= self.0.settings.per_task {
            true => Err(PushError::TooMany {
                task: task.to_owned(),
                limit: self.0.settings.per_task,
            }),
            false => Ok(()),
        }
    }

    /// Keeps a setting of a task, in place of one with the same id, and has the events after `seen` delivered.
    /// One that replaces another goes on where that was, and is tried anew if that was given up.
    ///
    /// # Errors
    /// [`PushError::TooMany`], [`PushError::Store`].
    pub async fn set(
        &self,
        head: &Head,
        checked: CheckedSetting,
        seen: Seq,
    ) -> Result<TaskPushNotificationConfig, PushError> {
        let _alone = self.changing(&head.task).lock().await;
        self.check_limit(&head.owner, &head.task, &checked).await?;
        Ok(self.keep(head, checked.0.of_task(&head.task), seen).await?)
    }

    /// The same for a setting that came with a message, perhaps with one that had come before. One without an
    /// id gets one that follows from the message; one that is there already and is not given up stays as it
    /// is, so that a repeated message has nothing delivered twice.
    ///
    /// # Errors
    /// As [`set`](Self::set).
    pub async fn set_with_message(
        &self,
        head: &Head,
        checked: CheckedSetting,
        (message_id, is_repeated): (&str, bool),
        seen: Seq,
    ) -> Result<(), PushError> {
        let _alone = self.changing(&head.task).lock().await;
        let CheckedSetting(setting) = checked;
        let setting = match setting.version {
            Version::V1_0 => setting.or_with_id(|| id_of(message_id)),
            Version::V0_3 | Version::V0_1 => setting,
        };
        let setting = setting.of_task(&head.task);
        let key = SettingKey::new(&head.owner, &head.task, setting.id());
        let known = self.0.repository.setting(&key).await?;
        let is_known = known.is_some_and(|known| is_repeated || known == setting);
        let progress = self.0.repository.progress(&key).await?;
        if is_known && !progress.is_some_and(|progress| progress.is_given_up()) {
            return Ok(());
        }
        self.check_limit(&head.owner, &head.task, &CheckedSetting(setting.clone()))
            .await?;
        self.keep(head, setting, seen).await?;
        Ok(())
    }

    /// Keeps it, and starts it where the one before it was.
    async fn keep(
        &self,
        head: &Head,
        setting: Setting,
        seen: Seq,
    ) -> Result<TaskPushNotificationConfig, StoreError> {
        let key = SettingKey::new(&head.owner, &head.task, setting.id());
        let before = self.stop(&key).await?;
        let stored = self
            .replace(head, &key, setting, before.as_ref(), seen)
            .await;
        self.restore_on_error(&key, before, stored).await
    }

    /// Writes the setting in the place of one that was stopped, and starts it.
    async fn replace(
        &self,
        head: &Head,
        key: &SettingKey,
        setting: Setting,
        before: Option<&DeliveryProgress>,
        seen: Seq,
    ) -> Result<TaskPushNotificationConfig, StoreError> {
        let place = before.map(|progress| progress.seq);
        let progress = DeliveryProgress::at(head, place.unwrap_or(seen));
        let config = setting.config.clone();
        // Nothing follows a task's end but what a setting before this one had still to deliver.
        if place.is_none() && head.state.is_terminal() && seen >= head.seq {
            self.0.repository.put_setting(key, &setting).await?;
            return Ok(config);
        }
        // In this order, since a setting that is there must not be without its deliveries.
        self.0.repository.put_progress(key, &progress).await?;
        self.0.repository.put_setting(key, &setting).await?;
        self.0.metrics.push_open(&progress.agent, 1);
        self.0.workers.start(key.clone());
        Ok(config)
    }

    /// Has a setting go on that was stopped to be changed, if that failed: what was refused changes nothing.
    async fn restore_on_error<T>(
        &self,
        key: &SettingKey,
        before: Option<DeliveryProgress>,
        changed: Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        let (Err(error), Some(progress)) = (&changed, before) else {
            return changed;
        };
        let (task, id) = (&key.task, &key.id);
        if !error.is_reported_by_store() {
            tracing::error!(task, id, %error, "a push setting could not be changed");
        }
        if progress.is_given_up() {
            self.0.metrics.push_given_up(&progress.agent, 1);
        } else {
            self.0.metrics.push_open(&progress.agent, 1);
            self.0.workers.start(key.clone());
        }
        changed
    }

    /// One setting of a task; the first if `id` is empty, as 0.3 asks for it.
    ///
    /// # Errors
    /// If the store cannot be read.
    pub async fn get(
        &self,
        caller: &Caller,
        task: &str,
        id: &str,
    ) -> Result<Option<TaskPushNotificationConfig>, StoreError> {
        if !id.is_empty() {
            let found = self
                .0
                .repository
                .setting(&SettingKey::new(caller, task, id))
                .await?;
            return Ok(found.map(|setting| setting.config));
        }
        let mut all = self.0.repository.settings(caller, task).await?;
        let usual = all.iter().position(|(id, _)| id == task).unwrap_or(0);
        let first = (!all.is_empty()).then(|| all.swap_remove(usual));
        Ok(first.map(|(_, setting)| setting.config))
    }

    /// All settings of a task, by their ids.
    ///
    /// # Errors
    /// If the store cannot be read.
    pub async fn list(
        &self,
        caller: &Caller,
        task: &str,
    ) -> Result<Vec<TaskPushNotificationConfig>, StoreError> {
        let all = self.0.repository.settings(caller, task).await?;
        Ok(all.into_iter().map(|(_, setting)| setting.config).collect())
    }

    /// Removes a setting: nothing is delivered for it any more when this returns. Nothing happens if there is
    /// none.
    ///
    /// # Errors
    /// If the store fails.
    pub async fn remove(&self, caller: &Caller, task: &str, id: &str) -> Result<(), StoreError> {
        let _alone = self.changing(task).lock().await;
        let key = SettingKey::new(caller, task, id);
        let before = self.stop(&key).await?;
        let removed = self.0.repository.remove(&key).await;
        self.restore_on_error(&key, before, removed).await
    }
}

/// The id of a setting that came with a message and has none of its own.
fn id_of(message_id: &str) -> String {
    let hash = format!("{:x}", Sha256::digest(message_id));
    hash[..32].to_owned()
}
