//! The operations on the settings of a task: create, get, list, delete.

use bridge_protocol::{a2a::TaskPushNotificationConfig, dialect::Version};
use sha2::{Digest as _, Sha256};

use super::{
    Push, PushError,
    progress::DeliveryProgress,
    setting::{Setting, SettingKey},
};
use crate::{
    caller::Caller,
    store::{Head, Result, Seq},
};

/// A setting that was checked but is not stored yet.
#[derive(Clone, Debug)]
pub struct CheckedSetting(Setting);

impl Push {
    /// Checks a setting that a client of this version asks for.
    ///
    /// # Errors
    /// The field that is not valid.
    pub fn check(
        &self,
        config: TaskPushNotificationConfig,
        version: Version,
    ) -> Result<CheckedSetting, PushError> {
        let setting = Setting::checked(config, version, &self.0.settings)?;
        Ok(CheckedSetting(setting))
    }

    /// Checks whether the task may have this setting beside the existing ones.
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
            true => {
                Err(PushError::TooMany { task: task.to_owned(), limit: self.0.settings.per_task })
            }
            false => Ok(()),
        }
    }

    /// Stores a setting of a task, replacing one with the same id, and delivers the events after `seen`. A setting that
    /// replaces another one continues at its position, also if that one was given up.
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

    /// Stores a setting that came with a message, which may be a repetition of an earlier one. A setting without an id
    /// gets an id derived from the message's. An existing setting that is not given up is not changed, so that a
    /// repeated message causes no second delivery.
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
        let CheckedSetting(mut setting) = checked;
        if setting.version == Version::V1_0 {
            setting.config.id.get_or_insert_with(|| {
                let hash = format!("{:x}", Sha256::digest(message_id));
                hash[..32].to_owned()
            });
        }
        let setting = setting.of_task(&head.task);
        let key = SettingKey::new(&head.owner, &head.task, setting.id());
        let known = self.0.repository.setting(&key).await?;
        let is_known = known.is_some_and(|known| is_repeated || known == setting);
        let progress = self.0.repository.progress(&key).await?;
        if is_known && !progress.is_some_and(|progress| progress.is_given_up()) {
            return Ok(());
        }
        self.check_limit(&head.owner, &head.task, &CheckedSetting(setting.clone())).await?;
        self.keep(head, setting, seen).await?;
        Ok(())
    }

    /// Stores a setting, and starts its deliveries at the position of the setting that it replaces.
    async fn keep(
        &self,
        head: &Head,
        setting: Setting,
        seen: Seq,
    ) -> Result<TaskPushNotificationConfig> {
        let key = SettingKey::new(&head.owner, &head.task, setting.id());
        let before = self.stop(&key).await?;
        let stored = self.replace(head, &key, setting, before.as_ref(), seen).await;
        self.restore_on_error(&key, before, stored).await
    }

    /// Replaces a setting whose worker was stopped, and starts the new one.
    async fn replace(
        &self,
        head: &Head,
        key: &SettingKey,
        setting: Setting,
        before: Option<&DeliveryProgress>,
        seen: Seq,
    ) -> Result<TaskPushNotificationConfig> {
        let place = before.map(|progress| progress.seq);
        let progress = DeliveryProgress::at(head, place.unwrap_or(seen));
        let config = setting.config.clone();
        // After the end of the task there is nothing to deliver, except what the replaced setting had not delivered
        // yet.
        if place.is_none() && head.state.is_terminal() && seen >= head.seq {
            self.0.repository.put_setting(key, &setting).await?;
            return Ok(config);
        }
        // In this order, so that a stored setting always has its progress.
        self.0.repository.put_progress(key, &progress).await?;
        self.0.repository.put_setting(key, &setting).await?;
        self.0.metrics.push_open(&progress.agent, 1);
        self.0.workers.start(key.clone());
        Ok(config)
    }

    /// Restarts a setting that was stopped to be changed, if the change failed: a failed change has no effect.
    async fn restore_on_error<T>(
        &self,
        key: &SettingKey,
        before: Option<DeliveryProgress>,
        changed: Result<T>,
    ) -> Result<T> {
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

    /// Returns one setting of a task. If `id` is empty, as in 0.3, it is the one with the task's id, or else the first.
    ///
    /// # Errors
    /// If the store cannot be read.
    pub async fn get(
        &self,
        caller: &Caller,
        task: &str,
        id: &str,
    ) -> Result<Option<TaskPushNotificationConfig>> {
        if !id.is_empty() {
            let found = self.0.repository.setting(&SettingKey::new(caller, task, id)).await?;
            return Ok(found.map(|setting| setting.config));
        }
        let mut all = self.0.repository.settings(caller, task).await?;
        let usual = all.iter().position(|(id, _)| id == task).unwrap_or(0);
        let first = (!all.is_empty()).then(|| all.swap_remove(usual));
        Ok(first.map(|(_, setting)| setting.config))
    }

    /// Returns all settings of a task, sorted by id.
    ///
    /// # Errors
    /// If the store cannot be read.
    pub async fn list(
        &self,
        caller: &Caller,
        task: &str,
    ) -> Result<Vec<TaskPushNotificationConfig>> {
        let all = self.0.repository.settings(caller, task).await?;
        Ok(all.into_iter().map(|(_, setting)| setting.config).collect())
    }

    /// Removes a setting, if it exists. When this returns, nothing is delivered for it any more.
    ///
    /// # Errors
    /// If the store fails.
    pub async fn remove(&self, caller: &Caller, task: &str, id: &str) -> Result<()> {
        let _alone = self.changing(task).lock().await;
        let key = SettingKey::new(caller, task, id);
        let before = self.stop(&key).await?;
        let removed = self.0.repository.remove(&key).await;
        self.restore_on_error(&key, before, removed).await
    }

    /// Returns which of these tasks have settings, in the order of the tasks.
    ///
    /// # Errors
    /// If the store fails.
    pub async fn have_settings(&self, tasks: &[(Caller, String)]) -> Result<Vec<bool>> {
        self.0.repository.have_settings(tasks).await
    }

    /// Removes all settings of a task, also those that cannot be decrypted.
    ///
    /// # Errors
    /// If the store fails.
    pub async fn forget(&self, caller: &Caller, task: &str) -> Result<()> {
        for id in self.0.repository.ids(caller, task).await? {
            self.remove(caller, task, &id).await?;
        }
        Ok(())
    }
}
