//! Push notifications: a task's events, delivered to webhooks that its caller named (specification 4.3).
//!
//! The task log is the only queue: each setting has its place in the log of its task, kept in the store, and
//! reads on from there when the last event was taken. So a slow webhook holds up nothing but itself, nothing
//! piles up for it in memory, and a restart goes on where the last delivery was acknowledged: at least once,
//! in order for each task and setting.
//!
//! - [`Push`]: the settings of all tasks, and their deliveries
//! - [`PushSettings`], [`RetrySettings`]: how much, how often, how long
//! - [`AllowedTargets`]: where webhooks may be
//! - [`Seal`]: what the secrets of settings are sealed with where they are kept
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
//! | `Idempotency-SettingKey` | the event, `TASK/SEQUENCE`: the same when it is delivered again |

mod allowed_targets;
mod delivery_request;
mod delivery_slots;
mod delivery_workers;
mod error;
mod event_reader;
mod fair_queue;
mod headers;
mod http_sender;
mod progress;
mod resolver;
mod retry;
mod seal;
mod setting;
mod setting_operations;
mod setting_repository;
mod settings;
mod signature;
mod stored_setting;
mod target;
#[cfg(test)]
mod tests;
mod undelivered;
mod webhook_sender;
mod worker;

pub use allowed_targets::AllowedTargets;
pub use error::PushError;
pub use seal::{Seal, SealKeyError};
pub use setting_operations::CheckedSetting;
pub use settings::{PushSettings, RetrySettings};
pub use signature::Signature;
pub use undelivered::Undelivered;

use std::sync::{Arc, Weak};

use tokio::sync::Mutex;

use crate::{
    auth::Issuer,
    clock,
    metrics::Metrics,
    store::{Store, StoreError},
};
use delivery_slots::DeliverySlots;
use delivery_workers::DeliveryWorkers;
use http_sender::HttpSender;
use progress::DeliveryProgress;
use setting_repository::{SettingKey, SettingRepository};
use webhook_sender::WebhookSender;
use worker::WorkerContext;

/// So many tasks can have their settings changed at once.
const LOCKS: usize = 64;

/// The push notifications of all tasks in a store. Deliveries go on for as long as somebody holds this.
#[derive(Clone, Debug)]
pub struct Push(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    repository: SettingRepository,
    settings: PushSettings,
    metrics: Metrics,
    workers: Arc<DeliveryWorkers>,
    /// One task's settings are changed by one at a time, so that their number keeps its limit.
    changing: [Mutex<()>; LOCKS],
}

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
        let sender = HttpSender::new(&settings, issuer.map(Signature::by))?;
        Ok(Self::with(store, metrics, settings, Arc::new(sender)))
    }

    fn with(
        store: Arc<dyn Store>,
        metrics: Metrics,
        settings: PushSettings,
        sender: Arc<dyn WebhookSender>,
    ) -> Self {
        let repository = SettingRepository::new(store, settings.seal.clone());
        let context = Arc::new(WorkerContext {
            repository: repository.clone(),
            sender,
            metrics: metrics.clone(),
            slots: Arc::new(DeliverySlots::new(settings.limits())),
            retry: settings.retry,
        });
        let workers = DeliveryWorkers::new(move |key, stop| {
            Box::pin(worker::run(context.clone(), key, stop))
        });
        let listener: Weak<DeliveryWorkers> = Arc::downgrade(&workers);
        repository.store().listen(listener);
        Self(Arc::new(Shared {
            repository,
            workers,
            settings,
            metrics,
            changing: [const { Mutex::const_new(()) }; LOCKS],
        }))
    }

    /// Goes on with every delivery that was open when the program ended, and tells how many there are. Those
    /// whose setting cannot be read, since a key is missing, are given up. To be called once, before anything
    /// is served.
    ///
    /// # Errors
    /// If the store cannot be read.
    pub async fn resume(&self) -> Result<usize, StoreError> {
        let mut open = 0;
        for (key, progress) in self.0.repository.all_progress().await? {
            if progress.is_given_up() {
                self.0.metrics.push_given_up(&progress.agent, 1);
                continue;
            }
            match self.0.repository.renewed(&key).await {
                Ok(Some(setting)) => {
                    open += 1;
                    self.0.metrics.push_open(&progress.agent, 1);
                    match worker::reader_if_caught_up(&self.0.repository, &key, &setting, &progress)
                        .await
                    {
                        Some(read) => self.0.workers.set_idle(&key, read),
                        None => self.0.workers.start(key),
                    }
                }
                // The program may have ended after the first of both was written.
                Ok(None) => self.0.repository.done(&key).await?,
                Err(error @ StoreError::Corrupt { .. }) => {
                    self.unreadable(&key, progress, &error).await?;
                }
                Err(error) => return Err(error),
            }
        }
        Ok(open)
    }

    /// What cannot be read waits like what was given up: when the key is there again, it can be tried anew.
    async fn unreadable(
        &self,
        key: &SettingKey,
        mut progress: DeliveryProgress,
        error: &StoreError,
    ) -> Result<(), StoreError> {
        tracing::error!(task = key.task, id = key.id, %error, "push notifications were given up");
        let (next, retry) = (progress.seq + 1, &self.0.settings.retry);
        progress.failed(next, error.to_string(), clock::now(), retry);
        progress.give_up();
        self.0.repository.put_progress(key, &progress).await?;
        self.0.metrics.push_given_up(&progress.agent, 1);
        Ok(())
    }

    /// Ends the deliveries of a setting, counts it no longer, and tells how far they had come.
    ///
    /// # Errors
    /// If that cannot be read; then the setting has none until a restart.
    async fn stop(&self, key: &SettingKey) -> Result<Option<DeliveryProgress>, StoreError> {
        self.0.workers.stop(key).await;
        let progress = self.0.repository.progress(key).await?;
        if let Some(progress) = &progress {
            match progress.is_given_up() {
                true => self.0.metrics.push_given_up(&progress.agent, -1),
                false => self.0.metrics.push_open(&progress.agent, -1),
            }
        }
        Ok(progress)
    }

    fn changing(&self, task: &str) -> &Mutex<()> {
        let sum = task.bytes().fold(0_usize, |sum, byte| {
            sum.wrapping_mul(31).wrapping_add(usize::from(byte))
        });
        &self.0.changing[sum % LOCKS]
    }
}
