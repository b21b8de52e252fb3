//! The index: where in the log a thing stands, and in which lists. All of it follows from the log, so it
//! may be behind, and can be made anew.
//!
//! What followed lately stands in memory, in a *layer*. When that is full it is sealed and written to sled as a
//! *part*: sorted entries in blocks, which never change. A lookup asks the newest first: the layers, then the parts,
//! of which a filter in memory rules out nearly all that do not have the key. What a newer one says of a key counts.
//! Parts are not merged; only the newest is taken along into the next as long as it is small, so that programs that
//! end often leave few.
//!
//! What a crash leaves is decided in one place, [`Part::open_all`]: a part counts when it says what it is, which is
//! written last; all behind the newest is read from the log again.
//!
//! - `layer`: entries in memory
//! - `block`, `filter`, `part`: how entries stand in sled
//! - `indexer`: the thread that seals layers and writes parts

mod block;
mod filter;
mod indexer;
mod layer;
mod part;
#[cfg(test)]
mod tests;

pub(super) use indexer::Indexer;
pub(super) use layer::Changes;

use std::{
    collections::{BTreeMap, BTreeSet},
    ops::Bound,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError},
};

use self::{
    layer::{Counts, Layer},
    part::Part,
};
use super::{
    heads::Tip,
    keys::{self, Key},
    log::End,
};
use crate::store::StoreError;

/// What an entry says; nothing if it says that there is none.
type Value = Option<Vec<u8>>;

/// How many entries of a list are looked at together.
const PAGE: usize = 128;

/// What the index may take.
#[derive(Clone, Copy, Debug)]
pub(super) struct Limits {
    /// A layer of so many bytes is sealed.
    pub(super) room: usize,
    /// A part of fewer bytes is taken along into the next.
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
    /// What is there is still written.
    Closing,
    /// Nothing is written any more: a write or a read has failed.
    Failed,
}

/// All parts.
#[derive(Debug)]
struct Parts {
    /// Newest first.
    all: Vec<Arc<Part>>,
    /// So many of them, the newest, remember message ids.
    remembering: usize,
    /// The greatest key of a task. Ids are made in order, so a new one needs no look at any part.
    last_task: Key,
}

impl Parts {
    fn new(all: Vec<Arc<Part>>, limits: Limits) -> Self {
        let mut left = limits.filters;
        let bounded = |part: Arc<Part>| match left.checked_sub(part.filter_bytes()) {
            Some(less) => {
                left = less;
                part
            }
            None => Arc::new(part.without_filter()),
        };
        let all: Vec<Arc<Part>> = all.into_iter().map(bounded).collect();
        let newer = all.iter().scan(0, |newer, part| {
            let before = *newer;
            *newer += part.meta.messages;
            Some(before)
        });
        Self {
            remembering: newer.take_while(|newer| *newer < limits.messages).count(),
            last_task: all
                .iter()
                .map(|part| &part.meta.last_task)
                .max()
                .cloned()
                .unwrap_or_default(),
            all,
        }
    }

    /// Those that may have the key, or keys that begin with this.
    fn with<'p>(&'p self, key: &[u8]) -> impl Iterator<Item = &'p Arc<Part>> + use<'p> {
        let count = match key.first() {
            Some(b'h') if *key > *self.last_task => 0,
            Some(b'm') => self.remembering,
            Some(_) | None => self.all.len(),
        };
        let hash = keys::asked(key).map(filter::hash);
        let may_have = move |part: &&Arc<Part>| hash.is_none_or(|hash| part.may_have(hash));
        self.all[..count].iter().filter(may_have)
    }
}

impl Index {
    /// What a database holds of it.
    ///
    /// Errors: `Corrupt`, then it must be made anew; `Io`.
    pub(super) fn open(db: sled::Db, limits: Limits) -> Result<Self, StoreError> {
        let parts = Part::open_all(&db, limits.filters)?;
        if parts.iter().map(|part| part.meta.bytes).sum::<u64>() <= limits.checked {
            parts.iter().try_for_each(|part| part.check(&db))?;
        }
        let newest = parts.first();
        let mut turns = BTreeSet::new();
        for entry in newest
            .into_iter()
            .flat_map(|part| part.from(&db, keys::TURNS))
        {
            let (key, _) = entry?;
            match key.strip_prefix(keys::TURNS) {
                Some(task) => turns.insert(super::codec::read_text(task, "the key of a turn")?),
                None => break,
            };
        }
        let end = newest.map_or(End::default(), |part| part.meta.end);
        let parts = parts.into_iter().map(Arc::new).collect();
        Ok(Self {
            db,
            state: Mutex::new(State {
                young: Layer::new(end, turns),
                sealed: None,
                parts: Arc::new(Parts::new(parts, limits)),
                phase: Phase::Running,
            }),
            moved: Condvar::new(),
            limits,
        })
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
        if self.is_busy(&state) {
            self.moved.notify_all();
        }
        Ok(())
    }

