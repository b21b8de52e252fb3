//! Tasks that were written to or asked for lately, as they stood then.
//!
//! A cached task is only a place to start from: whoever takes it compares its number with the head's and
//! applies what happened since. So nothing here can be out of date, and a writer may tell of its append
//! or not. While somebody has the task, what is told is applied when it is asked for next: mostly they have let it go by
//! then, and it need not be copied.

use std::{
    mem::take,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use super::{Append, Feed, Head, Seq, Snapshot, Unordered};

/// So many appends to a task wait at most until they are applied.
const LATER: usize = 64;

/// Bounded by the bytes that the tasks take, which are told from what they are in the log. There are two generations: when the young one
/// has half of those bytes it becomes the old one, and the old one goes. What is asked for in time is
/// young again.
#[derive(Debug)]
pub(crate) struct Cache {
    limit: usize,
    generations: Mutex<CacheGenerations>,
}

#[derive(Debug, Default)]
struct CacheGenerations {
    young: Unordered<String, Cached>,
    old: Unordered<String, Cached>,
    /// Of the young.
    bytes: usize,
}

/// A task and about how many bytes it takes.
#[derive(Clone, Debug)]
pub(crate) struct Cached {
    pub(crate) snapshot: Snapshot,
    /// What was appended to it and is to be applied, oldest first.
    later: Vec<Append>,
    pub(crate) bytes: usize,
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

    /// The last event that is known of it.
    fn seq(&self) -> Seq {
        self.later.last().map_or(self.snapshot.seq, Append::last)
    }

    /// The task after exactly this event.
    fn at(&mut self, seq: Seq) -> Option<Snapshot> {
        (self.seq() == seq).then(|| {
            self.settle();
            self.snapshot.clone()
        })
    }

    /// Has the task go along with an append, now if nobody else has it.
    fn take(&mut self, append: Append) {
        let is_ours = self.later.is_empty() && Arc::get_mut(&mut self.snapshot.task).is_some();
        match is_ours {
            true => self.apply(append),
            false => self.later.push(append),
        }
        if self.later.len() >= LATER {
            self.settle();
        }
    }

    /// Applies what waits for it.
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

    /// The task after exactly this event.
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

    /// Takes the task out, to apply to it what happened up to `seq` without a copy.
    pub(crate) fn take(&self, task: &str, seq: Seq) -> Option<Cached> {
        let mut generations = self.lock();
        let usable = generations.find(task)?.seq() <= seq;
        let (_, mut cached) = usable.then(|| generations.remove(task))??;
        drop(generations);
        cached.settle();
        Some(cached)
    }

    /// Keeps the task, unless a later one is there.
    pub(crate) fn put(&self, task: &str, cached: Cached) {
        let mut generations = self.lock();
        let known = generations.find(task).map(Cached::seq);
        if known.is_none_or(|known| known < cached.seq()) {
            generations.remove(task);
            self.insert(generations, task.to_owned(), cached);
        }
    }

    /// Tells of an append that is durable as [`Cache::advance`] does, and then those who watch the task: they read it
    /// at once.
    pub(crate) fn publish(&self, feed: &Feed, head: &Arc<Head>, append: Append, bytes: usize) {
        let events = match feed.wants_events(&head.task) {
            true => append.clone().into_stored().collect(),
            false => Arc::default(),
        };
        self.advance(head, append, bytes);
        feed.publish_events(head, &events);
    }

    /// Tells of an append that takes so many bytes and led to `head`. A new task comes here, one that is here
    /// goes along.
    fn advance(&self, head: &Head, append: Append, bytes: usize) {
        let mut generations = self.lock();
        let known = match append.expected {
            0 => Some((head.task.clone(), Cached::empty(head))),
            expected => {
                let known = generations.remove(&head.task);
                known.filter(|(_, known)| known.seq() == expected)
            }
        };
        if let Some((task, mut cached)) = known {
            cached.bytes += bytes;
            cached.take(append);
            self.insert(generations, task, cached);
        }
    }

    /// Takes in a task, in the place of what the young know of it.
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
            // To free so many takes a while, in which others may go on.
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
    fn what_was_not_asked_for_in_time_goes() {
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
    fn a_task_is_found_under_its_number_or_taken_to_go_on() {
        let cache = Cache::new(100);
        cache.put("a", cached(3, 1));
        cache.put("a", cached(2, 1));
        assert!(cache.get("a", 2).is_none() && cache.get("a", 4).is_none());
        assert!(cache.take("a", 2).is_none());
        assert_eq!(cache.take("a", 4).unwrap().snapshot.seq, 3);
        assert!(cache.get("a", 3).is_none());
    }

    /// Tells of this event as the one after `seq`, of 10 bytes, in a task that was told of as it began.
    fn tell(cache: &Cache, seq: Seq, event: Event) {
        let sample = Sample::new("t");
        let created = sample.append(0, 1, vec![sample.created()]);
        let mut head = Head::after(None, &sample.caller, &created).unwrap();
        let append = sample.append(seq, 2, vec![event]);
        head.seq = append.last();
        cache.advance(&head, append, 10);
    }

    #[test]
    fn a_task_goes_along_with_what_is_appended_to_it_and_with_nothing_else() {
        let cache = Cache::new(100);
        tell(&cache, 0, Sample::new("t").created());
        for (seq, there) in [(1, true), (3, false)] {
            tell(&cache, seq, Event::TurnEnded { turn: 1 });
            assert_eq!(cache.get("t", seq + 1).is_some(), there);
        }
    }

    #[test]
    fn a_task_is_not_copied_for_what_is_appended_while_somebody_has_it() {
        let cache = Cache::new(100);
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
    fn what_waits_to_be_applied_has_a_bound() {
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
