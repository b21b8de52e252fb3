//! Delivers the events of one task for one setting, one after the other.
//!
//! No lease is taken, since every store that there is can be opened by one process only. Over one that several
//! machines share, all of them would deliver. `Worker::deliver` is then where one takes a lease for its lane, of a
//! kind of its own: that of [`Store::acquire`](crate::store::Store::acquire) is for a task's turns, which may run on
//! another machine. Who has it reads the progress anew, because another may have delivered meanwhile, and renews
//! it before each attempt; who does not get it waits until it is over. A lane that only waits for its task needs
//! none, so that their number costs nothing.

use std::sync::Arc;

use tokio::time::{Instant, sleep};

use super::{
    RetrySettings,
    book::{Book, Key},
    courier::{Courier, Outcome},
    lanes::Stop,
    letter::Letter,
    progress::Progress,
    reader::{Notice, Reader},
    setting::Setting,
    slots::Slots,
};
use crate::{clock, metrics::Metrics, store::StoreError};

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

/// Whether the worker goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Next {
    Event,
    Stop,
}

impl Worker {
    /// Works until the task has ended and all is delivered, until an event is given up, or until it is asked to
    /// stop. What it has begun to write is written then.
    pub(super) async fn run(mut self, stop: Stop) {
        if let Err(error) = self.deliver_all(stop).await {
            let (task, id) = (&self.key.task, &self.key.id);
            tracing::error!(task, id, %error, "push notifications wait for a restart");
        }
    }

    async fn deliver_all(&mut self, mut stop: Stop) -> Result<(), StoreError> {
        let (Key { caller, task, .. }, seen) = (&self.key, self.progress.seq);
        let version = self.setting.version;
        let mut reader = Reader::open(self.book.store(), caller, task, seen, version).await?;
        loop {
            // Here and below: who is to stop begins nothing more, though there is something to begin.
            let notice = tokio::select! {
                biased;
                () = stop.asked() => return Ok(()),
                notice = reader.next() => notice?,
            };
            let Some(notice) = notice else {
                return Ok(());
            };
            match self.deliver(&notice, &mut stop).await? {
                Next::Event => {}
                Next::Stop => return Ok(()),
            }
        }
    }

    /// Tries until the event is taken or given up.
    async fn deliver(&mut self, notice: &Notice, stop: &mut Stop) -> Result<Next, StoreError> {
        let letter = Letter::new(&self.setting, notice);
        let host = self.courier.host(&letter);
        loop {
            let outcome = tokio::select! {
                biased;
                () = stop.asked() => return Ok(Next::Stop),
                outcome = self.try_once(&letter, &host) => outcome,
            };
            let (reason, again) = match outcome {
                Outcome::Delivered => return self.delivered(notice).await,
                Outcome::Failed { reason, again } => (reason, again),
                Outcome::Refused { reason } => {
                    self.fail(notice, reason);
                    self.progress.give_up();
                    return self.give_up(&host).await;
                }
            };
            let failures = self.fail(notice, reason);
            if self.progress.is_given_up() {
                return self.give_up(&host).await;
            }
            self.book.put_progress(&self.key, &self.progress).await?;
            let pause = self.retry.pause(failures, again, clock::lot());
            tokio::select! {
                biased;
                () = stop.asked() => return Ok(Next::Stop),
                () = sleep(pause) => {}
            }
        }
    }

    async fn try_once(&self, letter: &Letter, host: &str) -> Outcome {
        let _slot = self.slots.take(host).await;
        let begun = Instant::now();
        let outcome = self.courier.carry(letter).await;
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

    async fn give_up(&mut self, host: &str) -> Result<Next, StoreError> {
        self.book.put_progress(&self.key, &self.progress).await?;
        self.metrics.push_open(&self.progress.agent, -1);
        self.metrics.push_given_up(&self.progress.agent, 1);
        let (task, id) = (&self.key.task, &self.key.id);
        let reason = self
            .progress
            .failing
            .as_ref()
            .map(|failing| failing.reason.as_str());
        tracing::warn!(task, id, host, reason, "push notifications were given up");
        Ok(Next::Stop)
    }
}
