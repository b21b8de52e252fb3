//! All parts of an index.

use std::{collections::BTreeMap, ops::Bound, sync::Arc};

use super::{PAGE, Value, filter, part::Part};
use crate::{
    StoreError,
    sled::keys::{self, Key},
};

/// The limits of the memory of parts.
#[derive(Clone, Copy, Debug)]
pub(super) struct Limits {
    /// The bytes of the filters in memory.
    pub(super) filters: usize,
    /// The least number of newest message ids that are remembered.
    pub(super) messages: u64,
}

/// All parts.
#[derive(Debug)]
pub(super) struct Parts {
    /// Newest first.
    pub(super) all: Vec<Part>,
    /// The number of parts, the newest, that remember message ids.
    pub(super) remembering: usize,
    /// The greatest key of a task. Ids are made in order, so a new one needs no look at any part.
    last_task: Key,
}

impl Parts {
    /// Keeps the filters of the newest parts in memory, within the limits.
    pub(super) fn new(mut all: Vec<Part>, limits: Limits) -> Result<Self, StoreError> {
        let (mut left, mut newer, mut remembering) = (limits.filters, 0, 0);
        for part in &mut all {
            remembering += usize::from(newer < limits.messages);
            newer += part.meta.messages;
            left = left.saturating_sub(part.meta.filter);
            part.filter = match part.filter.take() {
                _ if left == 0 => None,
                None => Some(Arc::new(part.read_filter()?)),
                known => known,
            };
        }
        let last_task = all.iter().map(|part| &part.meta.last_task).max();
        Ok(Self {
            last_task: last_task.cloned().unwrap_or_default(),
            remembering,
            all,
        })
    }

    /// The number of the next part.
    pub(super) fn next_number(&self) -> u64 {
        self.all.first().map_or(0, |newest| newest.number + 1)
    }

    /// The parts that may have this key, or keys that begin with it.
    pub(super) fn with<'p>(&'p self, key: &[u8]) -> impl Iterator<Item = &'p Part> + use<'p> {
        let count = match key.first() {
            Some(&keys::HEAD) if *key > *self.last_task => 0,
            Some(&keys::MESSAGE) => self.remembering,
            Some(_) | None => self.all.len(),
        };
        let hash = keys::filtered(key).map(filter::hash);
        let may_have = move |part: &&Part| match (hash, &part.filter) {
            (Some(hash), Some(filter)) => filter.may_have(hash),
            (None, _) | (_, None) => true,
        };
        self.all[..count].iter().filter(may_have)
    }

    /// The newest entry of a key.
    pub(super) fn get(&self, key: &[u8]) -> Result<Value, StoreError> {
        for part in self.with(key) {
            if let Some(value) = part.get(key)? {
                return Ok(value);
            }
        }
        Ok(None)
    }

    /// The counts whose keys begin with this group. The newest part that has any of them has all.
    pub(super) fn counts(&self, group: &[u8]) -> Result<BTreeMap<Key, i64>, StoreError> {
        for part in self.with(group) {
            let found: Result<BTreeMap<_, _>, _> = part
                .list(group, Bound::Included(group))
                .map(|entry| entry.map(|(key, value)| (key, keys::count(value.as_deref()))))
                .collect();
            let found = found?;
            if !found.is_empty() {
                return Ok(found);
            }
        }
        Ok(BTreeMap::new())
    }

    /// Adds the parts' entries to a page of a list; entries that the page has already are newer.
    pub(super) fn page(
        &self,
        prefix: &[u8],
        from: Bound<&[u8]>,
        mut page: BTreeMap<Key, Value>,
    ) -> Result<BTreeMap<Key, Value>, StoreError> {
        shorten(&mut page);
        for part in self.with(prefix) {
            if !reaches(part, prefix, from, &page) {
                continue;
            }
            for entry in part.list(prefix, from).take(PAGE) {
                let (key, value) = entry?;
                page.entry(key).or_insert(value);
            }
            shorten(&mut page);
        }
        Ok(page)
    }
}

/// Keeps the first entries only.
fn shorten(page: &mut BTreeMap<Key, Value>) {
    while page.len() > PAGE {
        page.pop_last();
    }
}

/// Whether a part may have entries that belong to the page. For the tasks of one state, their times decide.
fn reaches(part: &Part, prefix: &[u8], from: Bound<&[u8]>, page: &BTreeMap<Key, Value>) -> bool {
    if prefix.first() != Some(&keys::STATE_LIST) || keys::filtered(prefix) != Some(prefix) {
        return true;
    }
    let Some((oldest, newest)) = part.meta.times else {
        return false;
    };
    let is_older = match from {
        Bound::Included(from) | Bound::Excluded(from) => {
            keys::time(from).is_none_or(|from| oldest <= from)
        }
        Bound::Unbounded => true,
    };
    let last = page.last_key_value().filter(|_| page.len() == PAGE);
    let last = last.and_then(|(key, _)| keys::time(key));
    is_older && last.is_none_or(|last| newest >= last)
}
