//! Shuttle's semaphore with the functions of tokio's that the tested modules call, and tokio's `Notify`, at each step
//! of which another thread may continue.

use shuttle::{
    future::batch_semaphore::{AcquireError, BatchSemaphore, Fairness, TryAcquireError},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};
use tokio::sync::futures::Notified;

#[derive(Debug)]
pub(super) struct Semaphore(BatchSemaphore);

#[derive(Debug)]
pub(super) struct OwnedSemaphorePermit {
    semaphore: Arc<Semaphore>,
    count: usize,
}

#[derive(Debug, Default)]
pub(super) struct Notify {
    /// Shuttle chooses a thread whenever this is read.
    choice: AtomicBool,
    notify: tokio::sync::Notify,
}

impl Notify {
    pub(super) fn notified(&self) -> Notified<'_> {
        self.choice.load(Ordering::SeqCst);
        self.notify.notified()
    }

    pub(super) fn notify_waiters(&self) {
        self.choice.load(Ordering::SeqCst);
        self.notify.notify_waiters();
    }
}

impl Semaphore {
    pub(super) const MAX_PERMITS: usize = tokio::sync::Semaphore::MAX_PERMITS;

    pub(super) fn new(count: usize) -> Self {
        Self(BatchSemaphore::new(count, Fairness::StrictlyFair))
    }

    pub(super) fn try_acquire_owned(
        self: Arc<Self>,
    ) -> Result<OwnedSemaphorePermit, TryAcquireError> {
        self.try_acquire_many_owned(1)
    }

    pub(super) fn try_acquire_many_owned(
        self: Arc<Self>,
        count: u32,
    ) -> Result<OwnedSemaphorePermit, TryAcquireError> {
        let count = count as usize;
        self.0.try_acquire(count)?;
        Ok(OwnedSemaphorePermit { semaphore: self, count })
    }

    pub(super) async fn acquire_owned(
        self: Arc<Self>,
    ) -> Result<OwnedSemaphorePermit, AcquireError> {
        self.acquire_many_owned(1).await
    }

    pub(super) async fn acquire_many_owned(
        self: Arc<Self>,
        count: u32,
    ) -> Result<OwnedSemaphorePermit, AcquireError> {
        let count = count as usize;
        self.0.acquire(count).await?;
        Ok(OwnedSemaphorePermit { semaphore: self, count })
    }
}

impl Drop for OwnedSemaphorePermit {
    fn drop(&mut self) {
        self.semaphore.0.release(self.count);
    }
}