    /// The task's newest append, if its entries do not follow it yet.
    pub(super) fn tip(&self, task: &str) -> Option<Tip> {
        self.lock().young.tip(task).cloned()
    }

    /// Tasks with turns that have not ended, from after `after`.
    pub(super) fn turns(&self, after: &str, limit: usize) -> Vec<String> {
        let mut state = self.lock();
        state.young.fold(usize::MAX);
        let after = (Bound::Excluded(after), Bound::Unbounded);
        let later = state.young.turns.range::<str, _>(after);
        later.take(limit).cloned().collect()
    }

    /// Whether something of it could not be written or read: then it must be made anew.
    pub(super) fn has_failed(&self) -> bool {
        self.lock().phase == Phase::Failed
    }

    /// The entry of a key that does not follow a task, see [`Index::tip`].
    pub(super) fn get(&self, key: &[u8]) -> Result<Value, StoreError> {
        let parts = match self.get_in_memory(key) {
            Ok(value) => return Ok(value),
            Err(parts) => parts,
        };
        self.reading(|| {
            for part in parts.with(key) {
                if let Some(value) = part.get(&self.db, key)? {
                    return Ok(value);
                }
            }
            Ok(None)
        })
    }

    /// The same without a look at the disk, or the parts that would have to be looked at.
    fn get_in_memory(&self, key: &[u8]) -> Result<Value, Arc<Parts>> {
        let state = self.lock();
        let sealed = state.sealed.as_deref();
        let known = state.young.get(key);
        if let Some(value) = known.or_else(|| sealed.and_then(|layer| layer.get(key))) {
            return Ok(value.map(<[u8]>::to_vec));
        }
        let parts = Arc::clone(&state.parts);
        drop(state);
        let may_have = parts.with(key).next().is_some();
        if may_have { Err(parts) } else { Ok(None) }
    }

    /// The entry of a key if that is known without a look at the disk.
    pub(super) fn peek(&self, key: &[u8]) -> Option<Value> {
        self.get_in_memory(key).ok()
    }

    /// How many tasks of a caller at an agent there are in each state; see [`keys::counts`].
    pub(super) fn counts(&self, key: &[u8]) -> Result<Counts, StoreError> {
        let (young, sealed, parts) = {
            let mut state = self.lock();
            state.young.fold(usize::MAX);
            let sealed = state.sealed.as_ref().map(|layer| layer.counts(key));
            (state.young.counts(key), sealed, Arc::clone(&state.parts))
        };
        let mut counts = self.reading(|| self.counts_in(&parts, key))?;
        for later in sealed.iter().chain([&young]) {
            layer::add(&mut counts, later);
        }
        Ok(counts)
    }

    /// The keys of all counts.
    pub(super) fn counted(&self) -> Result<BTreeSet<Key>, StoreError> {
        let (mut keys, parts): (BTreeSet<Key>, _) = {
            let mut state = self.lock();
            state.young.fold(usize::MAX);
            let layers = state.sealed.as_deref().into_iter().chain([&state.young]);
            let counts = layers.flat_map(Layer::all_counts);
            (
                counts.map(|(key, _)| key.clone()).collect(),
                Arc::clone(&state.parts),
            )
        };
        self.reading(|| {
            for part in &parts.all {
                for entry in part.from(&self.db, keys::COUNTS) {
                    let (key, _) = entry?;
                    if !key.starts_with(keys::COUNTS) {
                        break;
                    }
                    keys.insert(key);
                }
            }
            Ok(keys)
        })
    }

    fn counts_in(&self, parts: &Parts, key: &[u8]) -> Result<Counts, StoreError> {
        for part in parts.with(key) {
            if let Some(Some(counts)) = part.get(&self.db, key)? {
                let broken = || StoreError::corrupt("the index", "counts are broken");
                return layer::read_counts(&counts).ok_or_else(broken);
            }
        }
        Ok(Counts::new())
    }

