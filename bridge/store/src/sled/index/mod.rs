//! The index: the offsets of tasks and records in the log, and the lists that contain them. The whole index can be computed
//! from the log, so it may be behind the log, and can be rebuilt.
//!
//! The newest entries are in memory, in a *layer*. A full layer is sealed and written to sled as a *part*: sorted entries in
//! blocks, which never change and are never merged. A lookup begins with the newest: the layers, then the parts. A filter in
//! memory rules out nearly all parts without the key. The newest entry of a key is the valid one. The last written layer
//! also stays in memory, because most lookups are for tasks in it.
//!
//! The lists of a layer are updated when the layer is written, or when a list is read.
//!
//! Only [`Part::open_all`] decides which parts are valid after a crash: a part is valid if it has a description, which is
//! written last. The log after the newest part is replayed. A start after a normal end of the program does the same.
//!
//! - `current_index`: the current index, and its thread
//! - `layer`: entries in memory
//! - `parts`: all parts, newest first
//! - `merge`: merges the entries of all parts
//! - `scan`: reads the entries of all layers and parts in order
//! - `part`, `filter`: the format of entries in sled

mod current_index;
mod filter;
mod layer;
mod merge;
mod part;
mod parts;
mod scan;
#[cfg(test)]
mod tests;

pub(super) use current_index::CurrentIndex;
pub(super) use layer::Changes;

use std::{
    borrow::Cow,
    collections::BTreeMap,
    fs::File,
    panic::{AssertUnwindSafe, catch_unwind},
    path::PathBuf,
    sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError},
};

use self::{
    layer::{Layer, Lists},
    merge::Merge,
    part::Part,
    parts::Parts,
};
use super::{
    SledSettings,
    keys::{self, IndexedTask, Key},
    latest_append::LatestAppend,
    log::End,
};
use crate::{Result, StoreError, private};

/// The value of an entry; `None` if the key was removed.
type Value = Option<Vec<u8>>;

/// The entries that are written to a part.
type PartEntries<'e> = BTreeMap<Cow<'e, [u8]>, Option<Cow<'e, [u8]>>>;

/// The number of tasks by which lists are updated while the lock is held, so that it is held for a short time only. It is
/// small in tests.
const LIST_STEP: usize = if cfg!(test) { 8 } else { 128 };

/// The size of a full layer in bytes. A layer may have twice this size while the previous one is written. It is small in
/// tests.
const LAYER_BYTES: usize = if cfg!(test) { 24 << 10 } else { 16 << 20 };

/// The number of appends from which a layer is written at the end of the program, so that the next start need not replay
/// them.
const MIN_APPENDS_AT_END: usize = if cfg!(test) { 24 } else { 20_000 };

/// Entries by key. One thread changes the index; all others read it.
#[derive(Debug)]
pub(super) struct Index {
    db: sled::Db,
    /// The folder of sled's files.
    folder: PathBuf,
    state: Mutex<State>,
    /// Notified when a layer is full, when a layer was written, and at the end.
    changed: Condvar,
    /// Held while the set of parts changes.
    writing: Mutex<()>,
    layer_bytes: usize,
    settings: SledSettings,
}

/// The layers and parts, newest first. Entries move from one to the next atomically, so every reader finds them in one of
/// them.
#[derive(Debug)]
struct State {
    /// The layer that receives changes.
    young: Layer,
    /// The previous layer.
    old: Arc<Layer>,
    /// The old layer while it is being written.
    sealed: Option<Arc<Layer>>,
    parts: Arc<Parts>,
    phase: Phase,
    /// Whether the young layer is written before it is full.
    is_early: bool,
    /// Removed parts, oldest first, until no reader uses them.
    removed: Vec<Part>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    Running,
    Closed,
    /// A write or a read has failed: nothing more is written.
    Failed,
}

