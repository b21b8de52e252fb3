//! The thread that brings the index to the disk.

use std::{
    collections::BTreeMap,
    fs::File,
    path::{Path, PathBuf},
    sync::{Arc, MutexGuard},
    thread::JoinHandle,
};

use super::{
    Index, Parts, Phase, State, Value,
    layer::{self, Layer},
    part::{self, Part},
};
use crate::store::{
    StoreError,
    sled::{
        error::sled_error,
        keys::{self, Key},
        private,
    },
};

/// The entries of so many tasks follow at a time: nobody is held up for longer than that takes. Tests have few tasks.
const FOLDED: usize = if cfg!(test) { 8 } else { 128 };

/// The handle of the thread. Dropping it waits until everything is written.
#[derive(Debug)]
pub(in crate::store::sled) struct Indexer {
    index: Arc<Index>,
    thread: Option<JoinHandle<()>>,
}

impl Indexer {
    /// Starts it; `file` is the one that sled writes to, and `folder` where sled makes others.
    pub(in crate::store::sled) fn start(
        index: Arc<Index>,
        file: File,
        folder: PathBuf,
    ) -> Result<Self, StoreError> {
        let indexed = Arc::clone(&index);
        let run = move || {
            // Should sled panic, the committer must not wait for ever.
            let failed = Failed(&indexed);
            match indexed.write_parts(&file, &folder) {
                Ok(()) => std::mem::forget(failed),
                Err(error) => {
                    tracing::error!("the index cannot be written, and is made anew: {error}");
                }
            }
        };
        let builder = std::thread::Builder::new().name("store-indexer".into());
        let failed = |error| StoreError::io("starting the indexer", error);
        let thread = Some(builder.spawn(run).map_err(failed)?);
        Ok(Self { index, thread })
    }
}

impl Drop for Indexer {
    fn drop(&mut self) {
        self.index.turn(Phase::Closing);
        if let Some(thread) = self.thread.take()
            && thread.join().is_err()
        {
            tracing::error!("the thread of the store's index has panicked");
        }
    }
}

/// Tells when it is dropped that nothing is written any more.
struct Failed<'i>(&'i Index);

impl Drop for Failed<'_> {
    fn drop(&mut self) {
        self.0.turn(Phase::Failed);
    }
}

impl Index {
    pub(super) fn turn(&self, phase: Phase) {
        let mut state = self.lock();
        if state.phase != Phase::Failed {
            state.phase = phase;
        }
        self.moved.notify_all();
    }

    /// Whether there is something to do for the thread.
    pub(super) fn is_busy(&self, state: &State) -> bool {
        state.young.waiting() >= FOLDED || state.young.is_full(self.limits.room)
    }

    /// Has entries follow their tasks, and writes what is in memory when that is enough, and at the end.
    fn write_parts(&self, file: &File, folder: &Path) -> Result<(), StoreError> {
        let mut retired = Vec::new();
        while let Some(layer) = self.seal() {
            self.write_part(&layer, file, &mut retired)?;
            private::close(folder);
        }
        Ok(())
    }

    /// Waits until the layer is full, or for the end, and takes it; `None` if there is nothing to write, or it cannot
    /// be written.
    fn seal(&self) -> Option<Arc<Layer>> {
        let mut state = self.lock();
        while !self.is_due(&state) || state.young.waiting() > FOLDED {
            state = match state.young.waiting() >= FOLDED {
                true => self.fold(state),
                false => self.wait(state),
            };
        }
        if state.young.is_empty() || state.phase == Phase::Failed {
            return None;
        }
        state.young.fold(FOLDED);
        let empty = Layer::new(state.young.end, state.young.turns.clone());
        let layer = Arc::new(std::mem::replace(&mut state.young, empty));
        state.sealed = Some(Arc::clone(&layer));
        Some(layer)
    }

    fn is_due(&self, state: &State) -> bool {
        state.young.is_full(self.limits.room) || state.phase != Phase::Running
    }

    /// Lets others in between.
    fn fold<'s>(&'s self, mut state: MutexGuard<'s, State>) -> MutexGuard<'s, State> {
        state.young.fold(FOLDED);
        drop(state);
        self.lock()
    }

    /// Makes a part of a layer durable and shows it in its place, and in that of the newest part if that is small.
    pub(super) fn write_part(
        &self,
        layer: &Layer,
        file: &File,
        retired: &mut Vec<Arc<Part>>,
    ) -> Result<(), StoreError> {
        self.sweep(retired)?;
        let parts = Arc::clone(&self.lock().parts);
        let newest = parts.all.first();
        let former = newest.filter(|part| part.meta.bytes < self.limits.small);
        let number = newest.map_or(0, |part| part.number + 1);
        let (part, batch) = self.make_part(layer, &parts, former, number)?;
        let doing = "writing to";
        self.db.apply_batch(batch).map_err(sled_error(doing))?;
        self.db.flush().map_err(sled_error("flushing"))?;
        let failed = |error| StoreError::io("syncing the database", error);
        file.sync_data().map_err(failed)?;
        let older = parts.all.iter().skip(usize::from(former.is_some()));
        let all = [Arc::new(part)].into_iter().chain(older.cloned()).collect();
        let mut state = self.lock();
        state.parts = Arc::new(Parts::new(all, self.limits));
        state.sealed = None;
        self.moved.notify_all();
        retired.extend(former.cloned());
        Ok(())
    }

    fn make_part(
        &self,
        layer: &Layer,
        parts: &Parts,
        former: Option<&Arc<Part>>,
        number: u64,
    ) -> Result<(Part, sled::Batch), StoreError> {
        let former_entries = former.into_iter().flat_map(|part| part.from(&self.db, &[]));
        let taken: Result<Vec<(Key, Value)>, StoreError> = former_entries.collect();
        let taken = taken?;
        let mut counts = Vec::new();
        for (key, more) in layer.all_counts() {
            let mut count = self.counts_in(parts, key)?;
            layer::add(&mut count, more);
            counts.push((key.as_slice(), layer::write_counts(&count)));
        }
        let turns = layer.turns.iter();
        let turns: Vec<Key> = turns
            .map(|task| [keys::TURNS, task.as_bytes()].concat())
            .collect();
        let taken = taken
            .iter()
            .filter(|(key, _)| !key.starts_with(keys::TURNS));
        let mut entries: BTreeMap<&[u8], Option<&[u8]>> = BTreeMap::new();
        entries.extend(taken.map(|(key, value)| (key.as_slice(), value.as_deref())));
        entries.extend(layer.entries());
        entries.extend(
            counts
                .iter()
                .map(|(key, count)| (*key, Some(count.as_slice()))),
        );
        entries.extend(turns.iter().map(|key| (key.as_slice(), None)));
        let mut part = part::Writer::new(&self.db, number, layer.end, entries.len());
        for (key, value) in entries {
            part.push(key, value)?;
        }
        part.finish(former.map(|part| part.number))
    }

    /// Removes parts that nobody reads any more.
    fn sweep(&self, retired: &mut Vec<Arc<Part>>) -> Result<(), StoreError> {
        let is_free = |part: &mut Arc<Part>| Arc::strong_count(part) == 1;
        for part in retired.extract_if(.., is_free) {
            part::remove(&self.db, part.number)?;
        }
        Ok(())
    }
}
