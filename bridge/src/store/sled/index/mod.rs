//! The index: where in the log a thing stands, and in which lists. All of it follows from the log, so it
//! may be behind, and can be made anew.
//!
//! What followed lately stands in memory, in a *layer*. When that is full it is sealed and written to sled as a
//! *part*: sorted entries in blocks, which never change and are never merged. A lookup asks the newest first: the
//! layers, then the parts, of which a filter in memory rules out nearly all that do not have the key. What a newer one
//! says of a key counts.
//!
//! When the program ends what stands in memory is written too; a part that is small for that becomes a layer again at the
//! next start, so that programs that end often leave few.
//!
//! What a crash leaves is decided in one place, [`Part::open_all`]: a part counts when it says what it is, which is
//! written last; all behind the newest is read from the log again.
//!
//! - `current`: the index that is in use, and its thread
//! - `layer`: entries in memory
//! - `parts`: all parts, newest first
//! - `part`, `filter`: how entries stand in sled

mod current;
mod filter;
mod layer;
mod part;
mod parts;
#[cfg(test)]
mod tests;

pub(super) use current::Current;
pub(super) use layer::Changes;

use std::{
    collections::BTreeMap,
    fs::File,
    ops::Bound,
    panic::{AssertUnwindSafe, catch_unwind},
    path::PathBuf,
    sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError},
};

use self::{layer::Layer, part::Part, parts::Parts};
use super::{
    heads::Tip,
    keys::{self, Key},
    log::End,
    private,
};
use crate::store::StoreError;

/// What an entry says; nothing if it says that there is none.
type Value = Option<Vec<u8>>;

/// How many entries of a list are looked at together.
const PAGE: usize = 128;

/// The entries of so many tasks follow at a time: nobody is held up for longer than that takes. Tests have few tasks.
const FOLDED: usize = if cfg!(test) { 8 } else { 128 };

/// What the index may take.
#[derive(Clone, Copy, Debug)]
pub(super) struct Limits {
    /// A layer of so many bytes is sealed.
    pub(super) room: usize,
    /// A part of fewer bytes becomes a layer again.
    pub(super) small: u64,
    /// The bytes of the filters in memory, about.
    pub(super) filters: usize,
    /// So many message ids are remembered at least, the newest.
    pub(super) messages: u64,
    /// Parts of so many bytes are looked at whole when they are opened.
    pub(super) checked: u64,
}

/// Entries by key. One thread changes it, all others read.
#[derive(Debug)]
pub(super) struct Index {
    db: sled::Db,
    /// Where sled has its files.
    folder: PathBuf,
    state: Mutex<State>,
    /// There is something to write, or room again, or the end has come.
    moved: Condvar,
    limits: Limits,
}

