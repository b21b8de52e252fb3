//! The index that is in use. When it has failed, another takes its place.

use std::{
    path::PathBuf,
    sync::{Arc, PoisonError, RwLock},
};

use super::{Changes, Index, Indexer, Value};
use crate::store::{
    StoreError,
    sled::{heads::Tip, keys::Key, log::End},
};

/// Shared by all who read it and the one who writes it.
#[derive(Clone, Debug)]
pub(in crate::store::sled) struct Current(Arc<RwLock<InUse>>);

/// An index and the threads that write it.
#[derive(Debug)]
pub(in crate::store::sled) struct InUse {
    pub(in crate::store::sled) index: Arc<Index>,
    pub(in crate::store::sled) indexer: Option<Indexer>,
    /// Where it is.
    pub(in crate::store::sled) folder: PathBuf,
}

impl Current {
    pub(in crate::store::sled) fn new(index: InUse) -> Self {
        Self(Arc::new(RwLock::new(index)))
    }

    /// Puts another in its place, and waits until the threads of this one have ended.
    pub(in crate::store::sled) fn replace(&self, index: InUse) {
        let mut current = self.0.write().unwrap_or_else(PoisonError::into_inner);
        let former = std::mem::replace(&mut *current, index);
        drop(current);
        drop(former);
    }

    /// Waits until everything is written; nothing is written afterwards.
    pub(in crate::store::sled) fn close(&self) {
        let mut current = self.0.write().unwrap_or_else(PoisonError::into_inner);
        let indexer = current.indexer.take();
        drop(current);
        drop(indexer);
    }

    pub(in crate::store::sled) fn folder(&self) -> PathBuf {
        let current = self.0.read().unwrap_or_else(PoisonError::into_inner);
        current.folder.clone()
    }

    /// As if it could not be written.
    #[cfg(test)]
    pub(in crate::store::sled) fn fail(&self) {
        self.now().turn(super::Phase::Failed);
    }

    pub(in crate::store::sled) fn has_failed(&self) -> bool {
        self.now().has_failed()
    }

    /// [`Index::apply`].
    pub(in crate::store::sled) fn apply(
        &self,
        changes: Changes,
        end: End,
    ) -> Result<(), StoreError> {
        self.now().apply(changes, end)
    }

    /// [`Index::tip`].
    pub(in crate::store::sled) fn tip(&self, task: &str) -> Option<Tip> {
        self.now().tip(task)
    }

    /// [`Index::get`].
    pub(in crate::store::sled) fn get(&self, key: &[u8]) -> Result<Value, StoreError> {
        self.now().get(key)
    }

    /// [`Index::peek`].
    pub(in crate::store::sled) fn peek(&self, key: &[u8]) -> Option<Value> {
        self.now().peek(key)
    }

    /// [`Index::scan`].
    pub(in crate::store::sled) fn scan(
        &self,
        prefix: Key,
        after: Option<Key>,
    ) -> impl Iterator<Item = Result<(Key, Vec<u8>), StoreError>> + use<> {
        Index::scan(self.now(), prefix, after)
    }

    fn now(&self) -> Arc<Index> {
        let current = self.0.read().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(&current.index)
    }
}
