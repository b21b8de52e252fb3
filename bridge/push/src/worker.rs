//! Delivers the events of one task for one setting, one after the other.
//!
//! While a worker waits for a slot or for the next attempt, it keeps no events in memory: the log is read once the
//! worker has a slot. A worker ends when everything in the log was delivered; a new one is started for the next event.
//!
//! Progress is written once for several events that are delivered in a row, unless several processes share the store:
//! the events since the last write are delivered again after a crash.
//!
//! When several processes share the store, a worker begins by taking a lease for its setting, and then reads the
//! progress of the deliveries: one process delivers at a time, and in order. A setting that waits for its task has no
//! lease.

use std::{sync::Arc, time::Duration};

use bridge_program::LogInterval;
use bridge_telemetry::Instrument as _;
use tokio::time::Instant;

use super::{
    RetrySettings,
    delivery_request::DeliveryRequest,
    delivery_slots::{DeliverySlot, DeliverySlots},
    delivery_workers::StopSignal,
    event_reader::{EventReader, Notification},
    fair_queue::SlotRequest,
    progress::DeliveryProgress,
    setting::{Setting, SettingKey},
    setting_repository::SettingRepository,
    webhook_sender::{Outcome, WebhookSender},
};
use crate::{
    clock,
    metrics::Metrics,
    store::{Conversation, Lease, Result, StoreError},
    trace,
};

/// The delay after which a failed store is tried again.
const STORE_AGAIN: Duration = Duration::from_secs(30);

/// The largest number of events that are delivered before progress is written, and the age of the first of them after
/// which no further attempt begins.
const UNWRITTEN: usize = 32;
const UNWRITTEN_TIME: Duration = Duration::from_secs(1);

/// The name under which settings are leased, which no agent has, and the pause while another process has the lease.
const LEASE: &str = "\u{1f}push";
const LEASE_AGAIN: Duration = Duration::from_secs(1);

/// The parts that all workers share.
pub(super) struct WorkerContext {
    pub(super) repository: SettingRepository,
    pub(super) sender: Arc<dyn WebhookSender>,
    pub(super) metrics: Metrics,
    pub(super) slots: Arc<DeliverySlots>,
    pub(super) retry: RetrySettings,
    /// The log lines about settings that were given up: a receiver that is down has many.
    pub(super) given_up: LogInterval,
}

/// Delivers the events of one setting.
struct Worker {
    context: Arc<WorkerContext>,
    key: SettingKey,
    setting: Setting,
    progress: DeliveryProgress,
    /// The number of deliveries since progress was written, and the time of the first of them.
    unwritten: Option<(usize, Instant)>,
    /// Whether the last event was delivered.
    has_delivered_all: bool,
}

/// The next step of a worker after an attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum NextStep {
    Event,
    /// Try the same event again after this delay.
    Again(Duration),
    StopSignal,
}

/// Delivers the events in a task's log for a setting, until an event is given up or the worker is told to stop; a write
/// that has begun is finished first. Returns its reader if the task may have further events.
pub(super) async fn run(
    context: Arc<WorkerContext>,
    key: SettingKey,
    mut stop: StopSignal,
) -> Option<EventReader> {
    let Some(leases) = context.repository.store().leases() else {
        return run_alone(context, key, stop).await;
    };
    let (own_key, id) = (key.clone(), lease_id(&key));
    let lease = lease(&own_key, &id);
    loop {
        let pause = match leases.acquire(lease).await {
            Ok(Lease::Held(_)) => break,
            Ok(Lease::Elsewhere(_)) => LEASE_AGAIN,
            Err(_) => STORE_AGAIN,
        };
        if stop.comes_within(pause).await {
            return None;
        }
    }
    let left = run_alone(context, key, stop).await;
    leases.release_now_or_later(lease).await;
    left
}

fn lease<'a>(key: &'a SettingKey, id: &'a str) -> Conversation<'a> {
    Conversation { agent: LEASE, caller: &key.caller, id }
}

fn lease_id(key: &SettingKey) -> String {
    format!("{}/{}", key.task, key.id)
}

/// Delivers the events in the only process that delivers for the setting.
async fn run_alone(
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
        if !can_go_on(&key, &error) || stop.comes_within(STORE_AGAIN).await {
            return None;
        }
    }
}

