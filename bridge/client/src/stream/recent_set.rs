//! A set of recently reported items, stored as hashes and bounded, so that long streams need no more memory.

use std::{
    collections::{BTreeSet, VecDeque},
    hash::{DefaultHasher, Hash, Hasher as _},
};

/// The number of items. Resumed streams have rarely missed more.
const LIMIT: usize = 16_384;

/// The hashes of recently reported items.
#[derive(Debug, Default)]
pub(super) struct RecentSet {
    known: BTreeSet<u64>,
    order: VecDeque<u64>,
}

impl RecentSet {
    /// Returns whether the item is in the set.
    pub(super) fn contains(&self, shown: impl Hash) -> bool {
        self.known.contains(&digest(shown))
    }

    /// Adds an item and drops the oldest one if the set is full.
    pub(super) fn insert(&mut self, shown: impl Hash) {
        let digest = digest(shown);
        if !self.known.insert(digest) {
            return;
        }
        self.order.push_back(digest);
        if self.order.len() > LIMIT
            && let Some(first) = self.order.pop_front()
        {
            self.known.remove(&first);
        }
    }

    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        self.known.len().max(self.order.len())
    }
}

fn digest(shown: impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    shown.hash(&mut hasher);
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_are_known_and_no_more_than_that() {
        let mut recent = RecentSet::default();
        for number in 0..3 * LIMIT {
            recent.insert(format!("id-{number}"));
            recent.insert(format!("id-{number}"));
        }
        assert_eq!(recent.len(), LIMIT);
        let is_known = |number: usize| recent.contains(format!("id-{number}"));
        assert!(is_known(2 * LIMIT) && is_known(3 * LIMIT - 1));
        assert!(!is_known(2 * LIMIT - 1) && !is_known(3 * LIMIT));
    }
}
