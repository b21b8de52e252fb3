//! The index: the place of each thing in the log, and the lists that have it. All of the index follows from the log, so
//! it may be behind the log, and can be made anew.
//!
//! The newest entries are in memory, in a *layer*. A full layer is sealed and written to sled as a *part*: sorted entries
//! in blocks, which never change and are never merged. A lookup asks the newest first: the layers, then the parts. A
//! filter in memory rules out nearly all parts that do not have the key. The newest entry of a key is the valid one. The
//! last layer that was written stays in memory too, because most tasks that are looked up are in it.
//!
//! The lists of a layer follow its tasks when it is written, or when somebody asks for a list.
//!
//! [`Part::open_all`] alone decides what is valid after a crash: a part is valid if it has its description, which is
//! written last. The log behind the newest part is read again. A normal end of the program is handled in the same way.
//!
//! - `in_use`: the index that is in use, and its thread
//! - `layer`: entries in memory
//! - `parts`: all parts, newest first
//! - `merge`: the entries of all parts in order
//! - `scan`: the entries of all layers and parts in order
//! - `part`, `filter`: the form of entries in sled

mod filter;
mod in_use;
mod layer;
mod merge;
mod part;
mod parts;
mod scan;
#[cfg(test)]
mod tests;

pub(super) use in_use::IndexInUse;
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
    parts::{Limits, Parts},
};
use super::{
    SledSettings,
    keys::{self, IndexedTask, Key},
    log::End,
    tip::Tip,
};
use crate::{StoreError, private};

/// The value of an entry; `None` if the entry says that the key has none.
type Value = Option<Vec<u8>>;

/// An entry on its way to a part.
type Entry<'e> = (Cow<'e, [u8]>, Option<Cow<'e, [u8]>>);

/// The number of tasks that lists take up while they hold the lock, so that others wait for a short time only. Tests have
/// few tasks.
const LISTED: usize = if cfg!(test) { 8 } else { 128 };

/// The size of a full layer in bytes. A layer may have twice that while the one before it is written. Tests have few
/// tasks.
const ROOM: usize = if cfg!(test) { 24 << 10 } else { 16 << 20 };

/// The number of appends from which a layer is written when the program ends, so that the next start need not read them.
const MANY: usize = if cfg!(test) { 24 } else { 20_000 };

/// Entries by key. One thread changes the index; all others read it.
#[derive(Debug)]
pub(super) struct Index {
    db: sled::Db,
    /// The folder of sled's files.
    folder: PathBuf,
    state: Mutex<State>,
    /// Notified when a layer is full, when there is room again, and at the end.
    moved: Condvar,
    /// Held while the set of parts changes.
    writing: Mutex<()>,
    room: usize,
    limits: Limits,
}

/// The layers and parts, newest first. An entry goes from one to the next in one step, so that every reader finds it in
/// one of them.
#[derive(Debug)]
struct State {
    /// The layer that takes changes.
    young: Layer,
    /// The layer before it.
    old: Arc<Layer>,
    /// The old layer while it is being written.
    sealed: Option<Arc<Layer>>,
    parts: Arc<Parts>,
    phase: Phase,
    /// Whether the young layer is to be written before it is full.
    is_hurried: bool,
    /// Parts without valid entries, oldest first, until nobody reads them.
    removed: Vec<Part>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    Running,
    Closed,
    /// A write or a read has failed: nothing is written any more.
    Failed,
}

