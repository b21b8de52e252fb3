//! The index that is in use, and making it anew while the store is open.

use std::{
    fs,
    path::{Path, PathBuf},
    sync::{Arc, PoisonError, RwLock},
    thread::JoinHandle,
};

use super::{
    heads::Heads,
    index::{Index, Indexer},
    log::{self, End, Log, Seen},
    open::{SledSettings, Waiting, try_open_index},
    reader::Reader,
};
use crate::store::StoreError;

/// The two folders of which one has the index: sled may still write to that of a failed one.
pub(super) const FOLDERS: [&str; 2] = ["parts", "parts-2"];

/// The index that is in use, shared by all who read it and the one who writes it. When it has failed, another takes
/// its place.
#[derive(Clone, Debug)]
pub(super) struct Current(Arc<RwLock<InUse>>);

/// An index and the thread that writes it.
#[derive(Debug)]
pub(super) struct InUse {
    pub(super) index: Arc<Index>,
    pub(super) indexer: Option<Indexer>,
    /// Where it is.
    pub(super) folder: PathBuf,
}

impl Current {
    pub(super) fn new(index: InUse) -> Self {
        Self(Arc::new(RwLock::new(index)))
    }

    pub(super) fn now(&self) -> Arc<Index> {
        let current = self.0.read().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(&current.index)
    }

    /// Waits until everything is written; nothing is written afterwards.
    pub(super) fn close(&self) {
        let mut current = self.0.write().unwrap_or_else(PoisonError::into_inner);
        let indexer = current.indexer.take();
        drop(current);
        drop(indexer);
    }

    /// Puts another in its place, and waits until the thread of this one has ended.
    fn replace(&self, index: InUse) {
        let mut current = self.0.write().unwrap_or_else(PoisonError::into_inner);
        let former = std::mem::replace(&mut *current, index);
        drop(current);
        drop(former);
    }

    fn folder(&self) -> PathBuf {
        let current = self.0.read().unwrap_or_else(PoisonError::into_inner);
        current.folder.clone()
    }
}

/// Knows how an index is opened.
#[derive(Clone, Debug)]
pub(super) struct Mender(pub(super) SledSettings);

impl Mender {
    /// Has another index made of the log, in a thread of its own. Readers go on with the old one as far as it goes.
    pub(super) fn start(
        &self,
        reader: &Reader,
    ) -> Result<JoinHandle<Result<(), StoreError>>, StoreError> {
        let (mender, reader) = (self.clone(), reader.clone());
        let builder = std::thread::Builder::new().name("store-mender".into());
        let started = builder.spawn(move || mender.mend(&reader));
        started.map_err(|error| StoreError::io("making the index anew", error))
    }

    fn mend(&self, reader: &Reader) -> Result<(), StoreError> {
        let former = reader.index.folder();
        let name = FOLDERS.iter().find(|name| !former.ends_with(name));
        let folder = self.0.folder.join(name.unwrap_or(&FOLDERS[0]));
        remove(&folder)?;
        let made = self.make(reader, &folder);
        match made {
            Ok(index) => {
                reader.index.replace(index);
                remove(&former)
            }
            Err(error) => {
                remove(&folder)?;
                Err(error)
            }
        }
    }

    fn make(&self, reader: &Reader, folder: &Path) -> Result<InUse, StoreError> {
        let (index, file) = try_open_index(folder, &self.0)?;
        let index = Arc::new(index);
        let indexer = Indexer::start(Arc::clone(&index), file, folder.into())?;
        let made = |indexer| InUse {
            index: Arc::clone(&index),
            indexer,
            folder: folder.into(),
        };
        let anew = Reader {
            index: Current::new(made(None)),
            heads: Arc::new(Heads::default()),
            ..reader.clone()
        };
        let mut waiting = Waiting::new(End::default());
        let mut visit =
            |_: &Arc<Log>, seen: &Seen<'_>, end: End| waiting.take(seen, end, || anew.clone());
        log::walk(&reader.log, End::default(), &mut visit)?;
        waiting.follow(&anew)?;
        Ok(made(Some(indexer)))
    }
}

/// Removes a folder, if there is one.
pub(super) fn remove(folder: &Path) -> Result<(), StoreError> {
    let failed = |error| StoreError::io(format!("removing {}", folder.display()), error);
    match folder.exists() {
        true => fs::remove_dir_all(folder).map_err(failed),
        false => Ok(()),
    }
}
