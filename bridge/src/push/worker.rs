//! Delivers the events of one task for one setting, one after the other.
//!
//! Who waits, for news of the task, for a place, or until an event is tried again, holds nothing of the task's log: it
//! is read when there is a place for the delivery. Most settings wait for their task most of the time, so a worker
//! that does keeps little more than the setting.
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
use crate::{
    clock,
    metrics::Metrics,
    store::{Seq, StoreError},
};

/// After how long a store that failed is tried again.
const STORE_AGAIN: Duration = Duration::from_secs(30);

/// What one worker needs.
pub(super) struct Worker {
    pub(super) book: Book,
    pub(super) courier: Arc<dyn Courier>,
    pub(super) metrics: Metrics,
    pub(super) slots: Arc<Slots>,
    pub(super) retry: RetrySettings,
    pub(super) key: Key,
    pub(super) setting: Setting,
    pub(super) progress: Progress,
}

/// What is left to do when all that the log holds was delivered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Rest {
    /// To wait for the events behind this one.
    From(Seq),
    Nothing,
}

/// Whether the worker goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Next {
    Event,
    /// The same event, after so long.
    Again(Duration),
    Stop,
}

impl Worker {
    /// Works until the task has ended and all is delivered, until an event is given up, or until it is asked to
    /// stop. What it has begun to write is written then.
    pub(super) async fn run(self, mut stop: Stop) {
        let mut worker = Box::new(self);
        loop {
            let news = match Box::pin(worker.deliver_all(&mut stop)).await {
                Ok(Rest::Nothing) => return,
                Ok(Rest::From(seen)) => tokio::select! {
                    biased;
                    () = stop.asked() => return,
                    news = worker.news(seen) => news,
                },
                Err(error) => Err(error),
            };
            match news {
                Ok(true) => {}
                Ok(false) => return,
                Err(error) if worker.can_go_on(&error) => tokio::select! {
                    biased;
                    () = stop.asked() => return,
                    () = sleep(STORE_AGAIN) => {}
                },
                Err(_) => return,
            }
        }
    }

    /// Whether a failure of the store is worth waiting for its end.
    fn can_go_on(&self, error: &StoreError) -> bool {
        let (task, id) = (&self.key.task, &self.key.id);
        let is_final = is_final(error);
        match is_final {
            true => tracing::error!(task, id, %error, "push notifications wait for a restart"),
            false if error.is_told() => {}
            false => tracing::warn!(task, id, %error, "push notifications wait for the store"),
        }
        !is_final
    }

    /// Waits until the log holds more than `seen`; false when there will be no more.
    async fn news(&self, seen: Seq) -> Result<bool, StoreError> {
        let Key { caller, task, .. } = &self.key;
        let mut watch = self.book.store().watch(caller, task).await?;
        Ok(watch.after(seen).await.is_some())
    }

    /// Delivers what the log holds.
    async fn deliver_all(&mut self, stop: &mut Stop) -> Result<Rest, StoreError> {
        let mut reader = None;
        loop {
            // Here and below: who is to stop begins nothing more, though there is something to begin.
            let next = tokio::select! {
                biased;
                () = stop.asked() => return Ok(Rest::Nothing),
                next = self.next(&mut reader) => next?,
            };
            let Some((notice, slot)) = next else {
                let seen = reader.map_or(self.progress.seq, |reader| reader.seen());
                return Ok(Rest::From(seen));
            };
            let pause = match self.deliver(notice, slot, stop).await? {
                Next::Event => continue,
                Next::Stop => return Ok(Rest::Nothing),
                Next::Again(pause) => pause,
            };
            reader = None;
            tokio::select! {
                biased;
                () = stop.asked() => return Ok(Rest::Nothing),
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
        if let Some(slot) = self.slots.try_take(&wanted) {
            return Ok(Some((notice, slot)));
        }
        drop((notice, reader.take()));
        let slot = self.slots.take(&wanted).await;
        let notice = self.read(reader).await?;
        Ok(notice.map(|notice| (notice, slot)))
    }

    /// Reads on, from behind what was delivered if there is no reader.
    async fn read(&self, reader: &mut Option<Reader>) -> Result<Option<Notice>, StoreError> {
        let reader = match reader {
            Some(reader) => reader,
            none => {
                let Key { caller, task, .. } = &self.key;
                let (store, seen) = (self.book.store(), self.progress.seq);
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
        self.book.put_progress(&self.key, &self.progress).await?;
        Ok(Next::Again(self.retry.pause(failures, again, clock::lot())))
    }

    async fn try_once(&self, notice: &Notice, slot: Slot) -> Outcome {
        let letter = Letter::new(&self.setting, notice);
        let begun = Instant::now();
        let outcome = tokio::select! {
            biased;
            outcome = self.courier.carry(&letter) => outcome,
            () = slot.wanted_by_others() => Outcome::Failed {
                reason: format!("no answer within {:?}, while others waited", begun.elapsed()),
                again: None,
            },
        };
        let agent = &self.progress.agent;
        self.metrics.pushed(agent, outcome.name(), begun.elapsed());
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
            .failed(notice.seq, reason, clock::now(), &self.retry)
    }

    /// The place behind a delivered event is kept before the next one is tried; behind the last there is none.
    async fn delivered(&mut self, notice: &Notice) -> Result<Next, StoreError> {
        self.progress.delivered(notice.seq);
        if !notice.is_last {
            self.book.put_progress(&self.key, &self.progress).await?;
            return Ok(Next::Event);
        }
        self.book.done(&self.key).await?;
        self.metrics.push_open(&self.progress.agent, -1);
        Ok(Next::Stop)
    }

    async fn give_up(&mut self) -> Result<Next, StoreError> {
        self.book.put_progress(&self.key, &self.progress).await?;
        self.metrics.push_open(&self.progress.agent, -1);
        self.metrics.push_given_up(&self.progress.agent, 1);
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