/// Delivers until the store fails. `worker` then still knows the progress that may not have been written.
async fn deliver_all(
    worker: &mut Option<Worker>,
    context: &Arc<WorkerContext>,
    key: &SettingKey,
    stop: &mut StopSignal,
) -> Result<Option<EventReader>> {
    match worker {
        None => *worker = Worker::open(context, key).await?,
        // While the store failed, another process may have taken over. Its progress must not be overwritten.
        Some(known) => {
            if !known.is_current().await? {
                return Ok(None);
            }
        }
    }
    let Some(worker) = worker else {
        return Ok(None);
    };
    let left = worker.deliver_each(stop).await?;
    worker.write_unwritten().await?;
    Ok(left)
}

/// Returns a reader at the end of the log if everything in it was delivered for a setting. Returns `None` if events are
/// left or the log cannot be read: then a worker is needed.
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

/// Returns whether the worker should wait until the store works again. Logs the error.
fn can_go_on(SettingKey { task, id, .. }: &SettingKey, error: &StoreError) -> bool {
    let may_pass =
        error.is_temporary() || matches!(error, StoreError::InUse { .. } | StoreError::Closed);
    if !may_pass {
        tracing::error!(task, id, %error, "push notifications stop until a restart");
    } else if !error.is_reported_by_store() {
        tracing::warn!(task, id, %error, "push notifications wait for the store");
    }
    may_pass
}

impl Worker {
    /// Opens the worker of a setting; `None` if there is nothing to deliver for it.
    async fn open(context: &Arc<WorkerContext>, key: &SettingKey) -> Result<Option<Self>> {
        let Some(progress) = context.repository.progress(key).await? else {
            return Ok(None);
        };
        let setting = context.repository.setting(key).await?;
        Ok(setting.map(|setting| Self {
            context: context.clone(),
            key: key.clone(),
            setting,
            progress,
            unwritten: None,
            has_delivered_all: false,
        }))
    }

    /// Delivers the events in the log. The last progress may not have been written then.
    async fn deliver_each(&mut self, stop: &mut StopSignal) -> Result<Option<EventReader>> {
        // The store has failed after the last event.
        if self.has_delivered_all {
            self.finish().await?;
            return Ok(None);
        }
        let mut reader = None;
        loop {
            // This select and the one below are biased: a worker that was told to stop begins nothing new.
            let next = tokio::select! {
                biased;
                () = stop.requested() => return Ok(None),
                next = self.next(&mut reader) => next?,
            };
            let Some((notification, slot)) = next else {
                return Ok(reader);
            };
            if !self.is_current().await? {
                // Other processes may write its progress now.
                self.unwritten = None;
                return Ok(None);
            }
            let pause = match self.deliver(notification, slot, stop).await? {
                NextStep::Event => continue,
                NextStep::StopSignal => return Ok(None),
                NextStep::Again(pause) => pause,
            };
            reader = None;
            if stop.comes_within(pause).await {
                return Ok(None);
            }
        }
    }

    /// Returns whether the setting still exists, and this process still has its lease. Another process may have changed
    /// or removed the setting, or may have taken over from this one.
    async fn is_current(&mut self) -> Result<bool> {
        let repository = &self.context.repository;
        let Some(leases) = repository.store().leases() else {
            return Ok(true);
        };
        let id = lease_id(&self.key);
        let held = leases.acquire(lease(&self.key, &id));
        // Both queries are sent to the store at the same time.
        let (held, setting) = tokio::join!(held, repository.setting(&self.key));
        if let Lease::Elsewhere(_) = held? {
            return Ok(false);
        }
        let Some(setting) = setting? else {
            return Ok(false);
        };
        self.setting = setting;
        Ok(true)
    }

    /// Returns the next event in the log with a slot for its delivery.
    async fn next(
        &mut self,
        reader: &mut Option<EventReader>,
    ) -> Result<Option<(Notification, DeliverySlot)>> {
        if (self.unwritten).is_some_and(|(_, since)| since.elapsed() >= UNWRITTEN_TIME) {
            self.write_progress().await?;
        }
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
        self.write_unwritten().await?;
        let slot = self.context.slots.take(&request).await;
        let notification = self.read(reader).await?;
        Ok(notification.map(|notification| (notification, slot)))
    }

