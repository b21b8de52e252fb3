//! A trial of one disk: a store is repeatedly opened on it, used, and stopped at any point.

use std::{
    path::PathBuf,
    pin::{Pin, pin},
};

use futures_util::{FutureExt as _, future::join_all};

use super::{
    model::{Count, Job, Model, Violation},
    *,
};
use crate::sled::{
    log::{Faults, SimulatedDisk},
    test_rng::TestRng,
};

/// The sizes of segments. Some are small, so that logs have many segments.
const SEGMENTS: [u64; 3] = [4 << 10, 64 << 10, 64 << 20];
/// The largest numbers of starts, of batches for each start, and of jobs for each batch.
const STARTS: usize = 6;
const BATCHES: usize = 12;
const JOBS: usize = 6;
/// The largest number of changes of the disk before the machine stops.
const CHANGES: usize = 40;
/// The position of the version in the header of a segment. It is not changed, since another version is refused.
const VERSION: usize = 7;

/// Creates the folder of the index, in memory if possible: sled's syncs would take most of the time, and are not tested
/// here.
fn folder_in_memory() -> tempfile::TempDir {
    let in_memory = tempfile::tempdir_in("/dev/shm");
    in_memory.or_else(|_| tempfile::tempdir()).unwrap()
}

pub(super) struct Trial {
    rng: TestRng,
    pub(super) disk: SimulatedDisk,
    model: Model,
    folder: tempfile::TempDir,
}

impl Trial {
    pub(super) fn new(seed: u64, flaw: Option<Flaw>) -> Self {
        let mut rng = TestRng(seed);
        let segments = SEGMENTS[rng.below(SEGMENTS.len())];
        let disk = SimulatedDisk::new(seed);
        Self {
            disk: disk.with_flaw(flaw).with_segments(segments),
            rng,
            model: Model::default(),
            folder: folder_in_memory(),
        }
    }

    pub(super) async fn run(mut self, count: &mut Count) -> Result<(), Violation> {
        for _ in 0..1 + self.rng.below(STARTS) {
            self.start(count).await?;
            match self.rng.below(4) {
                0 => self.disk.kill(),
                _ => self.disk.lose_power(),
            }
            if self.rng.below(4) > 0 {
                self.lose_index();
            }
            if self.rng.below(16) == 0 {
                self.flip_bit(count).await?;
            }
        }
        self.check(count).await?;
        count.disks += 1;
        Ok(())
    }

    /// Runs the machine from its start until it stops.
    async fn start(&mut self, count: &mut Count) -> Result<(), Violation> {
        let faults = self.faults();
        let is_without_faults = self.rng.below(3) > 0;
        self.disk.set_faults(if is_without_faults { Faults::default() } else { faults.clone() });
        count.starts += 1;
        let store = match self.open() {
            Ok(store) => store,
            Err(error) if is_without_faults => return Err(Violation::Wrong(format!("{error:?}"))),
            Err(_) => return Ok(()),
        };
        // A read fails, too, if the process has too many open files.
        self.disk.set_faults(Faults::default());
        self.model.check(&store, count).await?;
        self.disk.set_faults(faults);
        for _ in 0..self.rng.below(BATCHES) {
            let refused = count.refused;
            let is_closed = self.batch(&store, count).await?;
            // Remains of a refused batch are only found if they are not overwritten.
            if is_closed || count.refused > refused && self.rng.below(2) == 0 {
                break;
            }
            if self.rng.below(3) == 0 {
                self.compact(&store, count).await;
            }
        }
        Ok(())
    }

    /// Compacts the store, completely or in part.
    async fn compact(&mut self, store: &SledStore, count: &mut Count) {
        let mut left = [3, 10, 100_000][self.rng.below(3)];
        let steps = || {
            // The removal of segments depends on the index on its disk, which must be deterministic.
            store.reader.disk.index().settle();
            left -= 1;
            left > 0
        };
        let segments = || store.reader.disk.log.begin();
        let before = segments();
        // A failed compaction begins again after the next start.
        drop(store.compact(steps).await);
        count.removed += usize::from(segments() > before);
    }

    fn faults(&mut self) -> Faults {
        let rng = &mut self.rng;
        let stops = rng.below(4) > 0;
        Faults {
            stops_at: stops.then(|| 1 + rng.below(CHANGES) as u64),
            full: [0, 5, 10, 30][rng.below(4)],
            sync: [0, 0, 5, 30][rng.below(4)],
            files: [0, 0, 5, 30][rng.below(4)],
            read: 0,
            unreadable: None,
            is_short: rng.below(3) == 0,
        }
    }

