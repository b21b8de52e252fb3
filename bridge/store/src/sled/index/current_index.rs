//! The current index, and the thread that writes its parts.

use std::{
    sync::{Arc, PoisonError, RwLock},
    thread::JoinHandle,
};

use super::{Index, Phase, guarded};
use crate::{Result, StoreError};

/// The nice value of the thread, with which it gets a tenth of a busy processor. With 19, the lowest priority, the index
/// would fall behind, and the committer would wait for it.
#[cfg(target_os = "linux")]
const NICE: i32 = 10;

/// The current index, shared by its readers and its writer. A failed index is replaced. The last owner waits until the
/// thread of the index has ended.
#[derive(Clone, Debug)]
pub(in crate::sled) struct CurrentIndex(Arc<RwLock<Running>>);

#[derive(Debug)]
struct Running {
    index: Arc<Index>,
    thread: Option<JoinHandle<()>>,
}

impl CurrentIndex {
    pub(in crate::sled) fn start(index: Index) -> Result<Self> {
        let index = Arc::new(index);
        let thread = Some(start(&index)?);
        Ok(Self(Arc::new(RwLock::new(Running { index, thread }))))
    }

    pub(in crate::sled) fn get(&self) -> Arc<Index> {
        Arc::clone(&self.0.read().unwrap_or_else(PoisonError::into_inner).index)
    }

    /// Swaps the index with another one, for all owners.
    pub(in crate::sled) fn swap(&self, other: &Self) {
        let mut one = self.0.write().unwrap_or_else(PoisonError::into_inner);
        let mut other = other.0.write().unwrap_or_else(PoisonError::into_inner);
        std::mem::swap(&mut *one, &mut *other);
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.index.set_phase(Phase::Closed);
        let thread = self.thread.take();
        if thread.is_some_and(|thread| thread.join().is_err()) {
            tracing::error!("the thread of the store's index has panicked");
        }
    }
}

/// Starts the thread that writes parts.
fn start(index: &Arc<Index>) -> Result<JoinHandle<()>> {
    let index = Arc::clone(index);
    let write = move || {
        lower_priority();
        while let Some(layer) = index.seal() {
            let written = guarded(|| index.write_part(&layer));
            if let Err(error) = written {
                let folder = index.folder().display();
                tracing::error!(
                    "the index in {folder} cannot be written and will be rebuilt: {error}"
                );
                index.set_phase(Phase::Failed);
            }
        }
    };
    let builder = std::thread::Builder::new().name("store-indexer".into());
    builder.spawn(write).map_err(|error| StoreError::io("starting the indexer", error))
}

/// Lowers the priority of this thread, and of the threads that sled starts from it. No caller waits for their writes, but
/// callers wait for the committer, which may share a core with them.
#[cfg(target_os = "linux")]
fn lower_priority() {
    // If this fails, the store is only slower.
    let _ = rustix::process::nice(NICE);
}

/// Does nothing, since on other systems the priority is that of the whole process.
#[cfg(not(target_os = "linux"))]
fn lower_priority() {}