impl Index {
    /// Opens the index in the database of a folder.
    ///
    /// Errors: `Corrupt`, after which the index must be made anew; `Io`.
    pub(super) fn open(
        db: sled::Db,
        folder: PathBuf,
        settings: &SledSettings,
    ) -> Result<Self, StoreError> {
        let limits = Limits {
            filters: settings.filters,
            messages: settings.message_ids,
        };
        let parts = Parts::new(Part::open_all(&db)?, limits)?;
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
            is_hurried: false,
            removed: Vec::new(),
        };
        Ok(Self {
            db,
            folder,
            state: Mutex::new(state),
            moved: Condvar::new(),
            writing: Mutex::default(),
            room: ROOM,
            limits,
        })
    }

    pub(super) fn folder(&self) -> &PathBuf {
        &self.folder
    }

    /// The end of that part of the log which is in the index.
    pub(super) fn end(&self) -> End {
        self.lock().young.end
    }

    /// Shows changes to all readers at once; the log before `end` is in the index afterwards. Waits if the disk does not
    /// keep up.
    ///
    /// Errors: `Rebuilding` if the index cannot be written any more.
    pub(super) fn apply(&self, changes: Changes, end: End) -> Result<(), StoreError> {
        let mut state = self.lock();
        while state.young.bytes() > 2 * self.room && state.phase == Phase::Running {
            state = self.wait(state);
        }
        if state.phase == Phase::Failed {
            return Err(StoreError::Rebuilding);
        }
        state.young.apply(changes, end);
        if state.sealed.is_none() && state.young.is_full(self.room) {
            self.moved.notify_all();
        }
        Ok(())
    }

    /// Whether a write or a read has failed, so that the index must be made anew.
    pub(super) fn has_failed(&self) -> bool {
        self.lock().phase == Phase::Failed
    }

    /// The newest append of a task that was written to lately.
    pub(super) fn tip(&self, task: &str) -> Option<Tip> {
        let state = self.lock();
        let tip = state.young.tip(task).or_else(|| state.old.tip(task));
        tip.cloned()
    }

    /// The entry of a task on the disk. Ask [`Index::tip`] first, which is newer.
    pub(super) fn indexed_task(&self, task: &str) -> Result<Option<IndexedTask>, StoreError> {
        let parts = Arc::clone(&self.lock().parts);
        let indexed = self.reading(|| parts.get(&keys::head(task)))?;
        indexed.map(|indexed| keys::read(&indexed)).transpose()
    }

    /// The entry of a key that is not the key of a task.
    pub(super) fn get(&self, key: &[u8]) -> Result<Value, StoreError> {
        match self.get_in_memory(key) {
            Ok(value) => Ok(value),
            Err(parts) => self.reading(|| parts.get(key)),
        }
    }

    /// The same, if no read from the disk is needed for it.
    pub(super) fn peek(&self, key: &[u8]) -> Option<Value> {
        self.get_in_memory(key).ok()
    }

    /// The same, or the parts that have to be read for it.
    fn get_in_memory(&self, key: &[u8]) -> Result<Value, Arc<Parts>> {
        let state = self.lock();
        if let Some(value) = state.young.get(key).or_else(|| state.old.get(key)) {
            return Ok(value.clone());
        }
        let parts = Arc::clone(&state.parts);
        drop(state);
        let may_have = parts.with(key).next().is_some();
        if may_have { Err(parts) } else { Ok(None) }
    }

    /// The counts whose keys begin with `prefix`.
    pub(super) fn counts(&self, prefix: &[u8]) -> Result<BTreeMap<Key, usize>, StoreError> {
        let mut counts = BTreeMap::<Key, i64>::new();
        let add = |counts: &mut BTreeMap<Key, i64>, lists: &Lists| {
            for (key, more) in lists.counts(prefix) {
                *counts.entry(key.clone()).or_default() += more;
            }
        };
        let (sealed, parts) = {
            let state = self.with_lists();
            add(&mut counts, &state.young.lists);
            (state.sealed.clone(), Arc::clone(&state.parts))
        };
        if let Some(sealed) = sealed {
            add(&mut counts, sealed.whole_lists());
        }
        let group = keys::filtered(prefix).unwrap_or(prefix);
        for (key, count) in self.reading(|| parts.counts(group))? {
            if key.starts_with(prefix) {
                *counts.entry(key).or_default() += count;
            }
        }
        let count = |(key, count)| (key, usize::try_from(count).unwrap_or_default());
        Ok(counts.into_iter().map(count).collect())
    }

    /// The state once the lists have all tasks of the young layer.
    fn with_lists(&self) -> MutexGuard<'_, State> {
        loop {
            let mut state = self.lock();
            if state.young.list(LISTED) {
                return state;
            }
            drop(state);
            // Other threads may take the lock in between.
            std::thread::yield_now();
        }
    }

    /// Reads from the disk. A failed read has the index made anew.
    fn reading<T>(&self, read: impl FnOnce() -> Result<T, StoreError>) -> Result<T, StoreError> {
        guarded(read).map_err(|error| {
            if !self.has_failed() {
                tracing::error!("the index cannot be read, and is made anew: {error}");
            }
            self.turn(Phase::Failed);
            StoreError::Rebuilding
        })
    }

    fn turn(&self, phase: Phase) {
        let mut state = self.lock();
        if state.phase != Phase::Failed {
            state.phase = phase;
        }
        self.moved.notify_all();
    }

    /// Takes the young layer when it is full, or at the end; `None` if there is nothing to be written any more.
    fn seal(&self) -> Option<Arc<Layer>> {
        let mut state = self.lock();
        loop {
            match state.phase {
                Phase::Failed => return None,
                Phase::Running if state.young.is_full(self.room) || state.is_hurried => break,
                Phase::Closed if state.young.appends() >= MANY => break,
                Phase::Closed => return None,
                Phase::Running => state = self.wait(state),
            }
        }
        state.is_hurried = false;
        let (sealed, gone) = take_young(&mut state);
        // Freeing so much memory takes a while, during which other threads may go on.
        drop(state);
        drop(gone);
        Some(sealed)
    }

    /// Writes a layer as a part, and shows the part in place of the layer once it is durable.
    fn write_part(&self, sealed: &Layer) -> Result<(), StoreError> {
        let _alone = self.writing.lock().unwrap_or_else(PoisonError::into_inner);
        let parts = Arc::clone(&self.lock().parts);
        let mut entries = entries_of(sealed, &parts)?;
        take_over_turns(&parts, &mut entries)?;
        let part = Part::write(&self.db, parts.next_number(), sealed.end, &entries)?;
        drop(entries);
        self.db.flush()?;
        let failed = |error| StoreError::io("syncing the index", error);
        let file = File::open(self.folder.join("db")).map_err(failed)?;
        file.sync_data().map_err(failed)?;
        private::restrict(&self.folder);
        let all = std::iter::once(part).chain(parts.all.iter().cloned());
        let parts = Arc::new(Parts::new(all.collect(), self.limits)?);
        let mut state = self.lock();
        (state.parts, state.sealed) = (parts, None);
        self.moved.notify_all();
        Ok(())
    }

    /// The end of that part of the log which is in the index on the disk.
    pub(super) fn durable_end(&self) -> u64 {
        let parts = &self.lock().parts;
        parts.all.first().map_or(0, |newest| newest.meta.end.at)
    }

    /// Has the young layer written soon.
    pub(super) fn write_soon(&self) {
        let mut state = self.lock();
        let durable = state
            .parts
            .all
            .first()
            .map_or(0, |newest| newest.meta.end.at);
        if state.sealed.is_none() && state.young.end.at > durable {
            state.is_hurried = true;
            self.moved.notify_all();
        }
    }

    /// Takes out the parts that end before the log begins: their valid entries were written anew. The newest part stays,
    /// since it has the end of that part of the log which is in the index.
    pub(super) fn remove_parts(&self, begin: u64) {
        let _alone = self.writing.lock().unwrap_or_else(PoisonError::into_inner);
        let mut state = self.lock();
        let all = &state.parts.all;
        let stay = all.partition_point(|part| part.meta.end.at > begin).max(1);
        if stay >= all.len() {
            return;
        }
        let (all, gone) = (all[..stay].to_vec(), all[stay..].to_vec());
        if let Ok(parts) = Parts::new(all, self.limits) {
            state.parts = Arc::new(parts);
            state.removed.extend(gone.into_iter().rev());
        }
    }

    /// Removes parts from the disk that were taken out and that nobody reads any more. The oldest goes first, since newer
    /// parts say which of its entries are no longer valid.
    pub(super) fn drop_removed_parts(&self) -> Result<(), StoreError> {
        loop {
            let part = {
                let mut state = self.lock();
                match state.removed.first() {
                    Some(part) if part.is_unread() => state.removed.remove(0),
                    Some(_) | None => return Ok(()),
                }
            };
            self.reading(|| part.remove())?;
        }
    }

    /// The number of parts.
    #[cfg(test)]
    pub(super) fn parts(&self) -> usize {
        self.lock().parts.all.len()
    }

    /// Waits until all that is to be written is on the disk.
    #[cfg(test)]
    pub(super) fn settle(&self) {
        let mut state = self.lock();
        while state.phase == Phase::Running
            && (state.sealed.is_some() || state.is_hurried || state.young.is_full(self.room))
        {
            state = self.wait(state);
        }
    }

    /// Acts as if a write had failed.
    #[cfg(test)]
    pub(super) fn fail(&self) {
        self.turn(Phase::Failed);
    }

    fn wait<'s>(&self, state: MutexGuard<'s, State>) -> MutexGuard<'s, State> {
        self.moved
            .wait(state)
            .unwrap_or_else(PoisonError::into_inner)
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The entries of a new part, in order.
fn entries_of<'l>(sealed: &'l Layer, parts: &Parts) -> Result<Vec<Entry<'l>>, StoreError> {
    let (mut entries, changed) = sealed.said();
    let (mut counts, mut group) = (BTreeMap::new(), &[][..]);
    for (key, more) in &changed {
        let of_key = keys::filtered(key).unwrap_or(key);
        if of_key != group {
            group = of_key;
            counts.extend(parts.counts(group)?);
        }
        *counts.entry(key.clone()).or_default() += more;
    }
    for (key, count) in counts {
        entries.push(key.into(), Some(count.to_be_bytes().to_vec().into()));
    }
    let mut entries = entries.in_order();
    // An entry that says that a key has none is needed only if an older part may have the key.
    entries.retain(|(key, value)| value.is_some() || parts.with(key).next().is_some());
    Ok(entries)
}

