//! The threads that bring the index to the disk: one writes what is in memory as runs, one merges runs.

use std::{
    fs::File,
    ops::Range,
    path::{Path, PathBuf},
    sync::{Arc, MutexGuard, PoisonError},
    thread::JoinHandle,
    time::Duration,
};

use super::{
    Index, Phase,
    layer::Layer,
    manifest::Manifest,
    merge::{Merge, Source},
    run::{self, Run},
};
use crate::store::{
    StoreError,
    sled::{error::sled_error, private},
};

/// For so long changes gather before they are written, or until there is no more room: most of a task's
/// come close together, and only the last of them has to be; and the larger a run is when it is made, the
/// less often what is in it is merged. A restart reads as much of the log again.
const GATHER: Duration = Duration::from_secs(2);
/// So many runs of about the same size are merged into one.
const FAN_IN: usize = 8;
/// Runs of fewer entries are all of about the same size.
const SMALL: usize = 4 << 10;
/// How long it may take until blocks of merged runs, which somebody still reads, are removed.
const SWEEP: Duration = Duration::from_secs(1);

/// The handle of both threads. Dropping it waits until everything is written.
#[derive(Debug)]
pub(in crate::store::sled) struct Indexer {
    index: Arc<Index>,
    threads: Vec<JoinHandle<()>>,
}

impl Indexer {
    /// Starts them; `file` is the one that sled writes to, and `folder` where sled makes others.
    pub(in crate::store::sled) fn start(
        index: Arc<Index>,
        file: File,
        folder: PathBuf,
    ) -> Result<Self, StoreError> {
        let mut indexer = Self {
            index,
            threads: Vec::new(),
        };
        indexer.spawn("store-indexer", move |index| {
            index.write_layers(&file, &folder)
        })?;
        indexer.spawn("store-merger", |index| index.merge_runs())?;
        Ok(indexer)
    }

    fn spawn(
        &mut self,
        name: &str,
        work: impl FnOnce(&Index) -> Result<(), StoreError> + Send + 'static,
    ) -> Result<(), StoreError> {
        let index = Arc::clone(&self.index);
        let run = move || {
            // Should sled panic, the committer must not wait for ever.
            let failed = Failed(&index);
            match work(&index) {
                Ok(()) => std::mem::forget(failed),
                Err(error) => {
                    tracing::error!("the index cannot be written, and is made anew: {error}");
                }
            }
        };
        let builder = std::thread::Builder::new().name(name.into());
        let failed = |error| StoreError::io(format!("starting {name}"), error);
        self.threads.push(builder.spawn(run).map_err(failed)?);
        Ok(())
    }
}

