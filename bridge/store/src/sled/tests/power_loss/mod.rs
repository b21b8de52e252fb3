//! Tests a store on a disk that fails, fills up, flips bits and loses power: afterwards it has exactly the acknowledged
//! changes.
//!
//!     cargo test --workspace --lib power_loss -- --nocapture
//!     BRIDGE_DISK_SECONDS=3600 BRIDGE_DISK_SEED=1000000 cargo test --release --workspace --lib power_loss -- --nocapture
//!
//! The index is removed at most power losses: sled does not use the simulated disk, and the index can be rebuilt.
//!
//! - `model`: the changes, and the expected content
//! - `trial`: a trial of one disk with several power losses

mod model;
mod trial;

use std::{
    ops::RangeInclusive,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::atomic::{AtomicU64, Ordering},
    thread,
    time::{Duration, Instant},
};

use self::{
    model::{Count, Violation},
    trial::Trial,
};
use super::*;
use crate::sled::log::Flaw;

/// The number of disks in each run of the tests.
const DISKS: u64 = 2_000;
/// The number of disks of which at least one must reveal a deliberate flaw.
const FLAWED_DISKS: u64 = 32;
/// The seeds of the disks that are tried twice. Some compact while the index is being written.
const REPEATED_SEEDS: RangeInclusive<u64> = 201..=300;
/// The largest number of concurrent trials. Each has its index in memory.
const MAX_THREADS: usize = 8;

/// The counts of all trials, and the violations with their seeds.
#[derive(Default)]
struct Results {
    count: Count,
    found: Vec<(u64, Violation)>,
}

fn runtime() -> tokio::runtime::Runtime {
    let mut builder = tokio::runtime::Builder::new_current_thread();
    builder.max_blocking_threads(1).build().unwrap()
}

/// Tries the disks of these seeds, up to the time limit if there is one.
fn trials(seeds: RangeInclusive<u64>, flaw: Option<Flaw>, limit: Option<Duration>) -> Results {
    let (next, begun) = (AtomicU64::new(*seeds.start()), Instant::now());
    let is_over = || limit.is_some_and(|limit| begun.elapsed() > limit);
    let work = || {
        let (runtime, mut results) = (runtime(), Results::default());
        loop {
            let seed = next.fetch_add(1, Ordering::Relaxed);
            if !seeds.contains(&seed) || is_over() {
                return results;
            }
            let run = || runtime.block_on(Trial::new(seed, flaw).run(&mut results.count));
            let outcome = catch_unwind(AssertUnwindSafe(run));
            let outcome = outcome.unwrap_or_else(|_| Err(Violation::Wrong("it panicked".into())));
            let violation = outcome.err().map(|found| (seed, found));
            results.found.extend(violation);
        }
    };
    let threads = thread::available_parallelism().map_or(1, usize::from);
    let mut all = thread::scope(|scope| {
        let threads = (0..threads.min(MAX_THREADS)).map(|_| scope.spawn(work));
        let threads: Vec<_> = threads.collect();
        let results = threads.into_iter().map(|thread| thread.join().unwrap());
        results.fold(Results::default(), |mut all, results| {
            all.count.add(&results.count);
            all.found.extend(results.found);
            all
        })
    });
    all.found.sort_by_key(|found| found.0);
    all
}

fn number(variable: &str) -> Option<u64> {
    Some(std::env::var(variable).ok()?.parse().unwrap())
}

#[test]
fn acknowledged_changes_survive_every_power_loss() {
    let limit = number("BRIDGE_DISK_SECONDS").map(Duration::from_secs);
    let first = number("BRIDGE_DISK_SEED").unwrap_or(1);
    let last = match limit {
        None => first + DISKS - 1,
        Some(_) => u64::MAX,
    };
    let Results { count, found } = trials(first..=last, None, limit);
    println!("{count}, {} violations", found.len());
    let violation = |found: &(u64, Violation)| format!("seed {}: {:?}", found.0, found.1);
    let violations: Vec<String> = found.iter().map(violation).collect();
    assert!(violations.is_empty(), "{}", violations.join("\n"));
}

/// Returns the counts of a trial, and the content of its disk afterwards.
fn outcome(seed: u64) -> (Count, Vec<Vec<u8>>) {
    let trial = Trial::new(seed, None);
    let (disk, mut count) = (trial.disk.clone(), Count::default());
    runtime().block_on(trial.run(&mut count)).unwrap();
    let files = disk.files().into_iter().map(|(_, bytes)| bytes);
    (count, files.collect())
}

#[test]
fn trials_are_deterministic() {
    let mut seeds = REPEATED_SEEDS;
    let differs = seeds.find(|seed| outcome(*seed) != outcome(*seed));
    assert_eq!(differs, None, "its disk differs the second time");
}

/// Returns the first violation by a store with this flaw.
fn violation(flaw: Flaw) -> Violation {
    let found = trials(1..=FLAWED_DISKS, Some(flaw), None).found;
    let number = found.len();
    let first = found.into_iter().next();
    let (seed, first) = first.unwrap_or_else(|| panic!("{flaw:?} was not found"));
    println!("{flaw:?}: {number} of {FLAWED_DISKS}, after {seed}: {first:?}");
    first
}

/// Returns whether an acknowledged change is lost or cannot be read.
fn is_loss(found: &Violation) -> bool {
    matches!(found, Violation::Lost { .. } | Violation::Damaged(_))
}

#[test]
fn a_store_that_does_not_sync_its_files_is_detected() {
    let found = violation(Flaw::NoFileSync);
    assert!(is_loss(&found), "{found:?}");
}

#[test]
fn a_store_that_does_not_sync_its_folders_is_detected() {
    let found = violation(Flaw::NoFolderSync);
    // An index that was not removed refers to the lost records.
    assert!(is_loss(&found), "{found:?}");
}

#[test]
fn a_store_that_repeats_a_failed_sync_is_detected() {
    let found = violation(Flaw::SyncRetried);
    assert!(is_loss(&found), "{found:?}");
}

#[test]
fn a_store_that_does_not_cut_off_a_torn_end_is_detected() {
    violation(Flaw::NoTruncation);
}
