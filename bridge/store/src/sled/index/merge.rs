//! Merges the entries of all parts in the order of their keys.
//!
//! A part is read only when its entries are needed. The description of a part has the times of its tasks, so a list that is
//! ordered by time reads few parts.

use std::{
    cmp::Reverse,
    collections::{BinaryHeap, binary_heap::PeekMut},
    sync::Arc,
};

use super::{
    Value,
    part::{Entries, Part},
    parts::Parts,
};
use crate::{
    Result,
    sled::keys::{self, Key, Order},
};

/// The entries of a list in all parts. Of the entries with the same key, only the newest is returned.
#[derive(Debug)]
pub(super) struct Merge {
    parts: Arc<Parts>,
    prefix: Key,
    /// The part with the smallest key comes first.
    sources: BinaryHeap<Reverse<Source>>,
    last: Option<Key>,
}

/// A part with its next entry.
#[derive(Debug)]
struct Source {
    part: Part,
    /// The key of the next entry, or a lower bound of it before the part is read.
    key: Key,
    value: Value,
    /// The entries; `None` before the part is read.
    entries: Option<Entries>,
}

impl Merge {
    /// Merges the entries whose keys begin with `prefix`, from `start` on.
    pub(super) fn new(parts: &Arc<Parts>, prefix: &[u8], start: &[u8]) -> Self {
        let source = |part: &Part| {
            Some(Reverse(Source {
                part: part.clone(),
                key: lower_bound(part, prefix, start)?,
                value: None,
                entries: None,
            }))
        };
        Self {
            parts: Arc::clone(parts),
            prefix: prefix.to_vec(),
            sources: parts.candidates(prefix).filter_map(source).collect(),
            last: None,
        }
    }

    pub(super) fn is_of(&self, parts: &Arc<Parts>) -> bool {
        Arc::ptr_eq(&self.parts, parts)
    }

    /// Returns the next entry if its key is less than `end`.
    ///
    /// Errors: `Corrupt`.
    pub(super) fn next_before(&mut self, end: Option<&Key>) -> Result<Option<(Key, Value)>> {
        loop {
            let Some(mut first) = self.sources.peek_mut() else {
                return Ok(None);
            };
            if end.is_some_and(|end| first.0.key >= *end) {
                return Ok(None);
            }
            let source = &mut first.0;
            let (entries, found) = match &mut source.entries {
                Some(entries) => {
                    (entries, Some((std::mem::take(&mut source.key), source.value.take())))
                }
                none => {
                    let entries = Entries::new(source.part.clone(), &source.key);
                    (none.insert(entries), None)
                }
            };
            match entries.next()? {
                Some(next) if next.0.starts_with(&self.prefix) => (source.key, source.value) = next,
                Some(_) | None => drop(PeekMut::pop(first)),
            }
            // Of the entries with the same key, that of the newest part comes first.
            if let Some((key, value)) = found
                && self.last.as_ref() != Some(&key)
            {
                self.last = Some(key.clone());
                return Ok(Some((key, value)));
            }
        }
    }
}

/// Returns a lower bound of the keys of the list in a part from `start` on; `None` if the part has no such key.
fn lower_bound(part: &Part, prefix: &[u8], start: &[u8]) -> Option<Key> {
    let Some(order) = keys::order_of_list(prefix) else {
        return Some(start.to_vec());
    };
    let (oldest, newest) = part.times(order)?;
    let from = keys::time(start);
    let (first, is_before) = match order {
        Order::NewestFirst => (newest, from.is_some_and(|from| oldest > from)),
        Order::OldestFirst => (oldest, from.is_some_and(|from| newest < from)),
    };
    let first = keys::start_of_time(prefix, order, first);
    (!is_before).then(|| first.max(start.to_vec()))
}

impl Source {
    /// Returns the sort key. Of sources with the same key, unread ones come first, since they may have an entry with that
    /// key, and then the newest part.
    fn sort_key(&self) -> (&Key, bool, Reverse<u64>) {
        (&self.key, self.entries.is_some(), Reverse(self.part.number))
    }
}

impl PartialEq for Source {
    fn eq(&self, other: &Self) -> bool {
        self.sort_key() == other.sort_key()
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
        self.sort_key().cmp(&other.sort_key())
    }
}
