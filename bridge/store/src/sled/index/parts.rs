//! All parts of an index.

use std::{collections::BTreeMap, sync::Arc};

use super::{Value, filter, part::Part};
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
    /// The number of parts, the newest, that have all open turns.
    having_turns: usize,
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
        let has_all = |part: &Part| part.meta.more.is_some();
        Ok(Self {
            having_turns: all
                .iter()
                .position(has_all)
                .map_or(all.len(), |one| one + 1),
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
            Some(&keys::TURN) => self.having_turns,
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
                .list(group)
                .map(|entry| entry.map(|(key, value)| (key, keys::count(value.as_deref()))))
                .collect();
            let found = found?;
            if !found.is_empty() {
                return Ok(found);
            }
        }
        Ok(BTreeMap::new())
    }
}
