//! Push notifications: a task's events, delivered to webhooks that its caller named (specification 4.3).
//!
//! The task log is the only queue: each setting has its place in the log of its task, kept in the store, and
//! reads on from there when the last event was taken. So a slow webhook holds up nothing but itself, nothing
//! piles up for it in memory, and a restart goes on where the last delivery was acknowledged: at least once,
//! in order for each task and setting.
//!
//! - [`Push`]: the settings of all tasks, and their deliveries
//! - [`PushSettings`], [`RetrySettings`]: how much, how often, how long
//! - [`Allowed`]: where webhooks may be
//! - [`Undelivered`]: a setting whose delivery was given up, and [`Push::retry`]
//! - [`PushError`]: why a setting is not kept
//!
//! A delivery is one `POST` with one `StreamResponse` as its body (4.3.3); settings that were made in 0.3 and 0.1
//! get the Task as it stands after the event, which is what the specification of 0.3 shows in 9.5 and what its
//! SDKs send and read.
//!
//! | header | says |
//! |-|-|
//! | `Content-Type` | `application/a2a+json`; `application/json` before 1.0 |
//! | `A2A-Version` | the version of the body |
//! | `Authorization` | the setting's credentials (13.2), or else the signature if deliveries are signed |
//! | `X-A2A-Notification-Token` | the setting's token |
//! | `X-A2A-Notification-Signature` | the signature, see [`Signature`] |
//! | `Idempotency-Key` | the event, `TASK/SEQUENCE`: the same when it is delivered again |

mod address;
mod allowed;
mod book;
mod courier;
mod error;
mod headers;
mod http;
mod lanes;
mod letter;
mod progress;
mod reader;
mod resolver;
mod retry;
mod setting;
mod settings;
mod signature;
mod slots;
mod target;
#[cfg(test)]
mod tests;
mod undelivered;
mod worker;

pub use allowed::Allowed;
pub use error::PushError;
pub use settings::{PushSettings, RetrySettings};
pub use signature::Signature;
pub use undelivered::Undelivered;

use std::sync::Arc;

use bridge_protocol::{a2a::TaskPushNotificationConfig, dialect::Version};
use sha2::{Digest as _, Sha256};
use tokio::sync::Mutex;

use crate::{
    auth::Issuer,
    caller::Caller,
    metrics::Metrics,
    store::{Head, Seq, Store, StoreError},
};
use book::{Book, Key};
use courier::Courier;
use http::HttpCourier;
use lanes::Lanes;
use progress::Progress;
use setting::Setting;
use worker::Worker;

/// So many tasks can have their settings changed at once.
const LOCKS: usize = 64;

/// The push notifications of all tasks in a store. Deliveries go on for as long as somebody holds this.
#[derive(Clone, Debug)]
pub struct Push(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    book: Book,
    settings: PushSettings,
    courier: Arc<dyn Courier>,
    metrics: Metrics,
    lanes: Arc<Lanes>,
    /// One task's settings are changed by one at a time, so that their number keeps its limit.
    changing: [Mutex<()>; LOCKS],
}

/// A setting that was looked at and found good; nothing is kept of it yet.
#[derive(Clone, Debug)]
pub struct Checked(Setting);

impl Push {
    /// Push notifications for the tasks of this store. Deliveries are signed if there is an issuer.
    ///
    /// # Errors
    /// [`PushError::Client`] if the system has no TLS.
    pub fn new(
        store: Arc<dyn Store>,
        metrics: Metrics,
        settings: PushSettings,
        issuer: Option<Arc<Issuer>>,
    ) -> Result<Self, PushError> {
        let courier = HttpCourier::new(&settings, issuer.map(Signature::by))?;
        Ok(Self::with(store, metrics, settings, Arc::new(courier)))
    }

    fn with(
        store: Arc<dyn Store>,
        metrics: Metrics,
        settings: PushSettings,
        courier: Arc<dyn Courier>,
    ) -> Self {
        Self(Arc::new(Shared {
            book: Book::new(store),
            lanes: Arc::new(Lanes::new(settings.at_once, settings.per_host)),
            settings,
            courier,
            metrics,
            changing: [const { Mutex::const_new(()) }; LOCKS],
        }))
    }

    /// Goes on with every delivery that was open when the program ended, and tells how many there are. To be
    /// called once, before anything is served.
    ///
    /// # Errors
    /// If the store cannot be read.
    pub async fn resume(&self) -> Result<usize, StoreError> {
        let mut open = 0;
        for (key, progress) in self.0.book.all_progress().await? {
            if progress.is_given_up() {
                self.0.metrics.push_given_up(&progress.agent, 1);
                continue;
            }
            // The program may have ended after the first of both was written.
            let Some(setting) = self.0.book.setting(&key).await? else {
                self.0.book.done(&key).await?;
                continue;
            };
            open += 1;
            self.0.metrics.push_open(&progress.agent, 1);
            self.start(key, setting, progress);
        }
        Ok(open)
    }