    fn settings(&self) -> SledSettings {
        SledSettings { page_cache: 1 << 20, ..SledSettings::in_folder(self.folder.path()) }
    }

    fn open(&self) -> Result<SledStore, StoreError> {
        let store = SledStore::open_simulated(&self.settings(), &self.disk)?;
        store.reader.disk.index().settle();
        Ok(store)
    }

    fn lose_index(&self) {
        for name in crate::sled::index_folder::FOLDERS {
            let _ = fs::remove_dir_all(self.folder.path().join(name));
        }
    }

    /// Opens the store without faults, and checks it.
    async fn check(&mut self, count: &mut Count) -> Result<(), Violation> {
        self.disk.set_faults(Faults::default());
        let store = self.open();
        let store = store.map_err(|error| Violation::Wrong(format!("{error:?}")))?;
        self.model.check(&store, count).await
    }

    /// Runs several operations that are committed in one batch, which only depends on the seed. Returns whether the store
    /// has closed.
    async fn batch(&mut self, store: &SledStore, count: &mut Count) -> Result<bool, Violation> {
        let jobs: Vec<Job> =
            (0..1 + self.rng.below(JOBS)).map(|_| self.model.choose(&mut self.rng)).collect();
        let gate = self.disk.space_gate();
        gate.set_closed(true);
        let mut first = pin!(store.ready());
        while gate.waiting() == 0 {
            match first.as_mut().now_or_never() {
                None => std::thread::yield_now(),
                // The operation was refused before the gate. It is repeated, since the batches would depend on the threads
                // otherwise.
                Some(Err(StoreError::Full { .. } | StoreError::Unavailable { .. })) => {
                    first.set(store.ready());
                }
                Some(_) => break,
            }
        }
        let mut all: Pin<Box<_>> = Box::pin(join_all(jobs.iter().map(|job| job.run(store))));
        let early = all.as_mut().now_or_never();
        gate.set_closed(false);
        let outcomes = match early {
            Some(outcomes) => outcomes,
            None => all.await,
        };
        store.reader.disk.index().settle();
        let mut is_closed = false;
        for (job, outcome) in jobs.iter().zip(outcomes) {
            // Unreadable data count as damaged, and all data are unreadable once the machine has stopped.
            let outcome = match outcome {
                Err(StoreError::Damaged { .. }) if self.disk.has_stopped() => {
                    Err(StoreError::Closed)
                }
                outcome => outcome,
            };
            is_closed |= matches!(outcome, Err(StoreError::Closed));
            self.model.settle(job, outcome, count)?;
        }
        Ok(is_closed)
    }

    /// Flips one bit of the durable data before the last batch. A damaged last batch would count as torn.
    async fn flip_bit(&mut self, count: &mut Count) -> Result<(), Violation> {
        self.check(count).await?;
        let mut files = self.disk.files();
        let used = |bytes: &[u8]| bytes.iter().rposition(|byte| *byte != 0).map_or(0, |at| at + 1);
        for (_, bytes) in &mut files {
            bytes.truncate(used(bytes));
        }
        let store = self.open();
        let store = store.map_err(|error| Violation::Wrong(format!("{error:?}")))?;
        let acknowledged = count.acknowledged;
        self.batch(&store, count).await?;
        drop(store);
        // No batch was written after the previous last one.
        if count.acknowledged == acknowledged {
            return Ok(());
        }
        let total = files.iter().map(|(_, bytes)| bytes.len()).sum::<usize>();
        let mut at = self.rng.below(total.max(1));
        let hit = files.iter().find_map(|(path, bytes)| {
            let place = at;
            at = at.saturating_sub(bytes.len());
            (place < bytes.len()).then(|| (path.clone(), place))
        });
        let Some((path, at)) = hit.filter(|(_, at): &(PathBuf, usize)| *at != VERSION) else {
            return Ok(());
        };
        self.disk.flip(&path, at, self.rng.below(8));
        count.flips += 1;
        (self.model.is_damaged, self.model.has_unknown_damage) = (true, true);
        if self.rng.below(2) == 0 {
            self.lose_index();
        }
        self.check(count).await
    }
}
