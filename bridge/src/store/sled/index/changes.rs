//! What changes together: entries, and tasks of which the entries follow.

use std::{
    collections::{BTreeMap, btree_map::Entry},
    ops::Bound,
};

use super::Value;
use crate::store::sled::{heads::Tip, keys::Key, moved::Moved};

/// What an entry costs in memory besides its bytes, roughly.
pub(super) const OVERHEAD: usize = 120;

/// Entries by key, and the tasks that were written to. What follows for a task's entries is not among
/// them before [`Changes::fold`]: it is worked out once for all that happened to the task until then.
#[derive(Debug, Default)]
pub(in crate::store::sled) struct Changes {
    entries: BTreeMap<Key, Change>,
    tasks: BTreeMap<String, Moved>,
    bytes: usize,
}

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
        let value = Some(value);
        let is_new = false;
        self.change(key, Change { value, is_new });
    }

    /// Puts an entry where the index has none.
    pub(in crate::store::sled) fn put_new(&mut self, key: Key, value: Vec<u8>) {
        let value = Some(value);
        let is_new = true;
        self.change(key, Change { value, is_new });
    }

    /// Removes an entry.
    pub(in crate::store::sled) fn remove(&mut self, key: Key) {
        let (value, is_new) = (None, false);
        self.change(key, Change { value, is_new });
    }

    /// What becomes of an entry, if it changes.
    pub(in crate::store::sled) fn get(&self, key: &[u8]) -> Option<Option<&[u8]>> {
        self.entries.get(key).map(|change| change.value.as_deref())
    }

    /// Has the entries of a task follow its newest append, some time.
    pub(in crate::store::sled) fn move_task(&mut self, moved: Moved) {
        match self.tasks.get_mut(&moved.tip.head.task) {
            Some(known) => known.tip = moved.tip,
            None => drop(self.tasks.insert(moved.tip.head.task.clone(), moved)),
        }
    }

    /// The newest append of a task whose entries do not follow it yet.
    pub(in crate::store::sled) fn tip(&self, task: &str) -> Option<&Tip> {
        self.tasks.get(task).map(|moved| &moved.tip)
    }

    /// The newest appends of all tasks whose entries do not follow them yet.
    pub(in crate::store::sled) fn tips(&self) -> impl Iterator<Item = &Tip> {
        self.tasks.values().map(|moved| &moved.tip)
    }

    /// Has the entries of all tasks follow.
    pub(in crate::store::sled) fn fold(&mut self) {
        for moved in std::mem::take(&mut self.tasks).into_values() {
            moved.follow(self);
        }
    }

    /// Adds later changes.
    pub(super) fn absorb(&mut self, later: Self) {
        for (key, change) in later.entries {
            self.change(key, change);
        }
        for moved in later.tasks.into_values() {
            self.move_task(moved);
        }
    }

    fn change(&mut self, key: Key, change: Change) {
        let more = merge(&mut self.entries, key, change);
        self.bytes = self.bytes.saturating_add_signed(more);
    }

    /// How many tasks there are whose entries do not follow yet.
    pub(super) fn waiting(&self) -> usize {
        self.tasks.len()
    }

    /// How many entries there are.
    pub(super) fn len(&self) -> usize {
        self.entries.len()
    }

    /// What the entries take in memory, roughly.
    pub(super) fn bytes(&self) -> usize {
        self.bytes
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
    pub(in crate::store::sled) fn entries(&self) -> impl Iterator<Item = (&[u8], Option<&[u8]>)> {
        let entries = self.entries.iter();
        entries.map(|(key, change)| (key.as_slice(), change.value.as_deref()))
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
