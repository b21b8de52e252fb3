//! Delivers a task's events to the webhooks that its caller registered (specification 4.3).
//!
//! The task log is the only queue. The store keeps a position in the task's log for each push setting, and the next
//! event is read from there once the webhook acknowledged the last one. So a slow webhook delays only its own
//! deliveries, nothing piles up in memory, and after a restart deliveries go on behind the last one that was
//! acknowledged. Each event is delivered at least once, and in order for each task and setting. The position is stored once
//! for several events that are delivered in a row, so that after a crash up to 32 of them are delivered again. In a store that
//! several processes share, it is stored after each event.
//!
//! - [`Push`]: the settings of all tasks, and their deliveries
//! - [`PushSettings`], [`RetrySettings`]: limits, timeouts and retries
//! - [`AllowedTargets`]: the addresses that webhooks may have
//! - [`Seal`]: the keys with which the store's copies of settings are encrypted
//! - [`Undelivered`]: a setting whose delivery was given up, and [`Push::retry`]
//! - [`PushError`]: the reasons why a setting is refused
//!
//! A delivery is one `POST` with one `StreamResponse` as its body (4.3.3). For a setting that was made in 0.3 or 0.1
//! the body is the Task after the event instead, as in section 9.5 of the specification of 0.3 and in its SDKs.
//!
//! | header | content |
//! |-|-|
//! | `Content-Type` | `application/a2a+json`; `application/json` before 1.0 |
//! | `A2A-Version` | the version of the body |
//! | `Authorization` | the setting's credentials (13.2), or else the signature if deliveries are signed |
//! | `X-A2A-Notification-Token` | the setting's token |
//! | `X-A2A-Notification-Signature` | the signature, see [`Signature`] |
//! | `Idempotency-Key` | the event, `TASK/SEQUENCE`: the same when it is delivered again |

mod allowed_targets;
mod delivery_request;
mod delivery_slots;
mod delivery_workers;
mod error;
mod event_reader;
mod fair_queue;
mod headers;
mod progress;
mod resolver;
mod seal;
mod setting;
mod setting_operations;
mod setting_repository;
mod settings;
mod signature;
mod target;
#[cfg(test)]
mod tests;
mod undelivered;
mod webhook_sender;
mod worker;

pub use allowed_targets::{AllowedTargets, TargetError};
pub use error::PushError;
pub use seal::{Seal, SealKeyError};
pub use setting_operations::CheckedSetting;
pub use settings::{PushSettings, RetrySettings};
pub use signature::Signature;
pub use undelivered::Undelivered;

use std::{
    collections::BTreeMap,
    // The modules that `interleavings` compiles again find replacements under these names.
    sync::{self, Arc, Weak},
    time::Duration,
};

use tokio::{runtime::Handle, sync::Mutex, task::JoinHandle, time::sleep};

use bridge_auth as auth;
use bridge_store::{self as store, caller};
use bridge_tasks::{metrics, trace, turns};

use auth::Issuer;
use bridge_program::{LogInterval, clock, lock};
use metrics::Metrics;
use store::{Leases, Result, Store, StoreError};

use delivery_slots::DeliverySlots;
use delivery_workers::DeliveryWorkers;
use progress::DeliveryProgress;
use setting::SettingKey;
use setting_repository::SettingRepository;
use webhook_sender::{HttpSender, WebhookSender};
use worker::WorkerContext;

/// The number of locks that the tasks share while their settings are changed.
const LOCKS: usize = 64;

/// The pause after which a failed read of the store is repeated.
const AGAIN: Duration = Duration::from_secs(1);

/// Delivers the push notifications of all tasks in a store. Deliveries stop when the last clone is dropped.
#[derive(Clone, Debug)]
pub struct Push(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    repository: SettingRepository,
    settings: PushSettings,
    metrics: Metrics,
    workers: Arc<DeliveryWorkers>,
    /// Held while a task's settings are changed, so that two changes cannot exceed the limit together.
    changing: [Mutex<()>; LOCKS],
}

impl Push {
    /// Creates the push notifications of a store's tasks. Deliveries are signed if an issuer is given.
    ///
    /// # Errors
    /// [`PushError::Client`] if the system provides no TLS.
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
            given_up: LogInterval::default(),
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

