//! The heads of tasks that were written to lately: durable, and newer than anything else.
//!
//! Only the committer puts heads here, each when it is durable, so what stands here is true without a
//! look at the database, for the committer and for readers.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use crate::store::Head;

/// At most twice so many heads are kept.
const GENERATION: usize = 4096;

/// Two generations: when the young one is full it becomes the old one, and the old one goes. What is
/// written to again in time is young again.
#[derive(Debug, Default)]
pub(super) struct Heads(Mutex<Generations>);

#[derive(Debug, Default)]
struct Generations {
    young: BTreeMap<String, Arc<Head>>,
    old: BTreeMap<String, Arc<Head>>,
}

impl Heads {
    pub(super) fn get(&self, task: &str) -> Option<Arc<Head>> {
        let generations = self.lock();
        let young = generations.young.get(task);
        young.or_else(|| generations.old.get(task)).cloned()
    }

    pub(super) fn put(&self, head: &Arc<Head>) {
        let mut generations = self.lock();
        let young = &mut generations.young;
        young.insert(head.task.clone(), Arc::clone(head));
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
