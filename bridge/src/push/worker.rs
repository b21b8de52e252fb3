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
    book::{Book, Key},
    courier::{Courier, Outcome},
    lanes::Stop,
    letter::Letter,
    places::Wanted,
    progress::Progress,
    reader::{Notice, Reader},
    setting::Setting,
    slots::{Slot, Slots},
};
use crate::{clock, metrics::Metrics, store::StoreError};

/// After how long a store that failed is tried again.
const STORE_AGAIN: Duration = Duration::from_secs(30);

/// What all workers have.
pub(super) struct Means {
    pub(super) book: Book,
    pub(super) courier: Arc<dyn Courier>,
    pub(super) metrics: Metrics,
    pub(super) slots: Arc<Slots>,
    pub(super) retry: RetrySettings,
}

/// What delivers for one setting.
struct Worker {
    means: Arc<Means>,
    key: Key,
    setting: Setting,
    progress: Progress,
}

/// Whether the worker goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Next {
    Event,
    /// The same event, after so long.
    Again(Duration),
    Stop,
}

/// Delivers what a task's log holds for a setting, until an event is given up, or it is asked to stop. What it has
/// begun to write is written then. If the task goes on, it gives back how far it has read.
pub(super) async fn run(means: Arc<Means>, key: Key, mut stop: Stop) -> Option<Reader> {
    let mut worker = None;
    loop {
        let error = match deliver_all(&mut worker, &means, &key, &mut stop).await {
            Ok(left) => return left,
            Err(error) => error,
        };
        if !can_go_on(&key, &error) {
            return None;
        }
        tokio::select! {
            biased;
            () = stop.asked() => return None,
            () = sleep(STORE_AGAIN) => {}
        }
    }
}

/// The same until the store fails. The worker knows then what it may not have written.
async fn deliver_all(
    worker: &mut Option<Worker>,
    means: &Arc<Means>,
    key: &Key,
    stop: &mut Stop,
) -> Result<Option<Reader>, StoreError> {
    if worker.is_none() {
        *worker = Worker::open(means, key).await?;
    }
    match worker {
        Some(worker) => worker.deliver_all(stop).await,
        None => Ok(None),
    }
}

/// How far the log was read for a setting, if nothing that it holds is to be delivered. If that cannot be told, a
/// worker finds out.
pub(super) async fn rests(
    book: &Book,
    key: &Key,
    setting: &Setting,
    progress: &Progress,
) -> Option<Reader> {
    let (store, Key { caller, task, .. }) = (book.store(), key);
    let reader = Reader::open(store, caller, task, progress.seq, setting.version);
    let mut reader = reader.await.ok()?;
    let next = reader.next().await.ok()?;
    next.is_none().then_some(reader)
}

/// Whether a failure of the store is worth waiting for its end.
fn can_go_on(Key { task, id, .. }: &Key, error: &StoreError) -> bool {
    let is_final = is_final(error);
    match is_final {
        true => tracing::error!(task, id, %error, "push notifications wait for a restart"),
        false if error.is_told() => {}
        false => tracing::warn!(task, id, %error, "push notifications wait for the store"),
    }
    !is_final
}

impl Worker {
    /// The worker of a setting that something may be delivered for.
    async fn open(means: &Arc<Means>, key: &Key) -> Result<Option<Self>, StoreError> {
        let Some(progress) = means.book.progress(key).await? else {
            return Ok(None);
        };
        let setting = means.book.setting(key).await?;
        Ok(setting.map(|setting| Self {
            means: means.clone(),
            key: key.clone(),
            setting,
            progress,
        }))
    }

    /// Delivers what the log holds.
    async fn deliver_all(&mut self, stop: &mut Stop) -> Result<Option<Reader>, StoreError> {
        let mut reader = None;
        loop {
            // Here and below: who is to stop begins nothing more, though there is something to begin.
            let next = tokio::select! {
                biased;
                () = stop.asked() => return Ok(None),
                next = self.next(&mut reader) => next?,
            };
            let Some((notice, slot)) = next else {
                return Ok(reader);
            };
            let pause = match self.deliver(notice, slot, stop).await? {
                Next::Event => continue,
                Next::Stop => return Ok(None),
                Next::Again(pause) => pause,
            };
            reader = None;
            tokio::select! {
                biased;
                () = stop.asked() => return Ok(None),
                () = sleep(pause) => {}
            }
        }
    }

