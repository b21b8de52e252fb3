//! Caches tasks that were written or read recently.
//!
//! A cached task is a starting point: its reader compares its event number with that of the head and applies later events.
//! So a cached task is never wrong, and a writer need not report each append. An append that is reported while the task is
//! shared is applied at the next read: by then the task is usually no longer shared and need not be copied.

use std::mem::take;

use super::{
    Append, Event, Feed, Head, Seq, Snapshot, StoredEvent, Unordered,
    known_ids::KnownIds,
    size,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

/// The largest number of pending appends of a task.
pub(super) const MAX_PENDING: usize = 64;

/// The size of a task, by its events, below which it is not measured.
const MIN_MEASURED: usize = 16 << 10;

/// A cache of tasks with a limit on their size in memory, which is estimated from the sizes of their events. A longer task is
/// measured now and then, since it may be far smaller than its events: an agent sends an answer in thousands of pieces.
///
/// It has two generations. When the young one reaches half of the limit, it replaces the old one, which is dropped. A
/// task of the old generation that is read moves to the young one. A task that is larger than a generation is cached
/// beside them, up to twice the limit: without it, each turn of a long task would read its whole log several times.
#[derive(Debug)]
pub struct Cache {
    limit: usize,
    generations: Mutex<CacheGenerations>,
}

#[derive(Debug, Default)]
pub(super) struct CacheGenerations {
    pub(super) young: Unordered<Arc<str>, CachedTask>,
    old: Unordered<Arc<str>, CachedTask>,
    /// The large task that was used last.
    large: Option<(Arc<str>, CachedTask)>,
    /// The size of the young generation.
    pub(super) bytes: usize,
}

/// A task and its approximate size in bytes.
#[derive(Clone, Debug)]
pub struct CachedTask {
    /// The task, without its pending appends.
    pub snapshot: Snapshot,
    pub(super) ids: KnownIds,
    /// The appends that are not applied to the snapshot yet, oldest first.
    pub(super) pending: Vec<Append>,
    pub(super) bytes: usize,
    /// The size at which the task is measured next.
    measured_at: usize,
}

impl CachedTask {
    /// Creates a task before its first event.
    pub fn empty(head: &Head) -> Self {
        Self {
            snapshot: Snapshot::empty(head),
            ids: KnownIds::default(),
            pending: Vec::new(),
            bytes: 0,
            measured_at: MIN_MEASURED,
        }
    }

    /// Returns the number of the last known event.
    fn seq(&self) -> Seq {
        self.pending.last().map_or(self.snapshot.seq, Append::last)
    }

    /// Returns the task after exactly this event.
    fn at(&mut self, seq: Seq) -> Option<Snapshot> {
        (self.seq() == seq).then(|| {
            self.apply_pending();
            self.snapshot.keep_size(&self.ids);
            self.snapshot.clone()
        })
    }

    /// Adds the next event.
    pub fn add(&mut self, stored: StoredEvent) {
        self.bytes += added(&stored.event);
        self.apply_event(stored);
        self.measure();
    }

    fn apply_event(&mut self, stored: StoredEvent) {
        self.ids.update(&self.snapshot.task);
        self.snapshot.apply_with(stored, &mut self.ids);
    }

    /// Adds an append. It is applied at once if the task is not shared.
    fn take(&mut self, append: Append) {
        self.bytes += append.events.iter().map(added).sum::<usize>();
        let is_ours = self.pending.is_empty() && Arc::get_mut(&mut self.snapshot.task).is_some();
        match is_ours {
            true => self.apply(append),
            false => self.pending.push(append),
        }
        if self.pending.len() >= MAX_PENDING {
            self.apply_pending();
        }
        self.measure();
    }

    /// Measures a task without pending appends once its size by its events has doubled since it was last measured, so that
    /// this costs no more than the events.
    fn measure(&mut self) {
        if self.bytes < self.measured_at || !self.pending.is_empty() {
            return;
        }
        self.snapshot.size = None;
        self.bytes = self.bytes.min(size::in_memory(&self.snapshot));
        self.measured_at = MIN_MEASURED.max(2 * self.bytes);
    }

    /// Applies the pending appends.
    fn apply_pending(&mut self) {
        for append in take(&mut self.pending) {
            self.apply(append);
        }
    }

    fn apply(&mut self, append: Append) {
        append.into_stored().for_each(|stored| self.apply_event(stored));
    }
}

impl Cache {
    /// Creates a cache of at most `limit` bytes, approximately.
    pub fn new(limit: usize) -> Self {
        Self { limit, generations: Mutex::default() }
    }

    /// Returns the task after exactly this event.
    pub fn get(&self, task: &str, seq: Seq) -> Option<Snapshot> {
        let mut generations = self.lock();
        if let Some(cached) = generations.young.get_mut(task) {
            return cached.at(seq);
        }
        if let Some((_, large)) = generations.large.as_mut().filter(|(large, _)| **large == *task) {
            return large.at(seq);
        }
        let (task, mut cached) = generations.old.remove_entry(task)?;
        let snapshot = cached.at(seq);
        self.insert(generations, task, cached);
        snapshot
    }

    /// Removes the task and returns it, so that the events up to `seq` can be applied to it without a copy.
    pub fn take(&self, task: &str, seq: Seq) -> Option<CachedTask> {
        let mut generations = self.lock();
        let usable = generations.find(task)?.seq() <= seq;
        let (_, mut cached) = usable.then(|| generations.remove(task))??;
        drop(generations);
        cached.apply_pending();
        Some(cached)
    }

    /// Removes a task that was deleted.
    pub fn forget(&self, task: &str) {
        drop(self.lock().remove(task));
    }

    /// Stores the task, unless the same or a later version is cached.
    pub fn put(&self, task: &str, cached: CachedTask) {
        let mut generations = self.lock();
        let known = generations.find(task).map(CachedTask::seq);
        if known.is_none_or(|known| known < cached.seq()) {
            generations.remove(task);
            self.insert(generations, task.into(), cached);
        }
    }

    /// Adds a durable append to the cache, and then notifies the watchers of the task, which usually read it at once.
    pub fn publish(&self, feed: &Feed, head: &Arc<Head>, append: Append) {
        let events = match feed.wants_events(&head.task) {
            true => append.clone().into_stored().collect(),
            false => Arc::default(),
        };
        self.advance(head, append);
        feed.publish_events(head, &events);
    }

    /// Adds an append that led to `head`: a new task is added to the cache, a cached one is updated.
    pub(super) fn advance(&self, head: &Head, append: Append) {
        let mut generations = self.lock();
        let known = match append.expected {
            0 => Some((Arc::clone(&head.task), CachedTask::empty(head))),
            expected => {
                let known = generations.remove(&head.task);
                known.filter(|(_, known)| known.seq() == expected)
            }
        };
        if let Some((task, mut cached)) = known {
            cached.take(append);
            self.insert(generations, task, cached);
        }
    }

    /// Inserts a task into the young generation, replacing an earlier version there.
    fn insert(
        &self,
        mut generations: MutexGuard<'_, CacheGenerations>,
        task: Arc<str>,
        cached: CachedTask,
    ) {
        let half = self.limit / 2;
        if cached.bytes <= half {
            generations.bytes += cached.bytes;
            let replaced = generations.young.insert(task, cached);
            generations.bytes -= replaced.map_or(0, |replaced| replaced.bytes);
        } else if cached.bytes <= 2 * self.limit {
            let gone = generations.large.replace((task, cached));
            drop(generations);
            drop(gone);
            return;
        }
        if generations.bytes > half {
            generations.bytes = 0;
            let young = take(&mut generations.young);
            let gone = std::mem::replace(&mut generations.old, young);
            // The lock is released first, because it takes a while to free so many tasks.
            drop(generations);
            drop(gone);
        }
    }

    pub(super) fn lock(&self) -> MutexGuard<'_, CacheGenerations> {
        self.generations.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl CacheGenerations {
    fn find(&self, task: &str) -> Option<&CachedTask> {
        let large = self.large.as_ref().filter(|(large, _)| **large == *task);
        let in_generation = self.young.get(task).or_else(|| self.old.get(task));
        in_generation.or_else(|| large.map(|(_, cached)| cached))
    }

    fn remove(&mut self, task: &str) -> Option<(Arc<str>, CachedTask)> {
        match self.young.remove_entry(task) {
            Some((task, cached)) => {
                self.bytes -= cached.bytes;
                Some((task, cached))
            }
            None => {
                let old = self.old.remove_entry(task);
                old.or_else(|| self.large.take_if(|(large, _)| **large == *task))
            }
        }
    }
}

/// Returns what an event adds to the estimated size of a task.
fn added(event: &Event) -> usize {
    if event.changes_task() { size_of::<StoredEvent>() + event.size() } else { 0 }
}
