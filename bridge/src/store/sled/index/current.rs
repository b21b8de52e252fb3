//! The index that is in use, and the thread that writes its parts.

use std::{
    sync::{Arc, PoisonError, RwLock, RwLockWriteGuard},
    thread::JoinHandle,
};

use super::{Index, Phase, guarded};
use crate::store::StoreError;

/// The index that is in use, shared by all who read it and the one who writes it, and the thread that writes its parts.
/// When it has failed, another takes its place.
#[derive(Clone, Debug)]
pub(in crate::store::sled) struct Current(Arc<RwLock<InUse>>);

#[derive(Debug)]
struct InUse {
    index: Arc<Index>,
    thread: Option<JoinHandle<()>>,
}

impl Current {
    pub(in crate::store::sled) fn new(index: Index) -> Result<Self, StoreError> {
        let index = Arc::new(index);
        let thread = Some(start(&index)?);
        Ok(Self(Arc::new(RwLock::new(InUse { index, thread }))))
    }

    pub(in crate::store::sled) fn now(&self) -> Arc<Index> {
        Arc::clone(&self.0.read().unwrap_or_else(PoisonError::into_inner).index)
    }

    /// Waits until everything is written; nothing is written afterwards.
    pub(in crate::store::sled) fn close(&self) {
        self.now().turn(Phase::Closed);
        let thread = self.lock().thread.take();
        if thread.is_some_and(|thread| thread.join().is_err()) {
            tracing::error!("the thread of the store's index has panicked");
        }
    }

    /// Puts another in its place, which is used nowhere else.
    pub(in crate::store::sled) fn replace(&self, other: &Self) {
        self.close();
        let (index, thread) = (other.now(), other.lock().thread.take());
        *self.lock() = InUse { index, thread };
    }

    fn lock(&self) -> RwLockWriteGuard<'_, InUse> {
        self.0.write().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Starts the thread that writes parts.
fn start(index: &Arc<Index>) -> Result<JoinHandle<()>, StoreError> {
    let index = Arc::clone(index);
    let write = move || {
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
