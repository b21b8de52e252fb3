//! One disk: a store is opened on it, used and stopped in the middle, again and again.

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
    lots::Lots,
};

/// The bytes of a segment, so that some logs have many.
const SEGMENTS: [u64; 3] = [4 << 10, 64 << 10, 64 << 20];
/// How often the machine starts, at most, and how many batches it writes each time.
const STARTS: usize = 6;
const BATCHES: usize = 12;
const JOBS: usize = 6;
/// The changes of the disk after which it stops, at most.
const CHANGES: usize = 40;
/// In the header of a segment: another version would be another program's.
const VERSION: usize = 7;

/// The folder of the index, in memory where the system has a place for that: sled's syncs take most of the time elsewhere,
/// and what they are good for is not tried here.
fn folder_in_memory() -> tempfile::TempDir {
    let in_memory = tempfile::tempdir_in("/dev/shm");
    in_memory.or_else(|_| tempfile::tempdir()).unwrap()
}

pub(super) struct Trial {
    lots: Lots,
    pub(super) disk: SimulatedDisk,
    model: Model,
    folder: tempfile::TempDir,
}

impl Trial {
    pub(super) fn new(seed: u64, flaw: Option<Flaw>) -> Self {
        let mut lots = Lots(seed);
        let segments = SEGMENTS[lots.below(SEGMENTS.len())];
        let disk = SimulatedDisk::new(seed);
        Self {
            disk: disk.with_flaw(flaw).with_segments(segments),
            lots,
            model: Model::default(),
            folder: folder_in_memory(),
        }
    }

    pub(super) async fn run(mut self, count: &mut Count) -> Result<(), Violation> {
        for _ in 0..1 + self.lots.below(STARTS) {
            self.start(count).await?;
            match self.lots.below(4) {
                0 => self.disk.kill(),
                _ => self.disk.lose_power(),
            }
            if self.lots.below(4) > 0 {
                self.lose_index();
            }
            if self.lots.below(16) == 0 {
                self.change_a_bit(count).await?;
            }
        }
        self.look(count).await?;
        count.disks += 1;
        Ok(())
    }

    /// From the start of the machine until it stops.
    async fn start(&mut self, count: &mut Count) -> Result<(), Violation> {
        let faults = self.faults();
        let is_spared = self.lots.below(3) > 0;
        self.disk.set_faults(match is_spared {
            true => Faults::default(),
            false => faults.clone(),
        });
        count.starts += 1;
        let store = match self.open() {
            Ok(store) => store,
            Err(error) if is_spared => return Err(Violation::Wrong(format!("{error:?}"))),
            Err(_) => return Ok(()),
        };
        self.model.check(&store, count).await?;
        self.disk.set_faults(faults);
        for _ in 0..self.lots.below(BATCHES) {
            let refused = count.refused;
            let is_closed = self.batch(&store, count).await?;
            // What is left of a refused batch shows only if nothing is written over it.
            if is_closed || count.refused > refused && self.lots.below(2) == 0 {
                break;
            }
            if self.lots.below(3) == 0 {
                self.compact(&store, count).await;
            }
        }
        Ok(())
    }

    /// Gives room back, to the end or in part.
    async fn compact(&mut self, store: &SledStore, count: &mut Count) {
        let mut left = [3, 10, 100_000][self.lots.below(3)];
        let steps = || {
            // What is removed follows from what the index has on its disk.
            store.reader.disk.index().settle();
            left -= 1;
            left > 0
        };
        let segments = || store.reader.disk.log.begin();
        let before = segments();
        // What fails is begun again after the next start.
        drop(store.compact(steps).await);
        count.removed += usize::from(segments() > before);
    }

    fn faults(&mut self) -> Faults {
        let lots = &mut self.lots;
        let stops = lots.below(4) > 0;
        Faults {
            stops_at: stops.then(|| 1 + lots.below(CHANGES) as u64),
            full: [0, 5, 10, 30][lots.below(4)],
            sync: [0, 0, 5, 30][lots.below(4)],
            is_short: lots.below(3) == 0,
        }
    }

    fn settings(&self) -> SledSettings {
        SledSettings {
            page_cache: 1 << 20,
            ..SledSettings::in_folder(self.folder.path())
        }
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

    /// Opens the store without faults, and compares.
    async fn look(&mut self, count: &mut Count) -> Result<(), Violation> {
        self.disk.set_faults(Faults::default());
        let store = self.open();
        let store = store.map_err(|error| Violation::Wrong(format!("{error:?}")))?;
        self.model.check(&store, count).await
    }

    /// Several writers at once, of which one batch is made: which, follows from the seed only. Answers whether the store
    /// has closed.
    async fn batch(&mut self, store: &SledStore, count: &mut Count) -> Result<bool, Violation> {
        let jobs: Vec<Job> = (0..1 + self.lots.below(JOBS))
            .map(|_| self.model.draw(&mut self.lots))
            .collect();
        let gate = self.disk.space_gate();
        gate.shut(true);
        let mut first = pin!(store.ready());
        while gate.waiting() == 0 {
            match first.as_mut().now_or_never() {
                None => std::thread::yield_now(),
                // It was refused before the gate, and nothing holds up the next: which batch has which job would follow
                // from the threads.
                Some(Err(StoreError::Full { .. })) => first.set(store.ready()),
                Some(_) => break,
            }
        }
        let mut all: Pin<Box<_>> = Box::pin(join_all(jobs.iter().map(|job| job.run(store))));
        let early = all.as_mut().now_or_never();
        gate.shut(false);
        let outcomes = match early {
            Some(outcomes) => outcomes,
            None => all.await,
        };
        store.reader.disk.index().settle();
        let mut is_closed = false;
        for (job, outcome) in jobs.iter().zip(outcomes) {
            // What cannot be read counts as damaged, and nothing can be read once the machine has stopped.
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

    /// Changes one bit of what is durable, before the last batch: of that nobody can tell whether it was ever whole.
    async fn change_a_bit(&mut self, count: &mut Count) -> Result<(), Violation> {
        self.look(count).await?;
        let mut files = self.disk.files();
        let used = |bytes: &[u8]| {
            bytes
                .iter()
                .rposition(|byte| *byte != 0)
                .map_or(0, |at| at + 1)
        };
        for (_, bytes) in &mut files {
            bytes.truncate(used(bytes));
        }
        let store = self.open();
        let store = store.map_err(|error| Violation::Wrong(format!("{error:?}")))?;
        let acknowledged = count.acknowledged;
        self.batch(&store, count).await?;
        drop(store);
        // Nothing was put behind the batch that was the last one.
        if count.acknowledged == acknowledged {
            return Ok(());
        }
        let total = files.iter().map(|(_, bytes)| bytes.len()).sum::<usize>();
        let mut at = self.lots.below(total.max(1));
        let hit = files.iter().find_map(|(path, bytes)| {
            let place = at;
            at = at.saturating_sub(bytes.len());
            (place < bytes.len()).then(|| (path.clone(), place))
        });
        let Some((path, at)) = hit.filter(|(_, at): &(PathBuf, usize)| *at != VERSION) else {
            return Ok(());
        };
        self.disk.flip(&path, at, self.lots.below(8));
        count.flips += 1;
        (self.model.is_hit, self.model.may_be_hit) = (true, true);
        if self.lots.below(2) == 0 {
            self.lose_index();
        }
        self.look(count).await
    }
}
