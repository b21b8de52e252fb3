//! The index: where in the log a thing stands, and in which lists. All of it follows from the log, so it
//! may be behind, and can be made anew.
//!
//! What followed lately stands in memory, in a *layer*. When that is full it is sealed and written to sled as a
//! *part*: sorted entries in blocks, which never change and are never merged. A lookup asks the newest first: the
//! layers, then the parts, of which a filter in memory rules out nearly all that do not have the key. What a newer one
//! says of a key counts. The last layer that was written stays in memory too: most tasks that are asked for are in it.
//!
//! The lists of a layer follow its tasks when it is written, or when somebody asks for a list.
//!
//! What a crash leaves is decided in one place, [`Part::open_all`]: a part counts when it says what it is, which is
//! written last; all behind the newest is read from the log again. The end of a program is no different.
//!
//! - `in_use`: the index that is in use, and its thread
//! - `layer`: entries in memory
//! - `parts`: all parts, newest first
//! - `part`, `filter`: how entries stand in sled

mod filter;
mod in_use;
mod layer;
mod part;
mod parts;
#[cfg(test)]
mod tests;

pub(super) use in_use::IndexInUse;
pub(super) use layer::{Changes, Tip, TipState};

use std::{
    borrow::Cow,
    collections::BTreeMap,
    fs::File,
    ops::Bound,
    panic::{AssertUnwindSafe, catch_unwind},
    path::PathBuf,
    sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError},
};

use self::{
    layer::{Layer, Lists},
    part::Part,
    parts::{Limits, Parts},
};
use super::{
    SledSettings,
    keys::{self, IndexedTask, Key},
    log::End,
};
use crate::{StoreError, private};

/// What an entry says; nothing if it says that there is none.
type Value = Option<Vec<u8>>;

/// An entry on its way to a part.
type Entry<'e> = (Cow<'e, [u8]>, Option<Cow<'e, [u8]>>);

/// How many entries of a list are looked at together.
const PAGE: usize = 128;

/// The lists follow so many tasks at a time: nobody is held up for longer than that takes. Tests have few tasks.
const LISTED: usize = if cfg!(test) { 8 } else { 128 };

/// The bytes of a layer. It may have twice that while the one before it is written. Tests have few tasks.
const ROOM: usize = if cfg!(test) { 24 << 10 } else { 16 << 20 };

/// A layer of so many appends is written when the program ends, so that the next start need not read them.
const MANY: usize = if cfg!(test) { 24 } else { 20_000 };

/// Entries by key. One thread changes it, all others read.
#[derive(Debug)]
pub(super) struct Index {
    db: sled::Db,
    /// Where sled has its files.
    folder: PathBuf,
    state: Mutex<State>,
    /// A layer is full, or there is room again, or the end has come.
    moved: Condvar,
    /// Held while the parts become others.
    writing: Mutex<()>,
    room: usize,
    limits: Limits,
}

/// What there is, newest first. An entry goes from one to the next in one step, so that every reader
/// finds it in one of them.
#[derive(Debug)]
struct State {
    /// Takes changes.
    young: Layer,
    /// The layer before it.
    old: Arc<Layer>,
    /// The old layer while it is being written.
    sealed: Option<Arc<Layer>>,
    parts: Arc<Parts>,
    phase: Phase,
    /// The young layer is to be written before it is full.
    is_hurried: bool,
    /// Parts of which nothing counts any more, oldest first, until nobody reads them.
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
    /// What a database in a folder holds of it.
    ///
    /// Errors: `Corrupt`, then it must be made anew; `Io`.
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

    /// Up to where the log is in it.
    pub(super) fn end(&self) -> End {
        self.lock().young.end
    }

    /// Makes changes true at once for all readers; all of the log before `end` is in it then. Waits if
    /// the disk does not keep up.
    ///
    /// Errors: `Rebuilding` if it cannot be written any more.
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

    /// Whether something of it could not be written or read: then it must be made anew.
    pub(super) fn has_failed(&self) -> bool {
        self.lock().phase == Phase::Failed
    }

    /// The newest append of a task that was written to lately.
    pub(super) fn tip(&self, task: &str) -> Option<Tip> {
        let state = self.lock();
        let tip = state.young.tip(task).or_else(|| state.old.tip(task));
        tip.cloned()
    }

    /// What is known of a task on the disk; see [`Index::tip`] first.
    pub(super) fn indexed_task(&self, task: &str) -> Result<Option<IndexedTask>, StoreError> {
        let parts = Arc::clone(&self.lock().parts);
        let indexed = self.reading(|| parts.get(&keys::head(task)))?;
        indexed.map(|indexed| keys::read(&indexed)).transpose()
    }

    /// The entry of a key that is not a task's.
    pub(super) fn get(&self, key: &[u8]) -> Result<Value, StoreError> {
        match self.get_in_memory(key) {
            Ok(value) => Ok(value),
            Err(parts) => self.reading(|| parts.get(key)),
        }
    }