    /// Reads the next event; opens a reader behind the last delivered event if there is none.
    async fn read(&self, reader: &mut Option<EventReader>) -> Result<Option<Notification>> {
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

    /// Makes one attempt.
    async fn deliver(
        &mut self,
        notification: Notification,
        slot: DeliverySlot,
        stop: &mut StopSignal,
    ) -> Result<NextStep> {
        let outcome = tokio::select! {
            biased;
            () = stop.requested() => return Ok(NextStep::StopSignal),
            outcome = self.try_once(&notification, slot) => outcome,
        };
        let is_refused = matches!(outcome, Outcome::Refused { .. });
        let (reason, again) = match outcome {
            Outcome::Delivered => return self.delivered(&notification).await,
            Outcome::Failed { reason, again } => (reason, again),
            Outcome::Refused { reason } => (reason, None),
        };
        let failures = self.fail(&notification, reason);
        if is_refused {
            self.progress.give_up();
        }
        if self.progress.is_given_up() {
            return self.give_up().await;
        }
        self.write_progress().await?;
        Ok(NextStep::Again(self.context.retry.pause(failures, again, clock::random_u64())))
    }

    async fn try_once(&self, notification: &Notification, slot: DeliverySlot) -> Outcome {
        let delivery = DeliveryRequest::new(&self.setting, notification);
        let (agent, task) = (&self.progress.agent, &self.key.task);
        let cause = trace::of_message(notification.traceparent.as_deref());
        let span = trace::delivery(agent, task, &self.setting.host(), &cause);
        let begun = Instant::now();
        let outcome = tokio::select! {
            biased;
            outcome = self.context.sender.send(&delivery).instrument(span.clone()) => outcome,
            () = slot.preempted() => Outcome::Failed {
                reason: format!("no answer within {:?}, while others waited", begun.elapsed()),
                again: None,
            },
        };
        if outcome != Outcome::Delivered {
            bridge_telemetry::fail(&span, outcome.name());
        }
        self.context.metrics.pushed(agent, outcome.name(), begun.elapsed());
        outcome
    }

    fn fail(&mut self, notification: &Notification, reason: String) -> u32 {
        let (task, id) = (&self.key.task, &self.key.id);
        tracing::debug!(task, id, seq = notification.seq, reason, "a push notification failed");
        self.progress.failed(notification.seq, reason, &clock::present(), &self.context.retry)
    }

    /// Records that an event was delivered; after the last event there is no progress to store.
    async fn delivered(&mut self, notification: &Notification) -> Result<NextStep> {
        self.progress.delivered(notification.seq);
        if !notification.is_last {
            let (count, _) = self.unwritten.get_or_insert((0, Instant::now()));
            *count += 1;
            // Another process that takes over would deliver all of the events again.
            let is_shared = self.context.repository.store().leases().is_some();
            if is_shared || *count >= UNWRITTEN {
                self.write_progress().await?;
            }
            return Ok(NextStep::Event);
        }
        self.has_delivered_all = true;
        self.finish().await?;
        Ok(NextStep::StopSignal)
    }

    /// Removes the progress after the last event.
    async fn finish(&mut self) -> Result<()> {
        self.unwritten = None;
        self.context.repository.done(&self.key).await?;
        self.context.metrics.push_open(&self.progress.agent, -1);
        Ok(())
    }

    /// Stores the progress if events were delivered since the last time.
    async fn write_unwritten(&mut self) -> Result<()> {
        match self.unwritten {
            Some(_) => self.write_progress().await,
            None => Ok(()),
        }
    }

    async fn write_progress(&mut self) -> Result<()> {
        let repository = &self.context.repository;
        repository.put_progress(&self.key, &self.progress).await?;
        self.unwritten = None;
        Ok(())
    }

    async fn give_up(&mut self) -> Result<NextStep> {
        self.write_progress().await?;
        self.context.metrics.push_open(&self.progress.agent, -1);
        self.context.metrics.push_given_up(&self.progress.agent, 1);
        let (task, id) = (&self.key.task, &self.key.id);
        let (host, failing) = (self.setting.host(), self.progress.failing.as_ref());
        let reason = failing.map(|failing| failing.reason.as_str());
        match self.context.given_up.note() {
            Some(unlogged) => {
                tracing::warn!(
                    task,
                    id,
                    host,
                    reason,
                    unlogged,
                    "push notifications were given up"
                );
            }
            None => tracing::debug!(task, id, host, reason, "push notifications were given up"),
        }
        Ok(NextStep::StopSignal)
    }
}