    /// Whoever cannot read has the index made anew. sled panics at some of what it finds broken.
    fn reading<T>(&self, read: impl FnOnce() -> Result<T, StoreError>) -> Result<T, StoreError> {
        let read = catch_unwind(AssertUnwindSafe(read));
        let read =
            read.unwrap_or_else(|_| Err(StoreError::corrupt("the index", "sled cannot read it")));
        read.map_err(|error| {
            if !self.has_failed() {
                tracing::error!("the index cannot be read, and is made anew: {error}");
            }
            self.turn(Phase::Failed);
            StoreError::Rebuilding
        })
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
            match self.reading(|| self.page(&prefix, &from)) {
                Ok(page) => {
                    let last = page.last_key_value().filter(|_| page.len() == PAGE);
                    next = last.map(|(key, _)| Bound::Excluded(key.clone()));
                    let there = page
                        .into_iter()
                        .filter_map(|(key, value)| Some((key, value?)));
                    Some(there.map(Ok).collect::<Vec<_>>())
                }
                Err(error) => Some(vec![Err(error)]),
            }
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
        shorten(&mut page);
        let start = match from {
            Bound::Included(start) | Bound::Excluded(start) => start,
            Bound::Unbounded => prefix,
        };
        for part in parts.with(prefix) {
            if keys::is_lane(prefix) && !reaches(part, start, &page) {
                continue;
            }
            let entries = part.from(&self.db, start);
            let is_behind = |(key, _): &(Key, Value)| match from {
                Bound::Excluded(from) => key > from,
                Bound::Included(_) | Bound::Unbounded => true,
            };
            let is_listed = |entry: &Result<(Key, Value), StoreError>| {
                entry
                    .as_ref()
                    .map_or(true, |(key, _)| key.starts_with(prefix))
            };
            let entries = entries.take_while(is_listed);
            for entry in entries
                .filter(|entry| entry.as_ref().map_or(true, is_behind))
                .take(PAGE)
            {
                let (key, value) = entry?;
                page.entry(key).or_insert(value);
            }
            shorten(&mut page);
        }
        Ok(page)
    }

    /// Looks at every entry of a kind, in no order. What is added meanwhile may be left out.
    pub(super) fn each(
        &self,
        kind: &[u8],
        mut visit: impl FnMut(&Key, Vec<u8>) -> Result<(), StoreError>,
    ) -> Result<(), StoreError> {
        let is_kind = |(key, _): &(&[u8], Option<&[u8]>)| key.starts_with(kind);
        let own = |(key, value): (&[u8], Option<&[u8]>)| (key.to_vec(), value.map(<[u8]>::to_vec));
        let (mut known, parts): (Vec<(Key, Value)>, _) = {
            let mut state = self.lock();
            state.young.fold(usize::MAX);
            let layers = state.sealed.as_deref().into_iter().chain([&state.young]);
            let known = layers
                .flat_map(Layer::entries)
                .filter(is_kind)
                .map(own)
                .collect();
            (known, Arc::clone(&state.parts))
        };
        let mut show = |key: &Key, value: Value| match value {
            // A newer entry of the key counts instead.
            Some(value) if self.get(key)?.as_ref() == Some(&value) => visit(key, value),
            Some(_) | None => Ok(()),
        };
        for (key, value) in known.drain(..) {
            show(&key, value)?;
        }
        for part in &parts.all {
            let mut entries = part.from(&self.db, kind);
            while let Some(entry) = self.reading(|| entries.next().transpose())? {
                if !entry.0.starts_with(kind) {
                    break;
                }
                show(&entry.0, entry.1)?;
            }
        }
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

/// Leaves the first entries.
fn shorten(page: &mut BTreeMap<Key, Value>) {
    while page.len() > PAGE {
        page.pop_last();
    }
}

/// Whether a part may have entries of a lane from `start` on that belong to the page.
fn reaches(part: &Part, start: &[u8], page: &BTreeMap<Key, Value>) -> bool {
    let Some((oldest, newest)) = part.meta.times else {
        return false;
    };
    let is_older = keys::time(start).is_none_or(|start| oldest <= start);
    let last = page.last_key_value().filter(|_| page.len() == PAGE);
    let last = last.and_then(|(key, _)| keys::time(key));
    is_older && last.is_none_or(|last| newest >= last)
}
