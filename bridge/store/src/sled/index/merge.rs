//! The entries of all parts in the order of their keys.
//!
//! A part is read only when its turn comes: the description of a part tells the times of its tasks, so that a list in the
//! order of times needs few parts.

use std::{
    cmp::Reverse,
    collections::{BinaryHeap, binary_heap::PeekMut},
    sync::Arc,
};

use super::{
    Value,
    part::{Entries, Part, Times},
    parts::Parts,
};
use crate::{
    StoreError,
    sled::keys::{self, Key, Order},
};

/// The entries of a list in all parts. Of the entries of one key only the newest is there.
#[derive(Debug)]
pub(super) struct Merge {
    parts: Arc<Parts>,
    prefix: Key,
    /// The part with the least key comes first.
    sources: BinaryHeap<Reverse<Source>>,
    last: Option<Key>,
}

/// A part with its next entry.
#[derive(Debug)]
struct Source {
    /// The key of the next entry. As long as nothing was read, no entry has a lesser one.
    key: Key,
    value: Value,
    /// `None` as long as nothing was read.
    entries: Option<Entries>,
    /// The number of newer parts.
    age: usize,
}

impl Merge {
    /// The entries whose keys begin with `prefix`, from `start` on.
    pub(super) fn new(parts: &Arc<Parts>, prefix: &[u8], start: &[u8]) -> Self {
        let source = |(age, part): (usize, &Part)| {
            let (value, entries) = (None, None);
            least_key(part, prefix, start).map(|key| {
                Reverse(Source {
                    key,
                    value,
                    entries,
                    age,
                })
            })
        };
        let numbered = parts.all.iter().enumerate();
        let mut with = parts.with(prefix).map(|part| part.number).peekable();
        let numbered = numbered.filter(|(_, part)| with.next_if_eq(&part.number).is_some());
        Self {
            sources: numbered.filter_map(source).collect(),
            parts: Arc::clone(parts),
            prefix: prefix.to_vec(),
            last: None,
        }
    }

    /// Whether it reads these parts.
    pub(super) fn is_of(&self, parts: &Arc<Parts>) -> bool {
        Arc::ptr_eq(&self.parts, parts)
    }

    /// Returns the next entry if its key is less than `end`.
    ///
    /// Errors: `Corrupt`.
    pub(super) fn next_before(
        &mut self,
        end: Option<&Key>,
    ) -> Result<Option<(Key, Value)>, StoreError> {
        loop {
            let Some(mut first) = self.sources.peek_mut() else {
                return Ok(None);
            };
            if end.is_some_and(|end| first.0.key >= *end) {
                return Ok(None);
            }
            let source = &mut first.0;
            let (entries, found) = match &mut source.entries {
                Some(entries) => (
                    entries,
                    Some((std::mem::take(&mut source.key), source.value.take())),
                ),
                none => {
                    let part = self.parts.all[source.age].clone();
                    (none.insert(Entries::new(part, &source.key)), None)
                }
            };
            match entries.next()? {
                Some(next) if next.0.starts_with(&self.prefix) => (source.key, source.value) = next,
                Some(_) | None => drop(PeekMut::pop(first)),
            }
            // Of the entries of one key, the one of the newest part came first.
            if let Some((key, value)) = found
                && self.last.as_ref() != Some(&key)
            {
                self.last = Some(key.clone());
                return Ok(Some((key, value)));
            }
        }
    }
}

/// The least key from `start` on that the part may have in the list. `None` if the part has none.
fn least_key(part: &Part, prefix: &[u8], start: &[u8]) -> Option<Key> {
    let Some(order) = keys::order_of_list(prefix) else {
        return Some(start.to_vec());
    };
    let (first, last) = match (part.times(prefix), order) {
        (Times::Unknown, _) => return Some(start.to_vec()),
        (Times::Nothing, _) => return None,
        (Times::Between(oldest, newest), Order::NewestFirst) => (newest, oldest),
        (Times::Between(oldest, newest), Order::OldestFirst) => (oldest, newest),
    };
    if start > prefix && keys::start_of_time(prefix, order, last).as_slice() < start {
        // The task of the last time may still come behind the start, if that has the same time.
        if keys::time(start) != Some(last) {
            return None;
        }
    }
    let first = keys::start_of_time(prefix, order, first);
    Some(first.max(start.to_vec()))
}

impl Source {
    /// What was not read yet comes before what has the same key, since it may have an entry of that key.
    fn place(&self) -> (&Key, bool, usize) {
        (&self.key, self.entries.is_some(), self.age)
    }
}

impl PartialEq for Source {
    fn eq(&self, other: &Self) -> bool {
        self.place() == other.place()
    }
}

impl Eq for Source {}

impl PartialOrd for Source {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Source {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.place().cmp(&other.place())
    }
}
