//! Where large bodies are parsed and written.

use bridge_program::{LARGE, outgoing};
use tokio::runtime::{Handle, RuntimeFlavor};

/// Does what takes as long as a body of this size is large: apart from what others wait for, if it is.
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

/// Writes an answer of such a size: few large ones at once, for each takes several times its size meanwhile.
pub(super) async fn write_when_room<T>(size: usize, write: impl FnOnce() -> T) -> T {
    let _making = outgoing().making(size).await;
    block_if_large(size, write)
}