    /// The next event that the log holds, with a place for its delivery.
    async fn next(
        &self,
        reader: &mut Option<Reader>,
    ) -> Result<Option<(Notice, Slot)>, StoreError> {
        let Some(notice) = self.read(reader).await? else {
            return Ok(None);
        };
        let wanted = Wanted {
            caller: self.key.caller.name().to_owned(),
            host: self.setting.host(),
            is_again: self.progress.failing.is_some(),
        };
        if let Some(slot) = self.means.slots.try_take(&wanted) {
            return Ok(Some((notice, slot)));
        }
        drop((notice, reader.take()));
        let slot = self.means.slots.take(&wanted).await;
        let notice = self.read(reader).await?;
        Ok(notice.map(|notice| (notice, slot)))
    }

    /// Reads on, from behind what was delivered if there is no reader.
    async fn read(&self, reader: &mut Option<Reader>) -> Result<Option<Notice>, StoreError> {
        let reader = match reader {
            Some(reader) => reader,
            none => {
                let Key { caller, task, .. } = &self.key;
                let (store, seen) = (self.means.book.store(), self.progress.seq);
                let version = self.setting.version;
                none.insert(Reader::open(store, caller, task, seen, version).await?)
            }
        };
        reader.next().await
    }

    /// Tries once.
    async fn deliver(
        &mut self,
        notice: Notice,
        slot: Slot,
        stop: &mut Stop,
    ) -> Result<Next, StoreError> {
        let outcome = tokio::select! {
            biased;
            () = stop.asked() => return Ok(Next::Stop),
            outcome = self.try_once(&notice, slot) => outcome,
        };
        let (reason, again) = match outcome {
            Outcome::Delivered => return self.delivered(&notice).await,
            Outcome::Failed { reason, again } => (reason, again),
            Outcome::Refused { reason } => {
                self.fail(&notice, reason);
                self.progress.give_up();
                return self.give_up().await;
            }
        };
        let failures = self.fail(&notice, reason);
        if self.progress.is_given_up() {
            return self.give_up().await;
        }
        self.means
            .book
            .put_progress(&self.key, &self.progress)
            .await?;
        Ok(Next::Again(self.means.retry.pause(
            failures,
            again,
            clock::lot(),
        )))
    }

    async fn try_once(&self, notice: &Notice, slot: Slot) -> Outcome {
        let letter = Letter::new(&self.setting, notice);
        let begun = Instant::now();
        let outcome = tokio::select! {
            biased;
            outcome = self.means.courier.carry(&letter) => outcome,
            () = slot.wanted_by_others() => Outcome::Failed {
                reason: format!("no answer within {:?}, while others waited", begun.elapsed()),
                again: None,
            },
        };
        let agent = &self.progress.agent;
        self.means
            .metrics
            .pushed(agent, outcome.name(), begun.elapsed());
        outcome
    }

    fn fail(&mut self, notice: &Notice, reason: String) -> u32 {
        let (task, id) = (&self.key.task, &self.key.id);
        tracing::debug!(
            task,
            id,
            seq = notice.seq,
            reason,
            "a push notification was not taken"
        );
        self.progress
            .failed(notice.seq, reason, clock::now(), &self.means.retry)
    }

    /// The place behind a delivered event is kept before the next one is tried; behind the last there is none.
    async fn delivered(&mut self, notice: &Notice) -> Result<Next, StoreError> {
        self.progress.delivered(notice.seq);
        if !notice.is_last {
            self.means
                .book
                .put_progress(&self.key, &self.progress)
                .await?;
            return Ok(Next::Event);
        }
        self.means.book.done(&self.key).await?;
        self.means.metrics.push_open(&self.progress.agent, -1);
        Ok(Next::Stop)
    }

    async fn give_up(&mut self) -> Result<Next, StoreError> {
        self.means
            .book
            .put_progress(&self.key, &self.progress)
            .await?;
        self.means.metrics.push_open(&self.progress.agent, -1);
        self.means.metrics.push_given_up(&self.progress.agent, 1);
        let (task, id) = (&self.key.task, &self.key.id);
        let (host, failing) = (self.setting.host(), self.progress.failing.as_ref());
        let reason = failing.map(|failing| failing.reason.as_str());
        tracing::warn!(task, id, host, reason, "push notifications were given up");
        Ok(Next::Stop)
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
