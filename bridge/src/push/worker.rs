//! Delivers the events of one task for one setting, one after the other.
//!
//! Who waits, for a place, or until an event is tried again, holds nothing of the task's log: it is read when there is
//! a place for the delivery. A worker ends when all that the log holds was delivered, and there is another one when
//! the task has news.
//!
//! No lease is taken, since every store that there is can be opened by one process only. Over one that several
//! machines share, all of them would deliver. `Worker::next` is then where one takes a lease for its lane. Who has
//! it reads the progress anew, because another may have delivered meanwhile, and renews it before each attempt; who
//! does not get it waits until it is over. A lane that only waits for its task needs none, so that their number
//! costs nothing.

use std::{sync::Arc, time::Duration};

use tokio::time::{Instant, sleep};

use super::{
    RetrySettings,
    delivery_request::DeliveryRequest,
    delivery_slots::{DeliverySlot, DeliverySlots},
    delivery_workers::StopSignal,
    event_reader::{EventReader, Notification},
    fair_queue::SlotRequest,
    progress::DeliveryProgress,
    setting::Setting,
    setting_repository::{SettingKey, SettingRepository},
    webhook_sender::{Outcome, WebhookSender},
};
use crate::{clock, metrics::Metrics, store::StoreError};

/// After how long a store that failed is tried again.
const STORE_AGAIN: Duration = Duration::from_secs(30);

/// What all workers have.
pub(super) struct WorkerContext {
    pub(super) repository: SettingRepository,
    pub(super) sender: Arc<dyn WebhookSender>,
    pub(super) metrics: Metrics,
    pub(super) slots: Arc<DeliverySlots>,
    pub(super) retry: RetrySettings,
}

/// What delivers for one setting.
struct Worker {
    context: Arc<WorkerContext>,
    key: SettingKey,
    setting: Setting,
    progress: DeliveryProgress,
}

/// Whether the worker goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum NextStep {
    Event,
    /// The same event, after so long.
    Again(Duration),
    StopSignal,
}

/// Delivers what a task's log holds for a setting, until an event is given up, or it is asked to stop. What it has
/// begun to write is written then. If the task goes on, it gives back how far it has read.
pub(super) async fn run(
    context: Arc<WorkerContext>,
    key: SettingKey,
    mut stop: StopSignal,
) -> Option<EventReader> {
    let mut worker = None;
    loop {
        let error = match deliver_all(&mut worker, &context, &key, &mut stop).await {
            Ok(left) => return left,
            Err(error) => error,
        };
        if !can_go_on(&key, &error) {
            return None;
        }
        tokio::select! {
            biased;
            () = stop.requested() => return None,
            () = sleep(STORE_AGAIN) => {}
        }
    }
}

/// The same until the store fails. The worker knows then what it may not have written.
async fn deliver_all(
    worker: &mut Option<Worker>,
    context: &Arc<WorkerContext>,
    key: &SettingKey,
    stop: &mut StopSignal,
) -> Result<Option<EventReader>, StoreError> {
    if worker.is_none() {
        *worker = Worker::open(context, key).await?;
    }
    match worker {
        Some(worker) => worker.deliver_all(stop).await,
        None => Ok(None),
    }
}

/// How far the log was read for a setting, if nothing that it holds is to be delivered. If that cannot be told, a
/// worker finds out.
pub(super) async fn reader_if_caught_up(
    repository: &SettingRepository,
    key: &SettingKey,
    setting: &Setting,
    progress: &DeliveryProgress,
) -> Option<EventReader> {
    let (store, SettingKey { caller, task, .. }) = (repository.store(), key);
    let reader = EventReader::open(store, caller, task, progress.seq, setting.version);
    let mut reader = reader.await.ok()?;
    let next = reader.next().await.ok()?;
    next.is_none().then_some(reader)
}

/// Whether a failure of the store is worth waiting for its end.
fn can_go_on(SettingKey { task, id, .. }: &SettingKey, error: &StoreError) -> bool {
    let is_final = is_final(error);
    match is_final {
        true => tracing::error!(task, id, %error, "push notifications wait for a restart"),
        false if error.is_reported_by_store() => {}
        false => tracing::warn!(task, id, %error, "push notifications wait for the store"),
    }
    !is_final
}

impl Worker {
    /// The worker of a setting that something may be delivered for.
    async fn open(
        context: &Arc<WorkerContext>,
        key: &SettingKey,
    ) -> Result<Option<Self>, StoreError> {
        let Some(progress) = context.repository.progress(key).await? else {
            return Ok(None);
        };
        let setting = context.repository.setting(key).await?;
        Ok(setting.map(|setting| Self {
            context: context.clone(),
            key: key.clone(),
            setting,
            progress,
        }))
    }

    /// Delivers what the log holds.
    async fn deliver_all(
        &mut self,
        stop: &mut StopSignal,
    ) -> Result<Option<EventReader>, StoreError> {
        let mut reader = None;
        loop {
            // Here and below: who is to stop begins nothing more, though there is something to begin.
            let next = tokio::select! {
                biased;
                () = stop.requested() => return Ok(None),
                next = self.next(&mut reader) => next?,
            };
            let Some((notification, slot)) = next else {
                return Ok(reader);
            };
            let pause = match self.deliver(notification, slot, stop).await? {
                NextStep::Event => continue,
                NextStep::StopSignal => return Ok(None),
                NextStep::Again(pause) => pause,
            };
            reader = None;
            tokio::select! {
                biased;
                () = stop.requested() => return Ok(None),
                () = sleep(pause) => {}
            }
        }
    }

