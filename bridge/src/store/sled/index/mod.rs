//! The index: where in the log a thing stands, and in which lists. All of it follows from the log, so it
//! may be behind, and can be made anew.
//!
//! sled's cost is by the key, in time (7 µs) and in memory (4 KB, which its cache does not count), so
//! entries do not stand in it one by one: what was written in a while is sorted and stored as a *run* of
//! blocks of some hundred entries each. A lookup asks the newest first: what is in memory, then the runs,
//! of which a filter rules out nearly all that do not have the key. Runs of about the same size are
//! merged, so there are few of them.
//!
//! - `changes`, `layer`: entries in memory, before they are in a run
//! - `block`, `filter`, `run`: how entries stand in sled
//! - `manifest`: which runs there are, and up to where in the log they are complete
//! - `merge`: several sorted sources as one
//! - `indexer`: the threads that write and merge runs
//! - `current`: the index that is in use, which another may take the place of

mod block;
mod changes;
mod current;
mod filter;
mod indexer;
mod layer;
mod manifest;
mod merge;
mod run;
#[cfg(test)]
mod tests;

pub(super) use changes::Changes;
pub(super) use current::{Current, InUse};
pub(super) use indexer::Indexer;

use std::{
    ops::Bound,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError},
};

use self::{
    layer::Layer,
    manifest::Manifest,
    merge::{Listed, Merge, Source},
    run::Run,
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

/// Entries by key. One thread changes it, all others read.
#[derive(Debug)]
pub(super) struct Index {
    db: sled::Db,
    state: Mutex<State>,
    /// There is something to write, or room again, or the end has come.
    moved: Condvar,
    manifest: Mutex<Manifest>,
    /// A layer that has so many bytes takes no more changes before the one before it is in a run.
    room: usize,
}

/// What there is, newest first. An entry goes from one to the next in one step, so that every reader
/// finds it in one of them.
#[derive(Debug)]
struct State {
    /// Takes changes.
    young: Layer,
    /// Is being written as a run.
    sealed: Option<Arc<Layer>>,
    /// Newest first.
    runs: Vec<Arc<Run>>,
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

impl Index {
    /// What a database holds of it. In memory there are twice `room` bytes of it, and one batch, at most.
    ///
    /// Errors: `Corrupt`, then it must be made anew; `Io`.
    pub(super) fn open(db: sled::Db, room: usize) -> Result<Self, StoreError> {
        let (manifest, runs) = Manifest::open(&db)?;
        let end = manifest.end();
        Ok(Self {
            db,
            state: Mutex::new(State {
                young: Layer::new(end),
                sealed: None,
                runs,
                phase: Phase::Running,
            }),
            moved: Condvar::new(),
            manifest: Mutex::new(manifest),
            room,
        })
    }

    /// Up to where the log is in it.
    pub(super) fn end(&self) -> End {
        self.lock().young.end()
    }

    /// Makes changes true at once for all readers; all of the log before `end` is in it then. Waits if
    /// the disk does not keep up.
    ///
    /// Errors: `Rebuilding` if it cannot be written any more.
    pub(super) fn apply(&self, changes: Changes, end: End) -> Result<(), StoreError> {
        let mut state = self.lock();
        while state.young.bytes() > self.room && state.phase == Phase::Running {
            self.moved.notify_all();
            state = self.wait(state);
        }
        if state.phase == Phase::Failed {
            return Err(StoreError::Rebuilding);
        }
        let was_empty = state.young.is_empty();
        state.young.apply(changes, end);
        drop(state);
        if was_empty {
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

    /// The entry of a key that does not follow a task, see [`Index::tip`].
    pub(super) fn get(&self, key: &[u8]) -> Result<Value, StoreError> {
        let runs = match self.get_in_memory(key) {
            Ok(value) => return Ok(value),
            Err(runs) => runs,
        };
        self.reading(|| {
            for run in runs {
                if let Some(value) = run.get(&self.db, key)? {
                    return Ok(value);
                }
            }
            Ok(None)
        })
    }

    /// The same without a look at the disk, or the runs that would have to be looked at.
    fn get_in_memory(&self, key: &[u8]) -> Result<Value, Vec<Arc<Run>>> {
        let state = self.lock();
        let sealed = state.sealed.as_deref();
        let known = state.young.get(key);
        match known.or_else(|| sealed.and_then(|layer| layer.get(key))) {
            Some(value) => Ok(value.map(<[u8]>::to_vec)),
            None => match state.runs_with(key) {
                runs if runs.is_empty() => Ok(None),
                runs => Err(runs),
            },
        }
    }

    /// The entry of a key if that is known without a look at the disk.
    pub(super) fn peek(&self, key: &[u8]) -> Option<Value> {
        self.get_in_memory(key).ok()
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

    /// The entries whose keys begin with `prefix`, in the order of the keys, from after `after` if that is
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
            let page = self.reading(|| self.page(&prefix, &from, PAGE));
            match page {
                Ok(page) => {
                    next = page.last.map(Bound::Excluded);
                    Some(page.entries.into_iter().map(Ok).collect::<Vec<_>>())
                }
                Err(error) => Some(vec![Err(error)]),
            }
        });
        pages.flatten()
    }

    /// Some of the entries after `from`, as they are at one moment.
    fn page(&self, prefix: &[u8], from: &Bound<Key>, most: usize) -> Result<Part, StoreError> {
        let (young, sealed, runs) = {
            let mut state = self.lock();
            if keys::follows_tasks(prefix) {
                state.young.fold();
            }
            let young: Vec<_> = state.young.range(prefix, from).take(most).collect();
            (young, state.sealed.clone(), state.runs.clone())
        };
        // The copy may end before the others do: what is behind it is for the next page.
        let end = (young.len() == most).then(|| young[most - 1].0.clone());
        let mut sources: Vec<Box<dyn Source + '_>> = vec![Box::new(Listed::new(young))];
        if let Some(sealed) = &sealed {
            sources.push(Box::new(Listed::new(sealed.range(prefix, from))));
        }
        for run in &runs {
            sources.push(Box::new(run.range(&self.db, prefix, from)?));
        }
        let (mut part, mut merge) = (Part::default(), Merge::new(sources)?);
        while merge.advance()? {
            let key = merge.key();
            if let Some(value) = merge.value() {
                part.entries.push((key.to_vec(), value.to_vec()));
            }
            if end.as_deref() == Some(key) || part.entries.len() == most {
                part.last = Some(key.to_vec());
                break;
            }
        }
        Ok(part)
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

/// Entries that stand together, and the last key that was looked at if there may be more.
#[derive(Debug, Default)]
struct Part {
    entries: Vec<(Key, Vec<u8>)>,
    last: Option<Key>,
}

impl State {
    /// The runs that may have the key.
    fn runs_with(&self, key: &[u8]) -> Vec<Arc<Run>> {
        let hash = filter::hash(key);
        let runs = self.runs.iter().filter(|run| run.may_have(hash));
        runs.cloned().collect()
    }
}
