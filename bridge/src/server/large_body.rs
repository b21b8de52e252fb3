//! Parses and writes large bodies without blocking other requests.

use bridge_program::{LARGE, outgoing};
use tokio::runtime::{Handle, RuntimeFlavor};

/// Runs work whose duration depends on the size of a body. For a large body, the other tasks of this thread are moved to
/// another one first.
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