impl Index {
    /// Opens the index in the database of a folder.
    ///
    /// Errors: `Corrupt`, after which the index must be rebuilt; `Io`.
    pub(super) fn open(db: sled::Db, folder: PathBuf, settings: &SledSettings) -> Result<Self> {
        let parts = Parts::new(Part::open_all(&db)?, settings)?;
        if parts.all.iter().map(|part| part.meta.bytes).sum::<u64>() <= settings.page_cache {
            parts.all.iter().try_for_each(|part| part.check())?;
        }
        let newest = parts.all.first();
        let state = State {
            young: Layer::new(newest.map_or(End::default(), |newest| newest.meta.end)),
            old: Arc::default(),
            sealed: None,
            parts: Arc::new(parts),
            phase: Phase::Running,
            is_early: false,
            removed: Vec::new(),
        };
        Ok(Self {
            db,
            folder,
            state: Mutex::new(state),
            changed: Condvar::new(),
            writing: Mutex::default(),
            layer_bytes: LAYER_BYTES,
            settings: settings.clone(),
        })
    }

    pub(super) fn folder(&self) -> &PathBuf {
        &self.folder
    }

    /// Returns the position in the log up to which the index is complete.
    pub(super) fn end(&self) -> End {
        self.lock().young.end
    }

    /// Makes changes visible to all readers atomically. The index is complete up to `end` afterwards. Waits if the disk is
    /// too slow. A failed index has the changes in memory only.
    pub(super) fn apply(&self, changes: Changes, end: End) {
        let mut state = self.lock();
        while state.young.bytes() > 2 * self.layer_bytes && state.phase == Phase::Running {
            state = self.wait(state);
        }
        state.young.apply(changes, end);
        if state.sealed.is_none() && state.young.is_full(self.layer_bytes) {
            self.changed.notify_all();
        }
    }

    /// Returns whether a write or a read has failed, so that the index must be rebuilt.
    pub(super) fn has_failed(&self) -> bool {
        self.lock().phase == Phase::Failed
    }

    /// Returns the latest append of a task if it is in memory.
    pub(super) fn latest(&self, task: &str) -> Option<LatestAppend> {
        let state = self.lock();
        let latest = state.young.latest(task).or_else(|| state.old.latest(task));
        latest.cloned()
    }

    /// Returns the entry of a task on the disk. [`Index::latest`] must be called first, which is newer.
    pub(super) fn indexed_task(&self, task: &str) -> Result<Option<IndexedTask>> {
        let parts = Arc::clone(&self.lock().parts);
        let indexed = self.read_disk(|| parts.get(&keys::head(task)))?;
        indexed.map(|indexed| keys::read(&indexed)).transpose()
    }

    /// Returns the entry of a key that is not the key of a task.
    pub(super) fn get(&self, key: &[u8]) -> Result<Value> {
        match self.get_in_memory(key) {
            Ok(value) => Ok(value),
            Err(parts) => self.read_disk(|| parts.get(key)),
        }
    }

    /// Returns the entry of such a key if the disk need not be read.
    pub(super) fn peek(&self, key: &[u8]) -> Option<Value> {
        self.get_in_memory(key).ok()
    }

    /// Returns the entry of such a key, or the parts that must be read for it.
    fn get_in_memory(&self, key: &[u8]) -> Result<Value, Arc<Parts>> {
        let state = self.lock();
        if let Some(value) = state.young.get(key).or_else(|| state.old.get(key)) {
            return Ok(value.clone());
        }
        let parts = Arc::clone(&state.parts);
        drop(state);
        let may_have = parts.candidates(key).next().is_some();
        if may_have { Err(parts) } else { Ok(None) }
    }

    /// Returns the counts whose keys begin with `prefix`.
    pub(super) fn counts(&self, prefix: &[u8]) -> Result<BTreeMap<Key, usize>> {
        let mut counts = BTreeMap::<Key, i64>::new();
        let add = |counts: &mut BTreeMap<Key, i64>, lists: &Lists| {
            for (key, more) in lists.counts(prefix) {
                *counts.entry(key.clone()).or_default() += more;
            }
        };
        let (sealed, parts) = {
            let state = self.lock_with_lists();
            add(&mut counts, &state.young.lists);
            (state.sealed.clone(), Arc::clone(&state.parts))
        };
        if let Some(sealed) = sealed {
            add(&mut counts, sealed.complete_lists());
        }
        let group = keys::filter_key(prefix).unwrap_or(prefix);
        for (key, count) in self.read_disk(|| parts.counts(group))? {
            if key.starts_with(prefix) {
                *counts.entry(key).or_default() += count;
            }
        }
        let count = |(key, count)| (key, usize::try_from(count).unwrap_or_default());
        Ok(counts.into_iter().map(count).collect())
    }

