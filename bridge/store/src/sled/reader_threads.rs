//! The threads that read from the disk.

use std::sync::Arc;

use tokio::{
    runtime::{Builder, Runtime},
    sync::{Semaphore, oneshot},
};

use crate::{Result, StoreError};

/// The largest number of concurrent reads, each on a thread, beside the one of [`ReaderThreads::run_at_once`]. Each thread
/// keeps some megabytes of memory.
pub(super) const MAX_READS: usize = if cfg!(test) { 8 } else { 16 };

/// The threads of this store, which are started when they are needed. The program's tokio pool for blocking work is not
/// used because it starts a thread whenever none is idle, which were hundreds on a busy machine.
#[derive(Debug)]
pub(super) struct ReaderThreads {
    /// The runtime; `None` while this is dropped.
    runtime: Option<Runtime>,
    /// The permits for reads. Reads wait for them and not in the queue of the runtime, which would also run reads whose
    /// callers have left.
    permits: Arc<Semaphore>,
}

impl ReaderThreads {
    pub(super) fn new() -> Result<Self> {
        let runtime = Builder::new_current_thread()
            .thread_name("store-reader")
            .max_blocking_threads(MAX_READS + 1)
            .build();
        Ok(Self {
            runtime: Some(runtime.map_err(|error| StoreError::io("starting the readers", error))?),
            permits: Arc::new(Semaphore::new(MAX_READS)),
        })
    }

    /// Runs work on a thread. It runs to its end even if the caller leaves.
    pub(super) async fn run<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> Result<T> + Send + 'static,
    ) -> Result<T> {
        let permit = Arc::clone(&self.permits).acquire_owned().await;
        let permit = permit.map_err(|_| StoreError::Closed)?;
        self.run_at_once(permit, work).await
    }

    /// Does work on a thread, like [`run`](Self::run), but without waiting for a permit. `lock` is a lock that only one caller at
    /// a time has, and for which reads with a permit may wait. It is dropped after the work.
    pub(super) async fn run_at_once<T: Send + 'static>(
        &self,
        lock: impl Send + 'static,
        work: impl FnOnce() -> Result<T> + Send + 'static,
    ) -> Result<T> {
        let (sender, result) = oneshot::channel();
        // The work is boxed, so that little code is compiled for each kind of work.
        let work: Box<dyn FnOnce() + Send> = Box::new(move || {
            let done = work();
            drop(lock);
            // The caller may have left.
            drop(sender.send(done));
        });
        let runtime = self.runtime.as_ref().ok_or(StoreError::Closed)?;
        runtime.spawn_blocking(work);
        result.await.map_err(|_| StoreError::Closed)?
    }
}

impl Drop for ReaderThreads {
    fn drop(&mut self) {
        // The last owner may be an asynchronous task, which must not block.
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}
