//! Caches the heads of tasks that this process has written, so that an append need not read them.

use std::{
    mem::take,
    sync::{Arc, Mutex},
};

use bridge_program::lock;
use bridge_store::{Head, Seq, Unordered};

/// The largest number of heads. Beyond it the older half is dropped.
const MAX_HEADS: usize = 16 << 10;

/// Heads by task, in two generations. A head never changes, so the head with the expected event number is valid.
#[derive(Debug, Default)]
pub(super) struct RecentHeads(Mutex<Generations>);

#[derive(Debug, Default)]
struct Generations {
    young: Unordered<Arc<str>, Arc<Head>>,
    old: Unordered<Arc<str>, Arc<Head>>,
}

impl RecentHeads {
    /// Returns the head of the task after exactly this event.
    pub(super) fn get(&self, task: &str, seq: Seq) -> Option<Arc<Head>> {
        let heads = lock(&self.0);
        let head = heads.young.get(task).or_else(|| heads.old.get(task))?;
        (head.seq == seq).then(|| Arc::clone(head))
    }

    /// Stores a head, or removes the task if no events can follow.
    pub(super) fn put(&self, head: &Arc<Head>) {
        if !head.is_open() {
            return self.forget(&head.task);
        }
        let mut heads = lock(&self.0);
        heads.young.insert(Arc::clone(&head.task), Arc::clone(head));
        if heads.young.len() > MAX_HEADS / 2 {
            heads.old = take(&mut heads.young);
        }
    }

    pub(super) fn forget(&self, task: &str) {
        let mut heads = lock(&self.0);
        heads.young.remove(task);
        heads.old.remove(task);
    }
}
