//! The index that is in use, and the thread that writes its parts.

use std::{
    sync::{Arc, PoisonError, RwLock},
    thread::JoinHandle,
};

use super::{Index, Phase, guarded};
use crate::StoreError;

/// How much lower the priority is: a tenth of the processor while others want all of it. At 19, the lowest, the index falls
/// behind, and the committer waits for it.
#[cfg(target_os = "linux")]
const NICE: i32 = 10;

/// The index that is in use, shared by its readers and its writer. Another index takes its place when it has failed. The
/// last owner waits until the index's thread has ended.
#[derive(Clone, Debug)]
pub(in crate::sled) struct IndexInUse(Arc<RwLock<Running>>);

#[derive(Debug)]
struct Running {
    index: Arc<Index>,
    thread: Option<JoinHandle<()>>,
}

impl IndexInUse {
    pub(in crate::sled) fn start(index: Index) -> Result<Self, StoreError> {
        let index = Arc::new(index);
        let thread = Some(start(&index)?);
        Ok(Self(Arc::new(RwLock::new(Running { index, thread }))))
    }

    pub(in crate::sled) fn now(&self) -> Arc<Index> {
        Arc::clone(&self.0.read().unwrap_or_else(PoisonError::into_inner).index)
    }

    /// Swaps it with another index, for all who share it.
    pub(in crate::sled) fn swap(&self, other: &Self) {
        let mut one = self.0.write().unwrap_or_else(PoisonError::into_inner);
        let mut other = other.0.write().unwrap_or_else(PoisonError::into_inner);
        std::mem::swap(&mut *one, &mut *other);
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.index.turn(Phase::Closed);
        let thread = self.thread.take();
        if thread.is_some_and(|thread| thread.join().is_err()) {
            tracing::error!("the thread of the store's index has panicked");
        }
    }
}

/// Starts the thread that writes parts.
fn start(index: &Arc<Index>) -> Result<JoinHandle<()>, StoreError> {
    let index = Arc::clone(index);
    let write = move || {
        give_way();
        while let Some(layer) = index.seal() {
            let written = guarded(|| index.write_part(&layer));
            if let Err(error) = written {
                tracing::error!("the index cannot be written, and is made anew: {error}");
                index.turn(Phase::Failed);
            }
        }
    };
    let builder = std::thread::Builder::new().name("store-indexer".into());
    builder
        .spawn(write)
        .map_err(|error| StoreError::io("starting the indexer", error))
}

/// Lowers the priority of this thread, and of the threads that sled starts from it: nobody waits for what they write, but
/// everybody for the committer, which may have to share a core with them.
#[cfg(target_os = "linux")]
fn give_way() {
    // A system that does not allow it is only slower.
    let _ = rustix::process::nice(NICE);
}

/// Elsewhere a priority is that of the whole process.
#[cfg(not(target_os = "linux"))]
fn give_way() {}
