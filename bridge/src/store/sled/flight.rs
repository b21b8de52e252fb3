//! What is being written: readers do not show it before it is durable.
//!
//! sled shows a batch to readers as soon as it is applied, before it is on the disk. A reader therefore
//! reads first and asks here afterwards: if what it read belongs to the batch that is on its way, it
//! waits for the batch to arrive.

use std::{
    collections::BTreeSet,
    sync::{Mutex, MutexGuard, PoisonError},
};

use tokio::sync::watch;

use super::keys::Key;
use crate::store::StoreError;

/// The batch that is on its way.
#[derive(Debug)]
pub(super) struct Flight {
    aboard: Mutex<BTreeSet<Key>>,
    landed: watch::Sender<Landed>,
}

/// How many batches have arrived, and whether all did.
#[derive(Clone, Copy, Debug, Default)]
struct Landed {
    batches: u64,
    crashed: bool,
}

impl Flight {
    pub(super) fn new() -> Self {
        Self {
            aboard: Mutex::default(),
            landed: watch::Sender::default(),
        }
    }

    /// Before a batch is applied: what it is about, tasks by the keys of their heads.
    pub(super) fn start(&self, aboard: BTreeSet<Key>) {
        *self.lock() = aboard;
    }

    /// The batch is durable.
    pub(super) fn land(&self) {
        self.lock().clear();
        self.landed.send_modify(|landed| landed.batches += 1);
    }

    /// The batch is lost, or not: nobody knows, so nobody is shown what it is about.
    pub(super) fn crash(&self) {
        self.landed.send_modify(|landed| landed.crashed = true);
    }

    /// Whether a batch was lost, so that none can follow.
    pub(super) fn has_crashed(&self) -> bool {
        self.landed.borrow().crashed
    }

    /// Waits until what was read under `key` is durable.
    ///
    /// Errors: `Closed` if it may never be.
    pub(super) async fn settled(&self, key: &[u8]) -> Result<(), StoreError> {
        let mut landed = self.landed.subscribe();
        // Counted before it is looked for: a batch that lands in between must not be waited for.
        let seen = landed.borrow().batches;
        if !self.lock().contains(key) {
            return Ok(());
        }
        let done = |now: &Landed| now.batches > seen || now.crashed;
        match landed.wait_for(done).await {
            Ok(now) if !now.crashed => Ok(()),
            Ok(_) | Err(_) => Err(StoreError::Closed),
        }
    }

    fn lock(&self) -> MutexGuard<'_, BTreeSet<Key>> {
        self.aboard.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use std::{
        pin::{Pin, pin},
        task::{Context, Poll, Waker},
    };

    use super::*;

    fn poll<F: Future>(future: Pin<&mut F>) -> Poll<F::Output> {
        future.poll(&mut Context::from_waker(Waker::noop()))
    }

    #[tokio::test]
    async fn only_what_is_aboard_waits_and_only_for_its_own_batch() {
        let flight = Flight::new();
        flight.start([b"a".to_vec()].into());
        assert!(flight.settled(b"b").await.is_ok());
        let mut waiting = pin!(flight.settled(b"a"));
        assert!(poll(waiting.as_mut()).is_pending());
        flight.land();
        flight.start([b"a".to_vec()].into());
        assert!(matches!(poll(waiting), Poll::Ready(Ok(()))));
    }

    #[tokio::test]
    async fn what_may_be_lost_is_shown_to_nobody() {
        let flight = Flight::new();
        flight.start([b"a".to_vec()].into());
        let mut waiting = pin!(flight.settled(b"a"));
        assert!(poll(waiting.as_mut()).is_pending());
        flight.crash();
        assert!(matches!(waiting.await, Err(StoreError::Closed)));
        assert!(matches!(
            flight.settled(b"a").await,
            Err(StoreError::Closed)
        ));
        assert!(flight.settled(b"b").await.is_ok());
    }
}
