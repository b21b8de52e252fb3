//! Tasks that were written to or asked for lately, as they stood then.
//!
//! A cached task is only a place to start from: whoever takes it compares its number with the head's and
//! applies what happened since. So nothing here can be out of date, and a writer may tell of its append
//! or not.

use std::{
    collections::BTreeMap,
    sync::{Mutex, MutexGuard, PoisonError},
};

use super::{Append, Head, Seq, Snapshot};

/// Bounded by the bytes that the tasks take, which are told from what they are in the log. There are two generations: when the young one
/// has half of those bytes it becomes the old one, and the old one goes. What is asked for in time is
/// young again.
#[derive(Debug)]
pub(crate) struct Cache {
    limit: usize,
    held: Mutex<Held>,
}

#[derive(Debug, Default)]
struct Held {
    young: BTreeMap<String, Cached>,
    old: BTreeMap<String, Cached>,
    /// Of the young.
    bytes: usize,
}

/// A task and about how many bytes it takes.
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
        if let Some(cached) = held.young.get(task) {
            return (cached.snapshot.seq == seq).then(|| cached.snapshot.clone());
        }
        let cached = held.old.remove(task)?;
        let snapshot = cached.snapshot.clone();
        self.insert(held, task, cached);
        (snapshot.seq == seq).then_some(snapshot)
    }

    /// Takes the task out, to apply to it what happened up to `seq` without a copy.
    pub(crate) fn take(&self, task: &str, seq: Seq) -> Option<Cached> {
        let mut held = self.lock();
        let usable = held.find(task)?.snapshot.seq <= seq;
        usable.then(|| held.remove(task))?
    }

    /// Keeps the task, unless a later one is there.
    pub(crate) fn put(&self, task: &str, cached: Cached) {
        let mut held = self.lock();
        let known = held.find(task).map(|known| known.snapshot.seq);
        if known.is_none_or(|known| known < cached.snapshot.seq) {
            held.remove(task);
            self.insert(held, task, cached);
        }
    }

    /// Tells of an append that takes so many bytes and led to `head`. A new task comes here, one that is here
    /// goes along.
    pub(crate) fn advance(&self, head: &Head, append: Append, bytes: usize) {
        let mut held = self.lock();
        let known = match append.expected {
            0 => Some(Cached {
                snapshot: Snapshot::empty(head),
                bytes: 0,
            }),
            expected => {
                let known = held.remove(&head.task);
                known.filter(|known| known.snapshot.seq == expected)
            }
        };
        if let Some(mut cached) = known {
            cached.bytes += bytes;
            for stored in append.into_stored() {
                cached.snapshot.apply(stored);
            }
            self.insert(held, &head.task, cached);
        }
    }

    /// Takes in a task, in the place of what the young know of it.
    fn insert(&self, mut held: MutexGuard<'_, Held>, task: &str, cached: Cached) {
        if cached.bytes <= self.limit / 2 {
            held.bytes += cached.bytes;
            let replaced = held.young.insert(task.to_owned(), cached);
            held.bytes -= replaced.map_or(0, |replaced| replaced.bytes);
        }
        if held.bytes > self.limit / 2 {
            held.bytes = 0;
            let young = std::mem::take(&mut held.young);
            let gone = std::mem::replace(&mut held.old, young);
            // To free so many takes a while, in which others may go on.
            drop(held);
            drop(gone);
        }
    }

    fn lock(&self) -> MutexGuard<'_, Held> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Held {
    fn find(&self, task: &str) -> Option<&Cached> {
        self.young.get(task).or_else(|| self.old.get(task))
    }

    fn remove(&mut self, task: &str) -> Option<Cached> {
        match self.young.remove(task) {
            Some(cached) => {
                self.bytes -= cached.bytes;
                Some(cached)
            }
            None => self.old.remove(task),
        }
    }
}

#[cfg(test)]
mod tests {
    use bridge_protocol::a2a::{Metadata, Task, TaskState, TaskStatus};

    use super::*;
    use crate::store::{Event, testing::Sample};

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

    #[test]
    fn a_task_goes_along_with_what_is_appended_to_it_and_with_nothing_else() {
        let cache = Cache::new(100);
        let sample = Sample::new("t");
        let created = sample.append(0, 1, vec![sample.created()]);
        let mut head = Head::after(None, &sample.caller, &created).unwrap();
        cache.advance(&head, created, 10);
        for (expected, there) in [(1, true), (3, false)] {
            let event = Event::TurnEnded { turn: 1 };
            let said = sample.append(expected, 2, vec![event]);
            head.seq = said.last();
            cache.advance(&head, said, 10);
            assert_eq!(cache.get("t", head.seq).is_some(), there);
        }
    }
}
