//! The heads of tasks that were written to lately.
//!
//! Only the committer puts heads here, each when it is durable, so what stands here is true without a look at
//! the index, for the committer and for readers.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::{Unordered, log::LogOffset};
use crate::store::Head;

/// At most twice so many heads are kept.
const GENERATION: usize = 4096;

/// Two generations: when the young one is full it becomes the old one, and the old one goes. What is
/// written to again in time is young again.
#[derive(Debug, Default)]
pub(super) struct Heads(Mutex<Generations>);

#[derive(Debug, Default)]
struct Generations {
    young: Unordered<String, Tip>,
    old: Unordered<String, Tip>,
}

/// A task's newest append.
#[derive(Clone, Debug)]
pub(super) struct Tip {
    /// The head after it.
    pub(super) head: Arc<Head>,
    /// Where it stands.
    pub(super) place: LogOffset,
    /// How many appends the task has.
    pub(super) number: u32,
    /// A later append is lost, or the task's newest: the head is only the last that is known.
    pub(super) is_broken: bool,
}

impl Heads {
    pub(super) fn get(&self, task: &str) -> Option<Tip> {
        let generations = self.lock();
        let young = generations.young.get(task);
        young.or_else(|| generations.old.get(task)).cloned()
    }

    pub(super) fn put(&self, tip: Tip) {
        let mut generations = self.lock();
        let young = &mut generations.young;
        young.insert(tip.head.task.clone(), tip);
        if young.len() >= GENERATION {
            let young = std::mem::take(young);
            let gone = std::mem::replace(&mut generations.old, young);
            // To free so many takes a while, in which others may go on.
            drop(generations);
            drop(gone);
        }
    }

    fn lock(&self) -> MutexGuard<'_, Generations> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