/// What there is, newest first. An entry goes from one to the next in one step, so that every reader
/// finds it in one of them.
#[derive(Debug)]
struct State {
    /// Takes changes.
    young: Layer,
    /// Is being written as a part.
    sealed: Option<Arc<Layer>>,
    parts: Arc<Parts>,
    phase: Phase,
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
    pub(super) fn open(db: sled::Db, folder: PathBuf, limits: Limits) -> Result<Self, StoreError> {
        let mut parts = Part::open_all(&db, limits.filters)?;
        if parts.iter().map(|part| part.meta.bytes).sum::<u64>() <= limits.checked {
            parts.iter().try_for_each(Part::check)?;
        }
        let end = parts
            .first()
            .map_or(End::default(), |newest| newest.meta.end);
        let is_small = |newest: &Part| newest.meta.bytes < limits.small;
        let small = parts.first().is_some_and(is_small).then(|| parts.remove(0));
        let parts = Parts::new(parts.into_iter().map(Arc::new).collect(), limits);
        let state = State {
            young: match small {
                Some(part) => parts.layer(&part)?,
                None => Layer::new(end),
            },
            sealed: None,
            parts: Arc::new(parts),
            phase: Phase::Running,
        };
        let (state, moved) = (Mutex::new(state), Condvar::new());
        Ok(Self {
            db,
            folder,
            state,
            moved,
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
        while state.young.bytes() > 2 * self.limits.room && state.phase == Phase::Running {
            self.moved.notify_all();
            state = self.wait(state);
        }
        if state.phase == Phase::Failed {
            return Err(StoreError::Rebuilding);
        }
        state.young.apply(changes, end);
        if state.young.waiting() >= FOLDED || state.young.is_full(self.limits.room) {
            self.moved.notify_all();
        }
        Ok(())
    }

    /// The task's newest append, if its entries do not follow it yet.
    pub(super) fn tip(&self, task: &str) -> Option<Tip> {
        self.lock().young.tip(task).cloned()
    }

    /// Whether something of it could not be written or read: then it must be made anew.
    pub(super) fn has_failed(&self) -> bool {
        self.lock().phase == Phase::Failed
    }

    /// The entry of a key; of a task's see [`Index::tip`] first.
    pub(super) fn get(&self, key: &[u8]) -> Result<Value, StoreError> {
        match self.get_in_memory(key) {
            Ok(value) => Ok(value),
            Err(parts) => self.reading(|| parts.get(key)),
        }
    }

    /// The entry of a key if that is known without a look at the disk.
    pub(super) fn peek(&self, key: &[u8]) -> Option<Value> {
        self.get_in_memory(key).ok()
    }

    /// The same, or the parts that would have to be looked at.
    fn get_in_memory(&self, key: &[u8]) -> Result<Value, Arc<Parts>> {
        let state = self.lock();
        let sealed = state.sealed.as_deref();
        let known = state.young.get(key);
        if let Some(value) = known.or_else(|| sealed.and_then(|layer| layer.get(key))) {
            return Ok(value.clone());
        }
        let parts = Arc::clone(&state.parts);
        drop(state);
        let may_have = parts.with(key).next().is_some();
        if may_have { Err(parts) } else { Ok(None) }
    }

    /// The counts whose keys begin with `prefix`.
    pub(super) fn counts(self: Arc<Self>, prefix: Key) -> Result<Vec<(Key, usize)>, StoreError> {
        let keys = Arc::clone(&self).scan(prefix, None);
        let count = |entry: Result<(Key, Vec<u8>), StoreError>| {
            let key = entry?.0;
            let (later, parts) = {
                let state = self.lock();
                let layers = state.sealed.as_deref().into_iter().chain([&state.young]);
                let later = layers.filter_map(|layer| layer.get(&key));
                let later: i64 = later.map(|more| keys::count(more.as_deref())).sum();
                (later, Arc::clone(&state.parts))
            };
            let count = self.reading(|| Ok(keys::count(parts.get(&key)?.as_deref()) + later))?;
            Ok((key, usize::try_from(count).unwrap_or_default()))
        };
        keys.map(count).collect()
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
            let page = match self.reading(|| self.page(&prefix, &from)) {
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
        let (mut page, sealed, parts): (BTreeMap<_, _>, _, _) = {
            let mut state = self.lock();
            if keys::follows_tasks(prefix) {
                state.young.fold(usize::MAX);
            }
            let young = state.young.range(prefix, from).take(PAGE).collect();
            (young, state.sealed.clone(), Arc::clone(&state.parts))
        };
        let sealed = sealed
            .iter()
            .flat_map(|layer| layer.range(prefix, from).take(PAGE));
        for (key, value) in sealed {
            page.entry(key).or_insert(value);
        }
        let start = match from {
            Bound::Included(start) | Bound::Excluded(start) => start,
            Bound::Unbounded => prefix,
        };
        for part in parts.with(prefix) {
            shorten(&mut page);
            if !reaches(part, prefix, start, &page) {
                continue;
            }
            let is_behind = |(key, _): &(Key, Value)| *from != Bound::Excluded(key.clone());
            let is_listed = |(key, _): &(Key, Value)| key.starts_with(prefix);
            let entries = part
                .from(start)
                .filter(|entry| entry.as_ref().map_or(true, is_behind));
            let listed = entries.take_while(|entry| entry.as_ref().map_or(true, is_listed));
            for entry in listed.take(PAGE) {
                let (key, value) = entry?;
                page.entry(key).or_insert(value);
            }
        }
        shorten(&mut page);
        Ok(page)
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

    /// Has entries follow their tasks, and takes the layer when it is full, and at the end; `None` if there is nothing to
    /// be written any more.
    fn seal(&self) -> Option<Arc<Layer>> {
        let mut state = self.lock();
        loop {
            if state.phase == Phase::Failed {
                return None;
            } else if state.young.waiting() >= FOLDED {
                state.young.fold(FOLDED);
                // Others come in between.
                drop(state);
                state = self.lock();
            } else if state.young.is_full(self.limits.room) {
                return Some(self.take_young(&mut state));
            } else if state.phase == Phase::Closed {
                let is_left = !state.young.is_empty();
                return is_left.then(|| self.take_young(&mut state));
            } else {
                state = self.wait(state);
            }
        }
    }

    fn take_young(&self, state: &mut State) -> Arc<Layer> {
        state.young.fold(usize::MAX);
        let empty = Layer::new(state.young.end);
        let layer = Arc::new(std::mem::replace(&mut state.young, empty));
        state.sealed = Some(Arc::clone(&layer));
        layer
    }

    /// Makes a part of a layer durable and shows it in its place.
    fn write_part(&self, layer: &Layer) -> Result<(), StoreError> {
        let parts = Arc::clone(&self.lock().parts);
        let mut entries: Vec<(&[u8], Value)> = Vec::new();
        for (key, value) in layer.entries() {
            let value = match keys::is_count(key) {
                true => {
                    let count = keys::count(parts.get(key)?.as_deref());
                    let count = count + keys::count(value.as_deref());
                    Some(count.to_be_bytes().into())
                }
                // Nobody need be told that there is none where nobody knows of any.
                false if value.is_none() && parts.with(key).next().is_none() => continue,
                false => value.clone(),
            };
            entries.push((key, value));
        }
        entries.sort_unstable();
        let newest = parts.all.first().map(|newest| newest.number);
        let number = layer.former.or(newest).map_or(0, |newest| newest + 1);
        let written = entries.iter().map(|(key, value)| (*key, value.as_deref()));
        let part = Part::write(&self.db, number, layer.former, layer.end, written)?;
        self.db.flush()?;
        let failed = |error| StoreError::io("syncing the index", error);
        let file = File::open(self.folder.join("db")).map_err(failed)?;
        file.sync_data().map_err(failed)?;
        private::close(&self.folder);
        let all = [Arc::new(part)]
            .into_iter()
            .chain(parts.all.iter().cloned());
        let parts = Arc::new(Parts::new(all.collect(), self.limits));
        let mut state = self.lock();
        (state.parts, state.sealed) = (parts, None);
        self.moved.notify_all();
        Ok(())
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

/// Leaves the first entries.
fn shorten(page: &mut BTreeMap<Key, Value>) {
    while page.len() > PAGE {
        page.pop_last();
    }
}

/// Whether a part may have entries from `start` on that belong to the page. Of a lane the times tell.
fn reaches(part: &Part, prefix: &[u8], start: &[u8], page: &BTreeMap<Key, Value>) -> bool {
    if prefix.first() != Some(&keys::LANE) || keys::asked(prefix) != Some(prefix) {
        return true;
    }
    let Some((oldest, newest)) = part.meta.times else {
        return false;
    };
    let is_older = keys::time(start).is_none_or(|start| oldest <= start);
    let last = page.last_key_value().filter(|_| page.len() == PAGE);
    let last = last.and_then(|(key, _)| keys::time(key));
    is_older && last.is_none_or(|last| newest >= last)
}