    /// Looks at a setting that somebody wants, who speaks this version.
    ///
    /// # Errors
    /// The field that is not as it has to be.
    pub fn check(
        &self,
        config: TaskPushNotificationConfig,
        version: Version,
    ) -> Result<Checked, PushError> {
        let setting = Setting::checked(config, version, &self.0.settings)?;
        Ok(Checked(setting))
    }

    /// Whether the task could get this setting beside those that it has.
    ///
    /// # Errors
    /// [`PushError::TooMany`], [`PushError::Store`].
    pub async fn has_room(
        &self,
        caller: &Caller,
        task: &str,
        checked: &Checked,
    ) -> Result<(), PushError> {
        let known = self.0.book.settings(caller, task).await?;
        let is_new = known.iter().all(|(id, _)| *id != checked.0.id());
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
        checked: Checked,
        seen: Seq,
    ) -> Result<TaskPushNotificationConfig, PushError> {
        let _alone = self.changing(&head.task).lock().await;
        self.has_room(&head.owner, &head.task, &checked).await?;
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
        checked: Checked,
        (message_id, is_repeated): (&str, bool),
        seen: Seq,
    ) -> Result<(), PushError> {
        let _alone = self.changing(&head.task).lock().await;
        let Checked(setting) = checked;
        let setting = match setting.version {
            Version::V1_0 => setting.or_with_id(|| id_of(message_id)),
            Version::V0_3 | Version::V0_1 => setting,
        };
        let setting = setting.of_task(&head.task);
        let key = Key::new(&head.owner, &head.task, setting.id());
        let known = self.0.book.setting(&key).await?;
        let is_known = known.is_some_and(|known| is_repeated || known == setting);
        let progress = self.0.book.progress(&key).await?;
        if is_known && !progress.is_some_and(|progress| progress.is_given_up()) {
            return Ok(());
        }
        self.has_room(&head.owner, &head.task, &Checked(setting.clone()))
            .await?;
        self.keep(head, setting, seen).await?;
        Ok(())
    }

    async fn keep(
        &self,
        head: &Head,
        setting: Setting,
        seen: Seq,
    ) -> Result<TaskPushNotificationConfig, StoreError> {
        let key = Key::new(&head.owner, &head.task, setting.id());
        self.stop(&key).await?;
        let before = self.0.book.progress(&key).await?;
        let place = before.map(|progress| progress.seq);
        let progress = Progress::at(head, place.unwrap_or(seen));
        let config = setting.config.clone();
        // Nothing follows a task's end but what a setting before this one had still to deliver.
        if place.is_none() && head.state.is_terminal() && seen >= head.seq {
            self.0.book.put_setting(&key, &setting).await?;
            return Ok(config);
        }
        // In this order, since a setting that is there must not be without its deliveries.
        self.0.book.put_progress(&key, &progress).await?;
        self.0.book.put_setting(&key, &setting).await?;
        self.0.metrics.push_open(&progress.agent, 1);
        self.start(key, setting, progress);
        Ok(config)
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
            let found = self.0.book.setting(&Key::new(caller, task, id)).await?;
            return Ok(found.map(|setting| setting.config));
        }
        let mut all = self.0.book.settings(caller, task).await?;
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
        let all = self.0.book.settings(caller, task).await?;
        Ok(all.into_iter().map(|(_, setting)| setting.config).collect())
    }

    /// Removes a setting: nothing is delivered for it any more when this returns. Nothing happens if there is
    /// none.
    ///
    /// # Errors
    /// If the store fails.
    pub async fn remove(&self, caller: &Caller, task: &str, id: &str) -> Result<(), StoreError> {
        let _alone = self.changing(task).lock().await;
        let key = Key::new(caller, task, id);
        self.stop(&key).await?;
        self.0.book.remove(&key).await
    }

    /// Ends the deliveries of a setting, and counts it no longer.
    async fn stop(&self, key: &Key) -> Result<(), StoreError> {
        self.0.lanes.stop(key).await;
        if let Some(progress) = self.0.book.progress(key).await? {
            match progress.is_given_up() {
                true => self.0.metrics.push_given_up(&progress.agent, -1),
                false => self.0.metrics.push_open(&progress.agent, -1),
            }
        }
        Ok(())
    }

    fn start(&self, key: Key, setting: Setting, progress: Progress) {
        let worker = Worker {
            book: self.0.book.clone(),
            courier: self.0.courier.clone(),
            metrics: self.0.metrics.clone(),
            slots: self.0.lanes.slots().clone(),
            retry: self.0.settings.retry,
            key: key.clone(),
            setting,
            progress,
        };
        self.0.lanes.start(key, |stop| worker.run(stop));
    }

    fn changing(&self, task: &str) -> &Mutex<()> {
        let sum = task.bytes().fold(0_usize, |sum, byte| {
            sum.wrapping_mul(31).wrapping_add(usize::from(byte))
        });
        &self.0.changing[sum % LOCKS]
    }
}

/// The id of a setting that came with a message and has none of its own.
fn id_of(message_id: &str) -> String {
    let hash = format!("{:x}", Sha256::digest(message_id));
    hash[..32].to_owned()
}
