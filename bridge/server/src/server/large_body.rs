//! Parses and writes large bodies without blocking other requests.

use bridge_program::{LARGE_RESPONSE, large_responses};
use futures_util::future::{BoxFuture, Either, FutureExt as _, Ready, ready};
use tokio::{
    runtime::{Handle, RuntimeFlavor},
    sync::Semaphore,
};

/// The number of threads that are added to those of the runtime for large bodies. Each keeps some megabytes of memory that
/// it has used, and tokio starts hundreds of them if it is not limited.
static ADDED: Semaphore = Semaphore::const_new(4);

/// Runs work whose duration depends on the size of a body. For a large body, the other tasks of this thread are moved
/// to another one first, unless several large bodies are being processed already.
pub(super) fn block_if_large<T>(size: usize, work: impl FnOnce() -> T) -> T {
    let has_threads = || {
        let runtime = Handle::try_current();
        runtime.is_ok_and(|runtime| runtime.runtime_flavor() == RuntimeFlavor::MultiThread)
    };
    if size < LARGE_RESPONSE || !has_threads() {
        return work();
    }
    match ADDED.try_acquire() {
        Ok(_added) => tokio::task::block_in_place(work),
        Err(_) => work(),
    }
}

/// Writes an answer of about this size. Only a few large answers are written at the same time, because each takes
/// several times its size in memory meanwhile.
pub(super) async fn write_large<T>(size: usize, write: impl FnOnce() -> T) -> T {
    let _permit = large_responses().serialise_permit(size).await;
    block_if_large(size, write)
}

/// An item of a stream that is written.
pub(super) type WrittenItem<T> = Either<Ready<T>, BoxFuture<'static, T>>;

/// Writes an item of a stream. A small item is written at once and without a boxed future, because a stream is idle for most of
/// its time and must not keep memory for writing meanwhile.
pub(super) fn write_item<T: Send + 'static>(
    size: usize,
    write: impl FnOnce() -> T + Send + 'static,
) -> WrittenItem<T> {
    match size {
        0..LARGE_RESPONSE => Either::Left(ready(write())),
        LARGE_RESPONSE.. => Either::Right(write_large(size, write).boxed()),
    }
}

#[cfg(test)]
mod tests {
    use std::{
        sync::atomic::{AtomicUsize, Ordering},
        thread,
        time::Duration,
    };

    use futures_util::future::join_all;

    use super::*;

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn few_large_bodies_are_processed_at_the_same_time() {
        static RUNNING: AtomicUsize = AtomicUsize::new(0);
        let work = || {
            let running = RUNNING.fetch_add(1, Ordering::SeqCst) + 1;
            thread::sleep(Duration::from_millis(5));
            RUNNING.fetch_sub(1, Ordering::SeqCst);
            running
        };
        let all =
            (0..200).map(|_| tokio::spawn(async move { block_if_large(LARGE_RESPONSE, work) }));
        let most = join_all(all).await.into_iter().map(Result::unwrap).max();
        // The two threads of the runtime, and the four that are added to them.
        assert!(most <= Some(6), "{most:?}");
    }
}
