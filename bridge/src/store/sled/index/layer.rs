//! Entries in memory: changes that are not in a run yet.

use std::{
    collections::{BTreeMap, btree_map::Entry},
    ops::Bound,
};

use super::Value;
use crate::store::sled::{keys::Key, log::End};

/// What an entry costs in memory besides its bytes, roughly.
const OVERHEAD: usize = 120;

/// Entries that change together.
#[derive(Debug, Default)]
pub(in crate::store::sled) struct Changes(BTreeMap<Key, Change>);

/// What becomes of an entry.
#[derive(Clone, Debug)]
struct Change {
    value: Value,
    /// Nothing older has an entry of this key. If this one is removed again, nothing need tell of it.
    is_new: bool,
}

impl Changes {
    /// Puts an entry where there may have been another.
    pub(in crate::store::sled) fn put(&mut self, key: Key, value: Vec<u8>) {
        self.change(key, Some(value), false);
    }

    /// Puts an entry where the index has none.
    pub(in crate::store::sled) fn put_new(&mut self, key: Key, value: Vec<u8>) {
        self.change(key, Some(value), true);
    }

    /// Removes an entry.
    pub(in crate::store::sled) fn remove(&mut self, key: Key) {
        self.change(key, None, false);
    }

    /// What becomes of an entry, if it changes.
    pub(in crate::store::sled) fn get(&self, key: &[u8]) -> Option<Option<&[u8]>> {
        self.0.get(key).map(|change| change.value.as_deref())
    }

    fn change(&mut self, key: Key, value: Value, is_new: bool) {
        merge(&mut self.0, key, Change { value, is_new });
    }
}

/// Changes one after the other; says by how many bytes they became more.
fn merge(entries: &mut BTreeMap<Key, Change>, key: Key, change: Change) -> isize {
    let added = size(&key, &change.value);
    match entries.entry(key) {
        Entry::Vacant(vacant) => {
            vacant.insert(change);
            added
        }
        // What was new leaves nothing when it is removed; of what older ones may know it must be told.
        Entry::Occupied(known) if known.get().is_new && change.value.is_none() => {
            let (key, known) = known.remove_entry();
            -size(&key, &known.value)
        }
        Entry::Occupied(mut known) => {
            let removed = size(known.key(), &known.get().value);
            known.get_mut().value = change.value;
            added - removed
        }
    }
}

fn size(key: &Key, value: &Value) -> isize {
    (key.len() + value.as_ref().map_or(0, Vec::len) + OVERHEAD).cast_signed()
}

/// Changes since the last run, and up to where in the log they are all.
#[derive(Debug)]
pub(super) struct Layer {
    entries: BTreeMap<Key, Change>,
    end: End,
    bytes: usize,
}

impl Layer {
    /// An empty one behind what ends at `end`.
    pub(super) fn new(end: End) -> Self {
        Self {
            entries: BTreeMap::new(),
            end,
            bytes: 0,
        }
    }

    pub(super) fn apply(&mut self, changes: Changes, end: End) {
        for (key, change) in changes.0 {
            let more = merge(&mut self.entries, key, change);
            self.bytes = self.bytes.saturating_add_signed(more);
        }
        self.end = end;
    }

    pub(super) fn end(&self) -> End {
        self.end
    }

    /// What it takes in memory, roughly.
    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }

    /// How many entries it has.
    pub(super) fn len(&self) -> usize {
        self.entries.len()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// The newest that is known of the key here; that may be that there is none.
    pub(super) fn get(&self, key: &[u8]) -> Option<Option<&[u8]>> {
        self.entries.get(key).map(|change| change.value.as_deref())
    }

    /// The entries whose keys begin with `prefix`, from `from` on.
    pub(super) fn range<'l>(
        &'l self,
        prefix: &'l [u8],
        from: &Bound<Key>,
    ) -> impl Iterator<Item = (Key, Value)> + 'l {
        let from = from.as_ref().map(Vec::as_slice);
        let later = self.entries.range::<[u8], _>((from, Bound::Unbounded));
        later
            .take_while(move |(key, _)| key.starts_with(prefix))
            .map(|(key, change)| (key.clone(), change.value.clone()))
    }

    /// All entries, in the order of the keys.
    pub(super) fn entries(&self) -> impl Iterator<Item = (&[u8], Option<&[u8]>)> {
        let entries = self.entries.iter();
        entries.map(|(key, change)| (key.as_slice(), change.value.as_deref()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_new_and_removed_again_leaves_nothing() {
        let (mut first, mut second) = (Changes::default(), Changes::default());
        first.put_new(b"new".to_vec(), vec![1]);
        first.put(b"old".to_vec(), vec![2]);
        second.remove(b"new".to_vec());
        second.remove(b"old".to_vec());
        let mut layer = Layer::new(End::default());
        layer.apply(first, End { at: 5, batch: 1 });
        assert_eq!(layer.get(b"new"), Some(Some(&[1][..])));
        layer.apply(second, End { at: 9, batch: 2 });
        assert_eq!((layer.get(b"new"), layer.get(b"old")), (None, Some(None)));
        assert_eq!((layer.end().at, layer.len()), (9, 1));
        assert_eq!(layer.bytes(), b"old".len() + OVERHEAD);
    }
}