    /// The same if that is known without a look at the disk.
    pub(super) fn peek(&self, key: &[u8]) -> Option<Value> {
        self.get_in_memory(key).ok()
    }

    /// The same, or the parts that would have to be looked at.
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

    /// The entries of a list whose keys begin with `prefix`, in the order of the keys, from after `after` if that is
    /// given. What changes meanwhile is in it or not.
    pub(super) fn scan(
        self: Arc<Self>,
        prefix: Key,
        after: Option<Key>,
    ) -> impl Iterator<Item = Result<(Key, Vec<u8>), StoreError>> + use<> {
        let from = after.map_or(Bound::Included(prefix.clone()), Bound::Excluded);
        let mut next = Some(from);
        let pages = std::iter::from_fn(move || {
            let from = next.take()?;
            let page = match self.page(&prefix, &from) {
                Ok(page) => page,
                Err(error) => return Some(vec![Err(error)]),
            };
            let last = page.last_key_value().filter(|_| page.len() == PAGE);
            next = last.map(|(key, _)| Bound::Excluded(key.clone()));
            let there = page
                .into_iter()
                .filter_map(|(key, value)| Some(Ok((key, value?))));
            Some(there.collect())
        });
        pages.flatten()
    }

    /// The first entries after `from`, as they are at one moment, with those that say that there is none.
    fn page(&self, prefix: &[u8], from: &Bound<Key>) -> Result<BTreeMap<Key, Value>, StoreError> {
        let owned = |(key, value): (&Key, &Value)| (key.clone(), value.clone());
        let start = from.as_ref().map(Vec::as_slice);
        let (mut page, sealed, parts): (BTreeMap<_, _>, _, _) = {
            let state = self.with_lists();
            let young = state.young.lists.range(prefix, start).take(PAGE);
            let young = young.map(owned).collect();
            (young, state.sealed.clone(), Arc::clone(&state.parts))
        };
        let sealed = sealed.iter().map(|sealed| sealed.whole_lists());
        for (key, value) in sealed.flat_map(|lists| lists.range(prefix, start).take(PAGE)) {
            page.entry(key.clone()).or_insert_with(|| value.clone());
        }
        self.reading(|| parts.page(prefix, start, page))
    }

    /// What there is when the lists follow all tasks of the young layer.
    fn with_lists(&self) -> MutexGuard<'_, State> {
        loop {
            let mut state = self.lock();
            if state.young.list(LISTED) {
                return state;
            }
            drop(state);
            // Others come in between.
            std::thread::yield_now();
        }
    }

    /// Whoever cannot read has the index made anew.
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
        // To free so much takes a while, in which others may go on.
        drop(state);
        drop(gone);
        Some(sealed)
    }

    /// Makes a part of a layer durable and shows it in its place.
    fn write_part(&self, sealed: &Layer) -> Result<(), StoreError> {
        let _alone = self.writing.lock().unwrap_or_else(PoisonError::into_inner);
        let parts = Arc::clone(&self.lock().parts);
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
        // Nobody need be told that there is none where nobody knows of any.
        entries.retain(|(key, value)| value.is_some() || parts.with(key).next().is_some());
        let part = Part::write(&self.db, parts.next_number(), sealed.end, &entries)?;
        drop(entries);
        self.db.flush()?;
        let failed = |error| StoreError::io("syncing the index", error);
        let file = File::open(self.folder.join("db")).map_err(failed)?;
        file.sync_data().map_err(failed)?;
        private::close(&self.folder);
        let all = std::iter::once(part).chain(parts.all.iter().cloned());
        let parts = Arc::new(Parts::new(all.collect(), self.limits)?);
        let mut state = self.lock();
        (state.parts, state.sealed) = (parts, None);
        self.moved.notify_all();
        Ok(())
    }

    /// Up to where the log is in it on the disk.
    pub(super) fn durable_end(&self) -> u64 {
        let parts = &self.lock().parts;
        parts.all.first().map_or(0, |newest| newest.meta.end.at)
    }

    /// Has what followed lately written soon.
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

    /// Takes out the parts that end before the log begins: all that counts of them was said anew. The newest stays, since
    /// it tells up to where the log was followed.
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

    /// Removes from the disk what was taken out, as far as nobody reads it any more. The oldest goes first: what a newer one
    /// says of it counts until then.
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

    /// How many parts there are.
    #[cfg(test)]
    pub(super) fn parts(&self) -> usize {
        self.lock().parts.all.len()
    }

    /// As if it could not be written.
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

/// Makes the young layer the old one; answers with the one that was old too.
fn take_young(state: &mut State) -> (Arc<Layer>, Arc<Layer>) {
    let empty = Layer::new(state.young.end);
    let young = Arc::new(std::mem::replace(&mut state.young, empty));
    let gone = std::mem::replace(&mut state.old, Arc::clone(&young));
    state.sealed = Some(Arc::clone(&young));
    (young, gone)
}

/// Does what sled may panic at: what it finds broken is broken.
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
