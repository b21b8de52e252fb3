//! Caches the tasks that were written or read lately.
//!
//! A cached task is a starting point: its reader compares its event number with the head's and applies later events. So
//! a cached task is never wrong, and a writer need not report each append. An append that is reported while somebody
//! else holds the task is applied at the next read: by then the task is mostly no longer shared and need not be copied.

use std::{
    mem::take,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use super::{Append, Feed, Head, Seq, Snapshot, StoredEvent, Unordered};

/// The largest number of appends to a task that wait to be applied.
const LATER: usize = 64;

/// A cache of tasks with a limit on their size in memory, which is estimated from the sizes of their events.
///
/// It has two generations. When the young one reaches half of the limit, it replaces the old one, which is dropped. A
/// task of the old generation that is read becomes young again.
#[derive(Debug)]
pub(crate) struct Cache {
    limit: usize,
    generations: Mutex<CacheGenerations>,
}

#[derive(Debug, Default)]
struct CacheGenerations {
    young: Unordered<String, Cached>,
    old: Unordered<String, Cached>,
    /// The size of the young generation.
    bytes: usize,
}

/// A task and its approximate size in bytes.
#[derive(Clone, Debug)]
pub(crate) struct Cached {
    pub(crate) snapshot: Snapshot,
    /// The appends that are not applied to the snapshot yet, oldest first.
    later: Vec<Append>,
    bytes: usize,
}

impl Cached {
    /// A task before its first event.
    pub(crate) fn empty(head: &Head) -> Self {
        Self {
            snapshot: Snapshot::empty(head),
            later: Vec::new(),
            bytes: 0,
        }
    }

    /// The number of the last known event.
    fn seq(&self) -> Seq {
        self.later.last().map_or(self.snapshot.seq, Append::last)
    }

    /// Returns the task after exactly this event.
    fn at(&mut self, seq: Seq) -> Option<Snapshot> {
        (self.seq() == seq).then(|| {
            self.settle();
            self.snapshot.clone()
        })
    }

    /// Adds the next event.
    pub(crate) fn add(&mut self, stored: StoredEvent) {
        self.bytes += stored.size();
        self.snapshot.apply(stored);
    }

    /// Takes over an append; applies it at once if nobody else holds the task.
    fn take(&mut self, append: Append) {
        let sizes = append.events.iter();
        let sizes = sizes.map(|event| size_of::<StoredEvent>() + event.size());
        self.bytes += sizes.sum::<usize>();
        let is_ours = self.later.is_empty() && Arc::get_mut(&mut self.snapshot.task).is_some();
        match is_ours {
            true => self.apply(append),
            false => self.later.push(append),
        }
        if self.later.len() >= LATER {
            self.settle();
        }
    }

    /// Applies the waiting appends.
    fn settle(&mut self) {
        for append in take(&mut self.later) {
            self.apply(append);
        }
    }

    fn apply(&mut self, append: Append) {
        append
            .into_stored()
            .for_each(|stored| self.snapshot.apply(stored));
    }
}

impl Cache {
    pub(crate) fn new(limit: usize) -> Self {
        Self {
            limit,
            generations: Mutex::default(),
        }
    }

    /// Returns the task after exactly this event.
    pub(crate) fn get(&self, task: &str, seq: Seq) -> Option<Snapshot> {
        let mut generations = self.lock();
        if let Some(cached) = generations.young.get_mut(task) {
            return cached.at(seq);
        }
        let (task, mut cached) = generations.old.remove_entry(task)?;
        let snapshot = cached.at(seq);
        self.insert(generations, task, cached);
        snapshot
    }

    /// Removes the task and returns it, so that the events up to `seq` can be applied without a copy.
    pub(crate) fn take(&self, task: &str, seq: Seq) -> Option<Cached> {
        let mut generations = self.lock();
        let usable = generations.find(task)?.seq() <= seq;
        let (_, mut cached) = usable.then(|| generations.remove(task))??;
        drop(generations);
        cached.settle();
        Some(cached)
    }

    /// Removes a task that was deleted.
    pub(crate) fn forget(&self, task: &str) {
        drop(self.lock().remove(task));
    }

    /// Stores the task, unless a later version is cached.
    pub(crate) fn put(&self, task: &str, cached: Cached) {
        let mut generations = self.lock();
        let known = generations.find(task).map(Cached::seq);
        if known.is_none_or(|known| known < cached.seq()) {
            generations.remove(task);
            self.insert(generations, task.to_owned(), cached);
        }
    }

    /// Enters a durable append as [`Cache::advance`] does, and then notifies the watchers of the task, who read it at
    /// once.
    pub(crate) fn publish(&self, feed: &Feed, head: &Arc<Head>, append: Append) {
        let events = match feed.wants_events(&head.task) {
            true => append.clone().into_stored().collect(),
            false => Arc::default(),
        };
        self.advance(head, append);
        feed.publish_events(head, &events);
    }

    /// Enters an append that led to `head`: a new task is added to the cache, a cached one is updated.
    fn advance(&self, head: &Head, append: Append) {
        let mut generations = self.lock();
        let known = match append.expected {
            0 => Some((head.task.clone(), Cached::empty(head))),
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
        task: String,
        cached: Cached,
    ) {
        if cached.bytes <= self.limit / 2 {
            generations.bytes += cached.bytes;
            let replaced = generations.young.insert(task, cached);
            generations.bytes -= replaced.map_or(0, |replaced| replaced.bytes);
        }
        if generations.bytes > self.limit / 2 {
            generations.bytes = 0;
            let young = take(&mut generations.young);
            let gone = std::mem::replace(&mut generations.old, young);
            // Freeing so many tasks takes a while: it is done without the lock.
            drop(generations);
            drop(gone);
        }
    }

    fn lock(&self) -> MutexGuard<'_, CacheGenerations> {
        self.generations
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}

impl CacheGenerations {
    fn find(&self, task: &str) -> Option<&Cached> {
        self.young.get(task).or_else(|| self.old.get(task))
    }

    fn remove(&mut self, task: &str) -> Option<(String, Cached)> {
        match self.young.remove_entry(task) {
            Some((task, cached)) => {
                self.bytes -= cached.bytes;
                Some((task, cached))
            }
            None => self.old.remove_entry(task),
        }
    }
}

#[cfg(test)]
mod tests {
    use bridge_protocol::a2a::{Metadata, Task, TaskState, TaskStatus};

    use super::*;
    use crate::store::{
        Event,
        testing::{Sample, status},
    };

    fn cached(seq: Seq, bytes: usize) -> Cached {
        let task = Task {
            id: "t".into(),
            context_id: None,
            status: TaskStatus::new(TaskState::Working),
            artifacts: Vec::new(),
            history: Vec::new(),
            metadata: None,
            extra: Metadata::new(),
        };
        let task = task.into();
        Cached {
            snapshot: Snapshot { task, seq },
            later: Vec::new(),
            bytes,
        }
    }

    #[test]
    fn tasks_that_are_not_read_are_dropped() {
        let cache = Cache::new(100);
        for (task, bytes) in [("a", 20), ("b", 20), ("c", 20)] {
            cache.put(task, cached(1, bytes));
        }
        assert!(cache.get("a", 1).is_some());
        for (task, bytes) in [("d", 20), ("e", 20), ("too large", 51)] {
            cache.put(task, cached(1, bytes));
        }
        let tasks = ["a", "b", "c", "d", "e", "too large"];
        let there = tasks.map(|task| cache.get(task, 1).is_some());
        assert_eq!(there, [true, false, false, true, true, false]);
    }

    #[test]
    fn a_task_is_found_by_its_number_or_removed_to_be_updated() {
        let cache = Cache::new(100);
        cache.put("a", cached(3, 1));
        cache.put("a", cached(2, 1));
        assert!(cache.get("a", 2).is_none() && cache.get("a", 4).is_none());
        assert!(cache.take("a", 2).is_none());
        assert_eq!(cache.take("a", 4).unwrap().snapshot.seq, 3);
        assert!(cache.get("a", 3).is_none());
    }

    fn created_append(task: &str) -> Append {
        let sample = Sample::new(task);
        sample.append(0, 1, vec![sample.created()])
    }

    fn head_after(created: &Append) -> Head {
        Head::after(None, &Sample::new(&created.task).caller, created).unwrap()
    }

    /// Advances a cached task by this event, the one after `seq`.
    fn tell(cache: &Cache, seq: Seq, event: Event) {
        let mut head = head_after(&created_append("t"));
        let append = Sample::new("t").append(seq, 2, vec![event]);
        head.seq = append.last();
        cache.advance(&head, append);
    }

    #[test]
    fn a_task_is_as_large_as_its_events() {
        let cache = Cache::new(1 << 20);
        let mut read = Cached::empty(&head_after(&created_append("t")));
        let metadata = Metadata::from_iter([("note".to_owned(), "x".repeat(1000).into())]);
        let events = [
            Sample::new("t").created(),
            status(TaskState::Working, &"x".repeat(1000)),
            Event::Metadata {
                metadata,
                revised: None,
            },
        ];
        for (seq, event) in (0..).zip(events) {
            tell(&cache, seq, event.clone());
            let append = Sample::new("t").append(seq, 2, vec![event]);
            append.into_stored().for_each(|stored| read.add(stored));
        }
        let generations = cache.lock();
        let held = generations.young["t"].bytes;
        assert_eq!((held, generations.bytes), (read.bytes, read.bytes));
        assert!(held > 2000, "{held}");
    }

    #[test]
    fn a_cached_task_follows_its_own_appends_only() {
        let cache = Cache::new(1 << 20);
        tell(&cache, 0, Sample::new("t").created());
        for (seq, there) in [(1, true), (3, false)] {
            tell(&cache, seq, Event::TurnEnded { turn: 1 });
            assert_eq!(cache.get("t", seq + 1).is_some(), there);
        }
    }

    #[test]
    fn an_append_to_a_shared_task_does_not_copy_it() {
        let cache = Cache::new(1 << 20);
        tell(&cache, 0, Sample::new("t").created());
        let had = cache.get("t", 1).unwrap();
        let place = Arc::as_ptr(&had.task);
        tell(&cache, 1, status(TaskState::Working, "soon"));
        tell(&cache, 2, status(TaskState::Completed, "done"));
        assert_eq!(had.task.status.state, TaskState::Submitted);
        drop(had);
        let now = cache.get("t", 3).unwrap();
        assert_eq!(now.task.status.state, TaskState::Completed);
        assert_eq!(Arc::as_ptr(&now.task), place);
    }

    #[test]
    fn waiting_appends_are_limited() {
        let cache = Cache::new(1 << 20);
        tell(&cache, 0, Sample::new("t").created());
        let _had = cache.get("t", 1).unwrap();
        for seq in 1..3 * LATER as Seq {
            tell(&cache, seq, status(TaskState::Working, "still"));
            let generations = cache.lock();
            assert!(generations.young["t"].later.len() < LATER);
        }
    }
}