    /// Returns the state after the lists of the young layer were completed.
    fn lock_with_lists(&self) -> MutexGuard<'_, State> {
        loop {
            let mut state = self.lock();
            if state.young.update_lists(LIST_STEP) {
                return state;
            }
            drop(state);
            // Other threads can take the lock in between.
            std::thread::yield_now();
        }
    }

    /// Reads from the disk. If this fails, the index is rebuilt.
    fn read_disk<T>(&self, read: impl FnOnce() -> Result<T>) -> Result<T> {
        guarded(read).map_err(|error| {
            if !self.has_failed() {
                tracing::error!("the index cannot be read and will be rebuilt: {error}");
            }
            self.set_phase(Phase::Failed);
            StoreError::Rebuilding
        })
    }

    fn set_phase(&self, phase: Phase) {
        let mut state = self.lock();
        if state.phase != Phase::Failed {
            state.phase = phase;
        }
        self.changed.notify_all();
    }

    /// Waits until the young layer is full, or until the end, and seals it. Returns `None` if nothing more is to be written.
    fn seal(&self) -> Option<Arc<Layer>> {
        let mut state = self.lock();
        loop {
            match state.phase {
                Phase::Failed => return None,
                Phase::Running if state.young.is_full(self.layer_bytes) || state.is_early => break,
                Phase::Closed if state.young.appends >= MIN_APPENDS_AT_END => break,
                Phase::Closed => return None,
                Phase::Running => state = self.wait(state),
            }
        }
        state.is_early = false;
        let (sealed, gone) = seal_young(&mut state);
        // The lock is released first, because it takes some time to free so much memory.
        drop(state);
        drop(gone);
        Some(sealed)
    }

    /// Writes a layer as a part. Once the part is durable, it replaces the layer.
    fn write_part(&self, sealed: &Layer) -> Result<()> {
        let _alone = self.writing.lock().unwrap_or_else(PoisonError::into_inner);
        let parts = Arc::clone(&self.lock().parts);
        let entries = part_entries(sealed, &parts)?;
        let part = Part::write(&self.db, parts.next_number(), sealed.end, &entries)?;
        drop(entries);
        self.db.flush()?;
        let failed = |error| StoreError::io("syncing the index", error);
        let file = File::open(self.folder.join("db")).map_err(failed)?;
        file.sync_data().map_err(failed)?;
        private::restrict(&self.folder);
        let all = std::iter::once(part).chain(parts.all.iter().cloned());
        let parts = Arc::new(Parts::new(all.collect(), &self.settings)?);
        let mut state = self.lock();
        (state.parts, state.sealed) = (parts, None);
        self.changed.notify_all();
        Ok(())
    }

    /// Returns the position in the log up to which the index on the disk is complete.
    pub(super) fn durable_end(&self) -> u64 {
        self.lock().parts.end()
    }

    /// Requests that the young layer is written soon.
    pub(super) fn write_soon(&self) {
        let mut state = self.lock();
        if state.sealed.is_none() && state.young.end.at > state.parts.end() {
            state.is_early = true;
            self.changed.notify_all();
        }
    }

    /// Removes the parts that end before the beginning of the log from the index: their valid entries were written again.
    /// The newest part is kept, since it has the position up to which the index is complete.
    pub(super) fn remove_parts(&self, begin: u64) {
        let _alone = self.writing.lock().unwrap_or_else(PoisonError::into_inner);
        let mut state = self.lock();
        let all = &state.parts.all;
        let stay = all.partition_point(|part| part.meta.end.at > begin).max(1);
        if stay >= all.len() {
            return;
        }
        let (all, gone) = (all[..stay].to_vec(), all[stay..].to_vec());
        if let Ok(parts) = Parts::new(all, &self.settings) {
            state.parts = Arc::new(parts);
            state.removed.extend(gone.into_iter().rev());
        }
    }

    /// Removes parts from the disk that were removed from the index and that no reader uses. The oldest is removed first,
    /// since newer parts have the information which of its entries are no longer valid.
    pub(super) fn drop_removed_parts(&self) -> Result<()> {
        loop {
            let part = {
                let mut state = self.lock();
                match state.removed.first() {
                    Some(part) if part.is_unread() => state.removed.remove(0),
                    Some(_) | None => return Ok(()),
                }
            };
            self.read_disk(|| part.remove())?;
        }
    }

    /// Returns the number of parts on the disk.
    #[cfg(test)]
    pub(super) fn parts(&self) -> usize {
        let state = self.lock();
        state.parts.all.len() + state.removed.len()
    }

    /// Waits until all layers that must be written are on the disk.
    #[cfg(test)]
    pub(super) fn settle(&self) {
        let mut state = self.lock();
        while state.phase == Phase::Running
            && (state.sealed.is_some() || state.is_early || state.young.is_full(self.layer_bytes))
        {
            state = self.wait(state);
        }
    }

    /// Acts as if a write had failed.
    #[cfg(test)]
    pub(super) fn fail(&self) {
        self.set_phase(Phase::Failed);
    }

    fn wait<'s>(&self, state: MutexGuard<'s, State>) -> MutexGuard<'s, State> {
        self.changed.wait(state).unwrap_or_else(PoisonError::into_inner)
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Returns the entries of a new part.
fn part_entries<'l>(sealed: &'l Layer, parts: &Arc<Parts>) -> Result<PartEntries<'l>> {
    let (mut entries, changed) = sealed.entries();
    let (mut counts, mut group) = (BTreeMap::new(), &[][..]);
    for (key, more) in &changed {
        let of_key = keys::filter_key(key).unwrap_or(key);
        if of_key != group {
            group = of_key;
            counts.extend(parts.counts(group)?);
        }
        *counts.entry(key.clone()).or_default() += more;
    }
    for (key, count) in counts {
        entries.insert(key.into(), Some(count.to_be_bytes().to_vec().into()));
    }
    // The part also has the open turns of older parts, so that only one part must be read for open turns.
    let mut older = Merge::new(parts, &[keys::TURN], &[keys::TURN]);
    while let Some((key, value)) = older.next_before(None)? {
        entries.entry(key.into()).or_insert(value.map(Cow::Owned));
    }
    // The entry of a removed key is only needed if an older part may have the key.
    entries.retain(|key, value| {
        let is_turn = key.first() == Some(&keys::TURN);
        value.is_some() || !is_turn && parts.candidates(key).next().is_some()
    });
    Ok(entries)
}