/// Adds the turns that began in older parts and are still open to the entries of a new part. So only one part has to be
/// read for the open turns.
fn take_over_turns(parts: &Arc<Parts>, entries: &mut Vec<Entry<'_>>) -> Result<(), StoreError> {
    let is_before = |kind| move |entry: &Entry<'_>| entry.0.first() < Some(&kind);
    let start = entries.partition_point(is_before(keys::TURN));
    let end = entries.partition_point(is_before(keys::TURN + 1));
    let mut turns = BTreeMap::new();
    let mut older = Merge::new(parts, &[keys::TURN], &[keys::TURN]);
    while let Some((key, value)) = older.next_before(None)? {
        turns.insert(Cow::Owned(key), value.map(Cow::Owned));
    }
    turns.extend(entries.drain(start..end));
    let open = turns.into_iter().filter(|(_, value)| value.is_some());
    entries.splice(start..start, open);
    Ok(())
}

/// Makes the young layer the old one. Returns it, and the layer that was the old one before.
fn take_young(state: &mut State) -> (Arc<Layer>, Arc<Layer>) {
    let empty = Layer::new(state.young.end);
    let young = Arc::new(std::mem::replace(&mut state.young, empty));
    let gone = std::mem::replace(&mut state.old, Arc::clone(&young));
    state.sealed = Some(Arc::clone(&young));
    (young, gone)
}

/// Calls sled, which may panic when it finds its files damaged; a panic becomes an error.
pub(super) fn guarded<T>(work: impl FnOnce() -> Result<T, StoreError>) -> Result<T, StoreError> {
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
