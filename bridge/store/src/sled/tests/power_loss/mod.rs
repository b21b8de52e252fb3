//! A store on a disk that fails, fills up, changes bits and loses power: what was acknowledged is there afterwards, and
//! nothing that is not.
//!
//!     cargo test --workspace --lib power_loss -- --nocapture
//!     BRIDGE_DISK_SECONDS=3600 BRIDGE_DISK_SEED=1000000 cargo test --release --workspace --lib power_loss -- --nocapture
//!
//! The index is lost too at most power losses: sled is on a real disk or in memory, and all of it follows from the log.
//!
//! - `model`: what was done, and what must be there
//! - `trial`: one disk, over several power losses

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

/// The number of disks that each run of the tests tries.
const DISKS: u64 = 2_000;
/// The number of disks among which one must reveal a deliberate flaw in the store.
const FLAWED: u64 = 32;
/// The disks of which each is tried twice: some compact while the index is being written.
const TWICE: RangeInclusive<u64> = 201..=300;
/// The number of disks that are tried at a time, at most: each has its index in memory.
const TOGETHER: usize = 8;

/// What was tried, and the violations by seed.
#[derive(Default)]
struct Tried {
    count: Count,
    found: Vec<(u64, Violation)>,
}

fn runtime() -> tokio::runtime::Runtime {
    let mut builder = tokio::runtime::Builder::new_current_thread();
    builder.max_blocking_threads(1).build().unwrap()
}

/// Tries the disks of these seeds until the time is over, if there is a limit.
fn tried(seeds: RangeInclusive<u64>, flaw: Option<Flaw>, limit: Option<Duration>) -> Tried {
    let (next, begun) = (AtomicU64::new(*seeds.start()), Instant::now());
    let is_over = || limit.is_some_and(|limit| begun.elapsed() > limit);
    let work = || {
        let (runtime, mut tried) = (runtime(), Tried::default());
        loop {
            let seed = next.fetch_add(1, Ordering::Relaxed);
            if !seeds.contains(&seed) || is_over() {
                return tried;
            }
            let run = || runtime.block_on(Trial::new(seed, flaw).run(&mut tried.count));
            let outcome = catch_unwind(AssertUnwindSafe(run));
            let outcome = outcome.unwrap_or_else(|_| Err(Violation::Wrong("it panicked".into())));
            tried.found.extend(outcome.err().map(|found| (seed, found)));
        }
    };
    let threads = thread::available_parallelism().map_or(1, usize::from);
    let mut all = thread::scope(|scope| {
        let threads = (0..threads.min(TOGETHER)).map(|_| scope.spawn(work));
        let threads: Vec<_> = threads.collect();
        let tried = threads.into_iter().map(|thread| thread.join().unwrap());
        tried.fold(Tried::default(), |mut all, tried| {
            all.count.add(&tried.count);
            all.found.extend(tried.found);
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
fn what_was_acknowledged_is_there_after_every_power_loss() {
    let limit = number("BRIDGE_DISK_SECONDS").map(Duration::from_secs);
    let first = number("BRIDGE_DISK_SEED").unwrap_or(1);
    let last = match limit {
        None => first + DISKS - 1,
        Some(_) => u64::MAX,
    };
    let Tried { count, found } = tried(first..=last, None, limit);
    println!("{count}, {} violations", found.len());
    let violation = |found: &(u64, Violation)| format!("seed {}: {:?}", found.0, found.1);
    let violations: Vec<String> = found.iter().map(violation).collect();
    assert!(violations.is_empty(), "{}", violations.join("\n"));
}

/// What a trial did, and what is on its disk afterwards.
fn outcome(seed: u64) -> (Count, Vec<Vec<u8>>) {
    let trial = Trial::new(seed, None);
    let (disk, mut count) = (trial.disk.clone(), Count::default());
    runtime().block_on(trial.run(&mut count)).unwrap();
    let files = disk.files().into_iter().map(|(_, bytes)| bytes);
    (count, files.collect())
}

#[test]
fn the_same_seed_makes_the_same_disk() {
    let mut seeds = TWICE;
    let differs = seeds.find(|seed| outcome(*seed) != outcome(*seed));
    assert_eq!(differs, None, "its disk differs the second time");
}

/// The first violation of a store with this flaw.
fn violation(flaw: Flaw) -> Violation {
    let found = tried(1..=FLAWED, Some(flaw), None).found;
    let number = found.len();
    let first = found.into_iter().next();
    let (seed, first) = first.unwrap_or_else(|| panic!("{flaw:?} was not found"));
    println!("{flaw:?}: {number} of {FLAWED}, after {seed}: {first:?}");
    first
}

/// Whether what was acknowledged is gone, or cannot be read any more.
fn is_loss(found: &Violation) -> bool {
    matches!(found, Violation::Lost { .. } | Violation::Damaged(_))
}

#[test]
fn a_store_that_does_not_sync_its_files_is_found_out() {
    let found = violation(Flaw::NoFileSync);
    assert!(is_loss(&found), "{found:?}");
}

#[test]
fn a_store_that_does_not_sync_its_folders_is_found_out() {
    let found = violation(Flaw::NoFolderSync);
    // An index that is kept knows of it.
    assert!(is_loss(&found), "{found:?}");
}

#[test]
fn a_store_that_believes_a_second_sync_is_found_out() {
    let found = violation(Flaw::SyncRetried);
    assert!(is_loss(&found), "{found:?}");
}

#[test]
fn a_store_that_leaves_a_torn_end_is_found_out() {
    violation(Flaw::NoTruncation);
}
