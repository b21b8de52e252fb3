//! Tasks that were asked for lately, as they stood then.
//!
//! A cached task is only a place to start from: whoever takes it compares its number with the head's and
//! applies what happened since. So nothing here can be out of date, and writers need not know of it.

use std::{
    collections::BTreeMap,
    sync::{Mutex, MutexGuard, PoisonError},
};

use super::{Seq, Snapshot};

/// Bounded by the bytes that the tasks have in the log; the one that was not asked for the longest goes
/// first.
#[derive(Debug)]
pub(crate) struct Cache {
    limit: usize,
    held: Mutex<Held>,
}

#[derive(Debug, Default)]
struct Held {
    tasks: BTreeMap<String, Entry>,
    /// The tasks by the moment at which they were last asked for.
    ages: BTreeMap<u64, String>,
    now: u64,
    bytes: usize,
}

#[derive(Debug)]
struct Entry {
    cached: Cached,
    age: u64,
}

/// A task and the bytes that it has in the log.
#[derive(Clone, Debug)]
pub(crate) struct Cached {
    pub(crate) snapshot: Snapshot,
    pub(crate) bytes: usize,
}

impl Cache {
    pub(crate) fn new(limit: usize) -> Self {
        Self {
            limit,
            held: Mutex::default(),
        }
    }

    /// The task after exactly this event.
    pub(crate) fn get(&self, task: &str, seq: Seq) -> Option<Snapshot> {
        let mut held = self.lock();
        let snapshot = &held.tasks.get(task)?.cached.snapshot;
        let snapshot = (snapshot.seq == seq).then(|| snapshot.clone())?;
        held.touch(task);
        Some(snapshot)
    }

    /// Takes the task out, to apply to it what happened up to `seq` without a copy.
    pub(crate) fn take(&self, task: &str, seq: Seq) -> Option<Cached> {
        let mut held = self.lock();
        let usable = held.tasks.get(task)?.cached.snapshot.seq <= seq;
        usable.then(|| held.remove(task))?
    }

    /// Keeps the task, unless a later one is there.
    pub(crate) fn put(&self, task: &str, cached: Cached) {
        let mut held = self.lock();
        let known = held.tasks.get(task).map(|entry| entry.cached.snapshot.seq);
        if cached.bytes <= self.limit && known.is_none_or(|known| known < cached.snapshot.seq) {
            held.remove(task);
            held.insert(task, cached);
            held.shrink(self.limit);
        }
    }

    fn lock(&self) -> MutexGuard<'_, Held> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Held {
    fn insert(&mut self, task: &str, cached: Cached) {
        self.now += 1;
        self.bytes += cached.bytes;
        self.ages.insert(self.now, task.to_owned());
        let age = self.now;
        self.tasks.insert(task.to_owned(), Entry { cached, age });
    }

    fn remove(&mut self, task: &str) -> Option<Cached> {
        let entry = self.tasks.remove(task)?;
        self.ages.remove(&entry.age);
        self.bytes -= entry.cached.bytes;
        Some(entry.cached)
    }

    fn touch(&mut self, task: &str) {
        if let Some(entry) = self.tasks.get_mut(task)
            && let Some(name) = self.ages.remove(&entry.age)
        {
            self.now += 1;
            entry.age = self.now;
            self.ages.insert(self.now, name);
        }
    }

    fn shrink(&mut self, limit: usize) {
        while self.bytes > limit {
            let Some((_, oldest)) = self.ages.pop_first() else {
                return;
            };
            self.remove(&oldest);
        }
    }
}

#[cfg(test)]
mod tests {
    use bridge_protocol::a2a::{Metadata, Task, TaskState, TaskStatus};

    use super::*;

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
            bytes,
        }
    }

    #[test]
    fn what_was_not_asked_for_the_longest_goes_first() {
        let cache = Cache::new(100);
        for (task, bytes) in [("a", 40), ("b", 40)] {
            cache.put(task, cached(1, bytes));
        }
        assert!(cache.get("a", 1).is_some());
        cache.put("c", cached(1, 40));
        cache.put("too large", cached(1, 101));
        let there = ["a", "b", "c", "too large"].map(|task| cache.get(task, 1).is_some());
        assert_eq!(there, [true, false, true, false]);
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
}