    /// Resumes every delivery that was open when the program ended, and returns their number. A delivery whose setting
    /// cannot be decrypted because a key is missing is given up. Call it once, before any request is served.
    ///
    /// # Errors
    /// If the store cannot be read.
    pub async fn resume(&self) -> Result<usize> {
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
                Ok(None) => self.done_if_gone(&key).await?,
                Err(error @ StoreError::Corrupt { .. }) => {
                    self.unreadable(&key, progress, &error).await?;
                }
                Err(error) => return Err(error),
            }
        }
        // Not earlier: what it counts has been counted here.
        if let Some(leases) = self.0.repository.store().leases() {
            tokio::spawn(take_up_freed(leases, Arc::downgrade(&self.0)));
        }
        Ok(open)
    }

    /// Removes progress without a setting if its task is gone. Progress is written before its setting: another process may
    /// be about to write the setting, or may have ended before it did.
    async fn done_if_gone(&self, key: &SettingKey) -> Result<()> {
        let repository = &self.0.repository;
        match repository.store().head(&key.caller, &key.task).await {
            Err(StoreError::NotFound { .. }) => repository.done(key).await,
            Ok(_) | Err(_) => Ok(()),
        }
    }

    /// Marks the delivery of an unreadable setting as given up: once the key is available again, it can be retried.
    async fn unreadable(
        &self,
        key: &SettingKey,
        mut progress: DeliveryProgress,
        error: &StoreError,
    ) -> Result<()> {
        tracing::error!(task = key.task, id = key.id, %error, "push notifications were given up");
        let (next, retry) = (progress.seq + 1, &self.0.settings.retry);
        progress.failed(next, error.to_string(), &clock::present(), retry);
        progress.give_up();
        self.0.repository.put_progress(key, &progress).await?;
        self.0.metrics.push_given_up(&progress.agent, 1);
        Ok(())
    }

    /// Stops the deliveries of a setting, removes it from the metrics, and returns its progress.
    ///
    /// # Errors
    /// If the progress cannot be read: then nothing is delivered for the setting until a restart.
    async fn stop(&self, key: &SettingKey) -> Result<Option<DeliveryProgress>> {
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

    /// Counts the settings of all processes again, because each process notices only its own changes. If deliveries were freed,
    /// starts the open ones that this process does not know yet.
    async fn take_up(&self, are_freed: bool) -> Result<()> {
        let mut counts = BTreeMap::<Arc<str>, (i64, i64)>::new();
        for (key, progress) in self.0.repository.all_progress().await? {
            let (open, given_up) = counts.entry(Arc::clone(&progress.agent)).or_default();
            match progress.is_given_up() {
                true => *given_up += 1,
                false => *open += 1,
            }
            if are_freed && !progress.is_given_up() {
                self.0.workers.start_unknown(key);
            }
        }
        self.0.metrics.set_pushes(&counts);
        Ok(())
    }

    fn changing(&self, task: &str) -> &Mutex<()> {
        let sum = task
            .bytes()
            .fold(0_usize, |sum, byte| sum.wrapping_mul(31).wrapping_add(usize::from(byte)));
        &self.0.changing[sum % LOCKS]
    }
}

/// Continues the deliveries of processes that have ended, and counts the settings of all processes, as long as these
/// settings exist.
async fn take_up_freed(leases: Arc<dyn Leases>, shared: Weak<Shared>) {
    let (mut seen, mut done) = (0, 0);
    loop {
        // This returns at least once a minute.
        seen = leases.freed(seen).await;
        let mut has_failed = false;
        loop {
            let Some(shared) = shared.upgrade() else {
                return;
            };
            match Push(shared).take_up(done < seen).await {
                Err(error) if done < seen => {
                    // An outage of the store is logged once.
                    if !std::mem::replace(&mut has_failed, true) {
                        tracing::warn!(%error, "the webhooks of other bridges are taken up later");
                    }
                    sleep(AGAIN).await;
                }
                Ok(()) | Err(_) => break,
            }
        }
        done = seen;
    }
}