/// Seals the young layer, which becomes the old one. Returns it, and the previous old layer.
fn seal_young(state: &mut State) -> (Arc<Layer>, Arc<Layer>) {
    let empty = Layer::new(state.young.end);
    let young = Arc::new(std::mem::replace(&mut state.young, empty));
    let gone = std::mem::replace(&mut state.old, Arc::clone(&young));
    state.sealed = Some(Arc::clone(&young));
    (young, gone)
}

/// Calls sled, which may panic if its files are damaged. A panic becomes an error.
pub(super) fn guarded<T>(work: impl FnOnce() -> Result<T>) -> Result<T> {
    let done = catch_unwind(AssertUnwindSafe(work));
    done.unwrap_or_else(|_| Err(StoreError::corrupt("the index", "sled cannot read it")))
}

impl From<sled::Error> for StoreError {
    fn from(error: sled::Error) -> Self {
        match error {
            sled::Error::Io(error) => Self::io("using the index", error),
            error @ sled::Error::Corruption { .. } => Self::corrupt("the index", &error),
            error @ (sled::Error::CollectionNotFound(_)
            | sled::Error::Unsupported(_)
            | sled::Error::ReportableBug(_)) => {
                Self::io("using the index", std::io::Error::other(error))
            }
        }
    }
}
