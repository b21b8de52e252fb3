//! The threads that wait for the disk on behalf of readers.

use std::sync::Arc;

use tokio::{
    runtime::{Builder, Runtime},
    sync::{Semaphore, oneshot},
};

use crate::StoreError;

/// The largest number of reads that wait for the disk at a time, each on a thread. Each thread keeps some megabytes of memory
/// that it has used.
pub(super) const READERS: usize = if cfg!(test) { 8 } else { 16 };

/// Threads of this store alone, which are started when they are needed. tokio's pool for blocking work, which a program has
/// already, starts a thread whenever none is idle at that moment: on a busy machine these were hundreds.
#[derive(Debug)]
pub(super) struct ReaderThreads {
    /// Taken when this is dropped.
    runtime: Option<Runtime>,
    /// Further reads wait here and not in the runtime's queue, which would run those whose callers have left.
    room: Arc<Semaphore>,
}

impl ReaderThreads {
    pub(super) fn new() -> Result<Self, StoreError> {
        let runtime = Builder::new_current_thread()
            .thread_name("store-reader")
            .max_blocking_threads(READERS)
            .build();
        Ok(Self {
            runtime: Some(runtime.map_err(|error| StoreError::io("starting the readers", error))?),
            room: Arc::new(Semaphore::new(READERS)),
        })
    }

    /// Runs work on a thread, to its end even if nobody waits for it any more.
    pub(super) async fn run<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        let (sender, result) = oneshot::channel();
        // Boxed, so that little is compiled for each kind of work.
        let work = Box::new(move || drop(sender.send(work())));
        self.start(work).await?;
        result.await.map_err(|_| StoreError::Closed)?
    }

    async fn start(&self, work: Box<dyn FnOnce() + Send>) -> Result<(), StoreError> {
        let place = Arc::clone(&self.room).acquire_owned().await;
        let place = place.map_err(|_| StoreError::Closed)?;
        let runtime = self.runtime.as_ref().ok_or(StoreError::Closed)?;
        runtime.spawn_blocking(move || {
            let _place = place;
            work();
        });
        Ok(())
    }
}

impl Drop for ReaderThreads {
    fn drop(&mut self) {
        // The last owner may be asynchronous, and may not wait.
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}
