//! A store on a disk that fails, fills up, changes bits and loses power: what was acknowledged is there afterwards, and
//! nothing that is not.
//!
//!     cargo test --workspace --lib power_loss -- --nocapture
//!     BRIDGE_DISK_SECONDS=3600 BRIDGE_DISK_SEED=1000000 cargo test --release --workspace --lib power_loss -- --nocapture
//!
//! The index is lost too at most power losses: sled is on a real disk, and all of it follows from the log.
//!
//! - `model`: what was done, and what must be there
//! - `trial`: one disk, over several power losses

mod model;
mod trial;

use std::time::{Duration, Instant};

use self::{
    model::{Count, Violation},
    trial::Trial,
};
use super::*;
use crate::sled::log::Flaw;

/// The number of disks that each run of the tests tries.
const DISKS: u64 = 400;
/// The number of disks among which one must reveal a deliberate flaw in the store.
const FLAWED: u64 = 32;

fn runtime() -> tokio::runtime::Runtime {
    let mut builder = tokio::runtime::Builder::new_current_thread();
    builder.max_blocking_threads(1).build().unwrap()
}

fn number(variable: &str) -> Option<u64> {
    Some(std::env::var(variable).ok()?.parse().unwrap())
}

#[test]
fn what_was_acknowledged_is_there_after_every_power_loss() {
    let (runtime, mut count, begun) = (runtime(), Count::default(), Instant::now());
    let limit = number("BRIDGE_DISK_SECONDS").map(Duration::from_secs);
    let first = number("BRIDGE_DISK_SEED").unwrap_or(1);
    let disks = match limit {
        None => first + DISKS,
        Some(_) => u64::MAX,
    };
    let mut found = Vec::new();
    let is_over = || limit.is_some_and(|limit| begun.elapsed() > limit);
    for seed in first..disks {
        if is_over() {
            break;
        }
        let outcome = runtime.block_on(Trial::new(seed, None).run(&mut count));
        found.extend(outcome.err().map(|violation| (seed, violation)));
    }
    let violations: Vec<String> = found
        .iter()
        .map(|found| format!("seed {}: {:?}", found.0, found.1))
        .collect();
    println!("{count}, {} violations", found.len());
    assert!(found.is_empty(), "{}", violations.join("\n"));
}

/// How many disks with this flaw are needed until something is found.
fn disks_until_found(flaw: Flaw) -> (u64, Violation) {
    let runtime = runtime();
    let tried = (1..=FLAWED).find_map(|seed| {
        let outcome = runtime.block_on(Trial::new(seed, Some(flaw)).run(&mut Count::default()));
        outcome.err().map(|violation| (seed, violation))
    });
    tried.unwrap_or_else(|| panic!("{flaw:?} was not found"))
}

/// Whether what was acknowledged is gone, or cannot be read any more.
fn is_loss(found: &Violation) -> bool {
    matches!(found, Violation::Lost { .. } | Violation::Damaged(_))
}

#[test]
fn a_store_that_does_not_sync_its_files_is_found_out() {
    let (disks, found) = disks_until_found(Flaw::NoFileSync);
    println!("after {disks}: {found:?}");
    assert!(is_loss(&found), "{found:?}");
}

#[test]
fn a_store_that_does_not_sync_its_folders_is_found_out() {
    let (disks, found) = disks_until_found(Flaw::NoFolderSync);
    println!("after {disks}: {found:?}");
    // An index that is kept knows of it.
    assert!(is_loss(&found), "{found:?}");
}

#[test]
fn a_store_that_believes_a_second_sync_is_found_out() {
    let (disks, found) = disks_until_found(Flaw::SyncRetried);
    println!("after {disks}: {found:?}");
    assert!(is_loss(&found), "{found:?}");
}

#[test]
fn a_store_that_leaves_a_torn_end_is_found_out() {
    let (disks, found) = disks_until_found(Flaw::NoTruncation);
    println!("after {disks}: {found:?}");
}