impl Drop for Indexer {
    fn drop(&mut self) {
        self.index.turn(Phase::Closing);
        for thread in self.threads.drain(..) {
            if thread.join().is_err() {
                tracing::error!("a thread of the store's index has panicked");
            }
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

    /// Writes what is in memory, until the end.
    fn write_layers(&self, file: &File, folder: &Path) -> Result<(), StoreError> {
        self.gather();
        while let Some(layer) = self.seal() {
            self.write_layer(&layer, file)?;
            private::close(folder);
            self.gather();
        }
        Ok(())
    }

    /// Waits for changes, and then for those that come close behind them, or for the end.
    fn gather(&self) {
        let mut state = self.lock();
        while state.young.is_empty() && state.phase == Phase::Running {
            state = self.wait(state);
        }
        let gathering = self.moved.wait_timeout_while(state, GATHER, |state| {
            state.phase == Phase::Running && state.young.bytes() <= self.room
        });
        drop(gathering.unwrap_or_else(PoisonError::into_inner));
    }

    /// Takes the changes that have gathered; `None` if there are none, or they cannot be written.
    pub(super) fn seal(&self) -> Option<Arc<Layer>> {
        let mut state = self.lock();
        if state.young.is_empty() || state.phase == Phase::Failed {
            return None;
        }
        let empty = Layer::new(state.young.end());
        let mut layer = std::mem::replace(&mut state.young, empty);
        layer.fold();
        let layer = Arc::new(layer);
        state.sealed = Some(Arc::clone(&layer));
        self.moved.notify_all();
        Some(layer)
    }

    pub(super) fn write_layer(&self, layer: &Layer, file: &File) -> Result<(), StoreError> {
        let id = self.manifest().begin();
        let mut run = run::Writer::new(&self.db, id, layer.len());
        for (key, value) in layer.entries() {
            run.push(key, value)?;
        }
        let (run, batch) = run.finish()?;
        self.finish_layer(layer, run, batch, file)
    }

    /// Makes a run durable and shows it in place of its layer.
    fn finish_layer(
        &self,
        layer: &Layer,
        run: Run,
        mut batch: sled::Batch,
        file: &File,
    ) -> Result<(), StoreError> {
        let mut manifest = self.manifest();
        manifest.finish(run.id, Some(layer.end()));
        let mut runs = self.lock().runs.clone();
        runs.insert(0, Arc::new(run));
        manifest.write(&runs, &mut batch)?;
        self.db
            .apply_batch(batch)
            .map_err(sled_error("writing to"))?;
        self.db.flush().map_err(sled_error("flushing"))?;
        let failed = |error| StoreError::io("syncing the database", error);
        file.sync_data().map_err(failed)?;
        let mut state = self.lock();
        state.runs = runs;
        state.sealed = None;
        self.moved.notify_all();
        Ok(())
    }

    /// Merges runs, until the end.
    fn merge_runs(&self) -> Result<(), StoreError> {
        let mut retired: Vec<Arc<Run>> = Vec::new();
        while self.lock().phase == Phase::Running {
            self.sweep(&mut retired)?;
            let merged = self.merge_group()?;
            if merged.is_empty() {
                self.idle(retired.is_empty());
            }
            retired.extend(merged);
        }
        Ok(())
    }

    /// Waits for news, of which none are told when nobody reads a merged run any more.
    fn idle(&self, is_swept: bool) {
        let state = self.lock();
        if group(&state.runs).is_some() || state.phase != Phase::Running {
            return;
        }
        match is_swept {
            true => drop(self.wait(state)),
            false => drop(self.moved.wait_timeout(state, SWEEP)),
        }
    }

    /// Merges the runs that should be, if there are any, and answers with them.
    pub(super) fn merge_group(&self) -> Result<Vec<Arc<Run>>, StoreError> {
        let (merged, is_oldest) = {
            let state = self.lock();
            let Some(group) = group(&state.runs) else {
                return Ok(Vec::new());
            };
            let is_oldest = group.end == state.runs.len();
            (state.runs[group].to_vec(), is_oldest)
        };
        match self.merge(&merged, is_oldest)? {
            true => Ok(merged),
            false => Ok(Vec::new()),
        }
    }

    /// Makes one run of several; false if the end came first. Of the oldest runs nothing remains of what
    /// was removed.
    fn merge(&self, merged: &[Arc<Run>], is_oldest: bool) -> Result<bool, StoreError> {
        let most = merged.iter().map(|run| run.entries).sum();
        let id = self.manifest().begin();
        let mut run = run::Writer::new(&self.db, id, most);
        let source = |run: &Arc<Run>| Ok(Box::new(run.all(&self.db)?) as Box<dyn Source>);
        let sources: Result<_, StoreError> = merged.iter().map(source).collect();
        let (mut merge, mut number) = (Merge::new(sources?)?, 0_usize);
        while merge.advance()? {
            if number.is_multiple_of(SMALL) && self.lock().phase != Phase::Running {
                return Ok(false);
            }
            if merge.value().is_some() || !is_oldest {
                run.push(merge.key(), merge.value())?;
            }
            number += 1;
        }
        let (run, batch) = run.finish()?;
        self.finish_merge(merged, run, batch)?;
        Ok(true)
    }

    /// Shows a run in place of those that were merged into it. Meanwhile newer ones may have come.
    fn finish_merge(
        &self,
        merged: &[Arc<Run>],
        run: Run,
        mut batch: sled::Batch,
    ) -> Result<(), StoreError> {
        let mut manifest = self.manifest();
        manifest.finish(run.id, None);
        let mut runs = self.lock().runs.clone();
        let place = runs.iter().position(|run| run.id == merged[0].id);
        let place = place.unwrap_or(runs.len());
        runs.splice(place..place + merged.len(), [Arc::new(run)]);
        merged.iter().for_each(|run| manifest.retire(run.id));
        manifest.write(&runs, &mut batch)?;
        self.db
            .apply_batch(batch)
            .map_err(sled_error("writing to"))?;
        self.lock().runs = runs;
        Ok(())
    }

    /// Removes runs that nobody reads any more.
    pub(super) fn sweep(&self, retired: &mut Vec<Arc<Run>>) -> Result<(), StoreError> {
        let is_free = |run: &mut Arc<Run>| Arc::strong_count(run) == 1;
        for run in retired.extract_if(.., is_free) {
            run::remove(&self.db, run.id)?;
            self.manifest().forget(run.id);
        }
        Ok(())
    }

    fn manifest(&self) -> MutexGuard<'_, Manifest> {
        self.manifest.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Runs that stand together and are to be merged: at least [`FAN_IN`] that are no larger than others of
/// their size, the smallest first.
fn group(runs: &[Arc<Run>]) -> Option<Range<usize>> {
    let sizes: Vec<u32> = runs.iter().map(|run| size(run.entries)).collect();
    let largest = sizes.iter().copied().max()?;
    (0..=largest).find_map(|size| {
        let start = sizes.iter().position(|one| *one <= size)?;
        let count = sizes[start..].iter().take_while(|one| **one <= size);
        let end = start + count.count();
        (end - start >= FAN_IN).then_some(start..end)
    })
}

/// Grows by one when the entries become [`FAN_IN`] times as many.
fn size(entries: usize) -> u32 {
    (entries / SMALL)
        .checked_ilog(FAN_IN)
        .map_or(0, |size| size + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_grow_with_the_fan_in() {
        let sizes = [0, SMALL - 1, SMALL, 8 * SMALL - 1, 8 * SMALL, 64 * SMALL];
        assert_eq!(sizes.map(size), [0, 0, 1, 1, 2, 3]);
    }
}