    /// The next event that the log holds, with a place for its delivery.
    async fn next(
        &self,
        reader: &mut Option<EventReader>,
    ) -> Result<Option<(Notification, DeliverySlot)>, StoreError> {
        let Some(notification) = self.read(reader).await? else {
            return Ok(None);
        };
        let request = SlotRequest {
            caller: self.key.caller.name().to_owned(),
            host: self.setting.host(),
            is_again: self.progress.failing.is_some(),
        };
        if let Some(slot) = self.context.slots.try_take(&request) {
            return Ok(Some((notification, slot)));
        }
        drop((notification, reader.take()));
        let slot = self.context.slots.take(&request).await;
        let notification = self.read(reader).await?;
        Ok(notification.map(|notification| (notification, slot)))
    }

    /// Reads on, from behind what was delivered if there is no reader.
    async fn read(
        &self,
        reader: &mut Option<EventReader>,
    ) -> Result<Option<Notification>, StoreError> {
        let reader = match reader {
            Some(reader) => reader,
            none => {
                let SettingKey { caller, task, .. } = &self.key;
                let (store, seen) = (self.context.repository.store(), self.progress.seq);
                let version = self.setting.version;
                none.insert(EventReader::open(store, caller, task, seen, version).await?)
            }
        };
        reader.next().await
    }

    /// Tries once.
    async fn deliver(
        &mut self,
        notification: Notification,
        slot: DeliverySlot,
        stop: &mut StopSignal,
    ) -> Result<NextStep, StoreError> {
        let outcome = tokio::select! {
            biased;
            () = stop.requested() => return Ok(NextStep::StopSignal),
            outcome = self.try_once(&notification, slot) => outcome,
        };
        let (reason, again) = match outcome {
            Outcome::Delivered => return self.delivered(&notification).await,
            Outcome::Failed { reason, again } => (reason, again),
            Outcome::Refused { reason } => {
                self.fail(&notification, reason);
                self.progress.give_up();
                return self.give_up().await;
            }
        };
        let failures = self.fail(&notification, reason);
        if self.progress.is_given_up() {
            return self.give_up().await;
        }
        self.context
            .repository
            .put_progress(&self.key, &self.progress)
            .await?;
        Ok(NextStep::Again(self.context.retry.pause(
            failures,
            again,
            clock::random_u64(),
        )))
    }

    async fn try_once(&self, notification: &Notification, slot: DeliverySlot) -> Outcome {
        let delivery = DeliveryRequest::new(&self.setting, notification);
        let begun = Instant::now();
        let outcome = tokio::select! {
            biased;
            outcome = self.context.sender.send(&delivery) => outcome,
            () = slot.preempted() => Outcome::Failed {
                reason: format!("no answer within {:?}, while others waited", begun.elapsed()),
                again: None,
            },
        };
        let agent = &self.progress.agent;
        self.context
            .metrics
            .pushed(agent, outcome.name(), begun.elapsed());
        outcome
    }

    fn fail(&mut self, notification: &Notification, reason: String) -> u32 {
        let (task, id) = (&self.key.task, &self.key.id);
        tracing::debug!(
            task,
            id,
            seq = notification.seq,
            reason,
            "a push notification was not taken"
        );
        self.progress
            .failed(notification.seq, reason, clock::now(), &self.context.retry)
    }

    /// The place behind a delivered event is kept before the next one is tried; behind the last there is none.
    async fn delivered(&mut self, notification: &Notification) -> Result<NextStep, StoreError> {
        self.progress.delivered(notification.seq);
        if !notification.is_last {
            self.context
                .repository
                .put_progress(&self.key, &self.progress)
                .await?;
            return Ok(NextStep::Event);
        }
        self.context.repository.done(&self.key).await?;
        self.context.metrics.push_open(&self.progress.agent, -1);
        Ok(NextStep::StopSignal)
    }

    async fn give_up(&mut self) -> Result<NextStep, StoreError> {
        self.context
            .repository
            .put_progress(&self.key, &self.progress)
            .await?;
        self.context.metrics.push_open(&self.progress.agent, -1);
        self.context.metrics.push_given_up(&self.progress.agent, 1);
        let (task, id) = (&self.key.task, &self.key.id);
        let (host, failing) = (self.setting.host(), self.progress.failing.as_ref());
        let reason = failing.map(|failing| failing.reason.as_str());
        tracing::warn!(task, id, host, reason, "push notifications were given up");
        Ok(NextStep::StopSignal)
    }
}

/// Whether it fails however often it is tried.
fn is_final(error: &StoreError) -> bool {
    match error {
        StoreError::NotFound { .. }
        | StoreError::Conflict { .. }
        | StoreError::Duplicate { .. }
        | StoreError::Taken { .. }
        | StoreError::Ended { .. }
        | StoreError::Invalid { .. }
        | StoreError::TooLarge { .. }
        | StoreError::PageToken { .. }
        | StoreError::Corrupt { .. }
        | StoreError::Damaged { .. }
        | StoreError::Older { .. }
        | StoreError::Newer { .. } => true,
        StoreError::InUse { .. }
        | StoreError::Rebuilding
        | StoreError::Full { .. }
        | StoreError::Io { .. }
        | StoreError::Closed => false,
    }
}
