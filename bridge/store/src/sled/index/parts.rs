//! The parts of an index.

use std::{collections::BTreeMap, sync::Arc};

use super::{Value, filter, part::Part};
use crate::{
    Result,
    sled::{
        SledSettings,
        keys::{self, Key},
    },
};

/// The parts of an index.
#[derive(Debug)]
pub(super) struct Parts {
    /// All parts, newest first.
    pub(super) all: Vec<Part>,
    /// The number of the newest parts in which message ids are looked up.
    pub(super) with_messages: usize,
    /// The largest key of a task. Ids are created in ascending order, so a new id is in no part.
    last_task: Key,
}

impl Parts {
    /// Loads the filters of the newest parts, within the limits.
    pub(super) fn new(mut all: Vec<Part>, settings: &SledSettings) -> Result<Self> {
        let (mut left, mut newer, mut with_messages) = (settings.filters, 0, 0);
        for part in &mut all {
            with_messages += usize::from(newer < settings.message_ids);
            newer += part.meta.messages;
            left = left.saturating_sub(part.meta.filter);
            part.filter = match part.filter.take() {
                _ if left == 0 => None,
                None => Some(Arc::new(part.read_filter()?)),
                known => known,
            };
        }
        let last_task = all.iter().map(|part| &part.meta.last_task).max();
        Ok(Self { last_task: last_task.cloned().unwrap_or_default(), with_messages, all })
    }

    /// Returns the position in the log at which the newest part ends.
    pub(super) fn end(&self) -> u64 {
        self.all.first().map_or(0, |newest| newest.meta.end.at)
    }

    pub(super) fn next_number(&self) -> u64 {
        self.all.first().map_or(0, |newest| newest.number + 1)
    }

    /// Returns the parts that may have this key, or keys with this prefix.
    pub(super) fn candidates<'p>(&'p self, key: &[u8]) -> impl Iterator<Item = &'p Part> + use<'p> {
        let count = match key.first() {
            Some(&keys::HEAD) if *key > *self.last_task => 0,
            Some(&keys::MESSAGE) => self.with_messages,
            // The newest part has all open turns.
            Some(&keys::TURN) => self.all.len().min(1),
            Some(_) | None => self.all.len(),
        };
        let hash = keys::filter_key(key).map(filter::hash);
        let may_contain = move |part: &&Part| match (hash, &part.filter) {
            (Some(hash), Some(filter)) => filter.may_contain(hash),
            (None, _) | (_, None) => true,
        };
        self.all[..count].iter().filter(may_contain)
    }

    /// Returns the newest entry of a key.
    pub(super) fn get(&self, key: &[u8]) -> Result<Value> {
        for part in self.candidates(key) {
            if let Some(value) = part.get(key)? {
                return Ok(value);
            }
        }
        Ok(None)
    }

    /// Returns the counts whose keys begin with this group. The newest part that has any of them has all.
    pub(super) fn counts(&self, group: &[u8]) -> Result<BTreeMap<Key, i64>> {
        for part in self.candidates(group) {
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
