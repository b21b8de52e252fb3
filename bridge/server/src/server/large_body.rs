//! Parses and writes large bodies without blocking other requests.

use bridge_program::{LARGE, outgoing};
use futures_util::future::{BoxFuture, Either, FutureExt as _, Ready, ready};
use tokio::runtime::{Handle, RuntimeFlavor};

/// Runs work whose duration depends on the size of a body. For a large body, the other tasks of this thread are moved
/// to another one first.
pub(super) fn block_if_large<T>(size: usize, work: impl FnOnce() -> T) -> T {
    let has_threads = || {
        let runtime = Handle::try_current();
        runtime.is_ok_and(|runtime| runtime.runtime_flavor() == RuntimeFlavor::MultiThread)
    };
    match size >= LARGE && has_threads() {
        true => tokio::task::block_in_place(work),
        false => work(),
    }
}

/// Writes an answer of about this size. Only a few large answers are written at the same time, because each takes
/// several times its size in memory meanwhile.
pub(super) async fn write_when_room<T>(size: usize, write: impl FnOnce() -> T) -> T {
    let _making = outgoing().making(size).await;
    block_if_large(size, write)
}

/// An item of a stream that is written.
pub(super) type WrittenItem<T> = Either<Ready<T>, BoxFuture<'static, T>>;

/// The same for an item of a stream. One that is not large is written at once: a stream is quiet for most of its time,
/// and keeps no room to write with meanwhile.
pub(super) fn write_item<T: Send + 'static>(
    size: usize,
    write: impl FnOnce() -> T + Send + 'static,
) -> WrittenItem<T> {
    match size {
        0..LARGE => Either::Left(ready(write())),
        LARGE.. => Either::Right(write_when_room(size, write).boxed()),
    }
}
