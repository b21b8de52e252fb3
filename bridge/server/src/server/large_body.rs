//! Parses and writes large bodies without blocking other requests.

use bridge_program::{LARGE_RESPONSE, large_responses};
use futures_util::future::{BoxFuture, Either, FutureExt as _, Ready, ready};
use tokio::runtime::{Handle, RuntimeFlavor};

/// Runs work whose duration depends on the size of a body. For a large body, the other tasks of this thread are moved
/// to another one first.
pub(super) fn block_if_large<T>(size: usize, work: impl FnOnce() -> T) -> T {
    let has_threads = || {
        let runtime = Handle::try_current();
        runtime.is_ok_and(|runtime| runtime.runtime_flavor() == RuntimeFlavor::MultiThread)
    };
    match size >= LARGE_RESPONSE && has_threads() {
        true => tokio::task::block_in_place(work),
        false => work(),
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
