//! A layer: the newest entries of the index in memory, with the current state of tasks and the changes of lists.

use std::{
    borrow::Cow,
    collections::BTreeMap,
    ops::Bound,
    sync::{Arc, OnceLock},
};

use super::{PartEntries, Value};
use crate::{
    Head,
    sled::{
        Unordered,
        keys::{self, IndexedTask, Key},
        latest_append::{DataState, LatestAppend},
        log::End,
    },
};

/// The approximate memory of a task, and of an entry without its key and value.
const TASK_BYTES: usize = 512;
const ENTRY_BYTES: usize = 120;
/// The number of appends, and the bytes of the log, from which a layer is full. They are limited because a start replays
/// them.
const MAX_APPENDS: usize = 100_000;
const MAX_LOG_BYTES: u64 = 128 << 20;

/// The changes of one batch of the log.
#[derive(Clone, Debug, Default)]
pub(in crate::sled) struct Changes {
    /// Entries that are not computed from the state of a task; `None` for removed ones.
    pub(in crate::sled) entries: Unordered<Key, Value>,
    /// The change of the size of small records, if any was written.
    pub(in crate::sled) record_bytes: Option<i64>,
    tasks: Unordered<Arc<str>, TaskChange>,
    appends: usize,
}

/// A changed task. Most tasks are changed several times within a short time, and end. The lists are only updated by the
/// difference between the state before and after these changes.
#[derive(Clone, Debug)]
struct TaskChange {
    /// The state of the task in the lists; `None` if they do not contain it.
    listed: Option<LatestAppend>,
    latest: LatestAppend,
    /// Whether all its entries must be written again, since the existing ones are in an old part.
    is_rewritten: bool,
}

impl Changes {
    /// Adds an append to a task whose latest append was `before`; `None` for a new task.
    pub(in crate::sled) fn update_task(
        &mut self,
        before: Option<LatestAppend>,
        latest: LatestAppend,
    ) {
        self.appends += 1;
        match self.tasks.get_mut(&*latest.head.task) {
            Some(known) => known.latest = latest,
            None => {
                let task = Arc::clone(&latest.head.task);
                let change = TaskChange { listed: before, latest, is_rewritten: false };
                self.tasks.insert(task, change);
            }
        }
    }

    /// Writes all entries of a task again, because its appends were copied.
    pub(in crate::sled) fn rewrite_task(
        &mut self,
        before: Option<LatestAppend>,
        latest: LatestAppend,
    ) {
        let task = Arc::clone(&latest.head.task);
        self.update_task(before, latest);
        if let Some(change) = self.tasks.get_mut(&*task) {
            change.is_rewritten = true;
        }
    }

    pub(in crate::sled) fn latest(&self, task: &str) -> Option<&LatestAppend> {
        self.tasks.get(task).map(|change| &change.latest)
    }
}

/// The entries that result from a range of the log.
#[derive(Debug, Default)]
pub(super) struct Layer {
    tasks: Unordered<Arc<str>, TaskChange>,
    /// The tasks that have changed since the lists were updated.
    unlisted: Vec<Arc<Head>>,
    /// Entries that are only looked up by their whole keys.
    single: Unordered<Key, Value>,
    pub(super) lists: Lists,
    /// The lists with all tasks, once they were requested of a sealed layer.
    complete: OnceLock<Lists>,
    pub(super) appends: usize,
    bytes: usize,
    start: End,
    pub(super) end: End,
}

/// Entries of lists, and the changes of counts relative to older layers and parts.
#[derive(Clone, Debug, Default)]
pub(super) struct Lists {
    entries: BTreeMap<Key, Value>,
    counts: BTreeMap<Key, i64>,
}

impl Layer {
    /// Creates an empty layer that begins at `end`, the end of the previous one.
    pub(super) fn new(end: End) -> Self {
        Self { start: end, end, ..Self::default() }
    }

    pub(super) fn apply(&mut self, changes: Changes, end: End) {
        self.end = end;
        self.appends += changes.appends;
        if let Some(more) = changes.record_bytes {
            let key = vec![keys::RECORD_BYTES];
            *self.lists.counts.entry(key).or_default() += more;
        }
        for (key, value) in changes.entries {
            self.bytes += key.len() + value.as_ref().map_or(0, Vec::len) + ENTRY_BYTES;
            match keys::is_single(&key) {
                true => self.single.insert(key, value),
                false => self.lists.entries.insert(key, value),
            };
        }
        for (task, change) in changes.tasks {
            match self.tasks.get_mut(&*task) {
                Some(known) => {
                    if known.is_listed() {
                        self.unlisted.push(Arc::clone(&change.latest.head));
                    }
                    known.latest = change.latest;
                    known.is_rewritten |= change.is_rewritten;
                }
                None => {
                    self.unlisted.push(Arc::clone(&change.latest.head));
                    self.tasks.insert(task, change);
                }
            }
        }
    }

    /// Returns the approximate size in memory.
    pub(super) fn bytes(&self) -> usize {
        self.bytes + self.tasks.len() * TASK_BYTES
    }

    /// Returns whether the layer must be written.
    pub(super) fn is_full(&self, capacity: usize) -> bool {
        let is_long = self.appends >= MAX_APPENDS || self.end.at - self.start.at >= MAX_LOG_BYTES;
        self.bytes() >= capacity || is_long
    }

    /// Updates the lists by at most `limit` changed tasks. Returns whether the lists are complete.
    pub(super) fn update_lists(&mut self, limit: usize) -> bool {
        for _ in 0..limit {
            let Some(head) = self.unlisted.pop() else {
                return true;
            };
            if let Some(change) = self.tasks.get_mut(&*head.task) {
                let Lists { entries, counts } = &mut self.lists;
                update(change, counts, |key, value| {
                    entries.insert(key, value);
                });
                change.listed = change.latest.clone().unless_deleted();
                change.is_rewritten = false;
            }
        }
        self.unlisted.is_empty()
    }

    pub(super) fn latest(&self, task: &str) -> Option<&LatestAppend> {
        self.tasks.get(task).map(|change| &change.latest)
    }

    /// Returns the entry of a key that is not the key of a task, if the layer has one. The entry of a removed key is `None`.
    pub(super) fn get(&self, key: &[u8]) -> Option<&Value> {
        if keys::is_single(key) { self.single.get(key) } else { self.lists.entries.get(key) }
    }
}

impl TaskChange {
    fn is_listed(&self) -> bool {
        let exists = self.latest.state != DataState::Deleted;
        let is_same = match &self.listed {
            Some(listed) => exists && Arc::ptr_eq(&listed.head, &self.latest.head),
            None => !exists,
        };
        is_same && !self.is_rewritten
    }
}

impl Lists {
    /// Returns the entries whose keys begin with `prefix`, from `start` on.
    pub(super) fn range(
        &self,
        prefix: &[u8],
        start: &[u8],
    ) -> impl Iterator<Item = (&Key, &Value)> {
        let start = Bound::Included(start);
        let later = self.entries.range::<[u8], _>((start, Bound::Unbounded));
        later.take_while(move |(key, _)| key.starts_with(prefix))
    }

    /// Returns the changes of counts whose keys begin with `prefix`.
    pub(super) fn counts(&self, prefix: &[u8]) -> impl Iterator<Item = (&Key, i64)> {
        let later = self.counts.range::<[u8], _>((Bound::Included(prefix), Bound::Unbounded));
        let counts = later.take_while(move |(key, _)| key.starts_with(prefix));
        counts.map(|(key, more)| (key, *more))
    }
}

/// Updates the lists and counts by the change of a task: first entries are removed, then entries are added.
fn update(change: &TaskChange, counts: &mut BTreeMap<Key, i64>, mut put: impl FnMut(Key, Value)) {
    let exists = change.latest.state != DataState::Deleted;
    let before = change.listed.as_ref();
    let after = Some(&change.latest).filter(|_| exists);
    let (old, new) = difference(before, after, keys::list_keys, change.is_rewritten);
    old.into_iter().for_each(|key| put(key, None));
    new.into_iter().for_each(|key| put(key, Some(Vec::new())));
    let (old, new) = difference(before, after, keys::counts, change.is_rewritten);
    for (counted, sign) in [(old, -1), (new, 1)] {
        for (key, more) in counted {
            *counts.entry(key).or_default() += sign * more;
        }
    }
}

/// Returns the entries of a task that a change removes, and those that it adds. For a rewritten task, both have all
/// entries, so that all entries are written and counts do not change.
fn difference<T: PartialEq>(
    before: Option<&LatestAppend>,
    after: Option<&LatestAppend>,
    of: fn(&LatestAppend) -> Vec<T>,
    is_rewritten: bool,
) -> (Vec<T>, Vec<T>) {
    let mut old = before.map(of).unwrap_or_default();
    let mut new = after.map(of).unwrap_or_default();
    if !is_rewritten {
        old.retain(|one| match new.iter().position(|other| other == one) {
            Some(same) => {
                new.swap_remove(same);
                false
            }
            None => true,
        });
    }
    (old, new)
}

/// These functions are for sealed layers, which no longer change.
impl Layer {
    /// Returns the lists with all tasks. The first call takes some time.
    pub(super) fn complete_lists(&self) -> &Lists {
        self.complete.get_or_init(|| {
            let mut lists = self.lists.clone();
            for change in self.tasks.values().filter(|change| !change.is_listed()) {
                update(change, &mut lists.counts, |key, value| {
                    lists.entries.insert(key, value);
                });
            }
            lists
        })
    }

    /// Returns all entries, and the changes of counts.
    pub(super) fn entries(&self) -> (PartEntries<'_>, BTreeMap<Key, i64>) {
        let complete = self.complete.get();
        let lists = complete.unwrap_or(&self.lists);
        let mut counts = lists.counts.clone();
        let mut entries = Vec::new();
        for (key, value) in self.single.iter().chain(&lists.entries) {
            entries.push((Cow::Borrowed(key.as_slice()), value.as_deref().map(Cow::Borrowed)));
        }
        for change in self.tasks.values() {
            let exists = change.latest.state != DataState::Deleted;
            let indexed = exists.then(|| Cow::Owned(keys::write(&IndexedTask::of(&change.latest))));
            entries.push((Cow::Owned(keys::head(&change.latest.head.task)), indexed));
            if complete.is_none() && !change.is_listed() {
                update(change, &mut counts, |key, value| {
                    entries.push((Cow::Owned(key), value.map(Cow::Owned)));
                });
            }
        }
        // Of several entries with the same key, the last one is kept.
        (entries.into_iter().collect(), counts)
    }
}

#[cfg(test)]
mod tests {
    use bridge_protocol::a2a::TaskState;

    use super::*;
    use crate::{sled::log::LogOffset, testing::Sample};

    fn latest(state: TaskState) -> LatestAppend {
        let sample = Sample::new("t");
        let created = sample.append(0, 1, vec![sample.created()]);
        let mut head = Head::after(None, &sample.caller, &created).unwrap();
        head.state = state;
        let offset = LogOffset { at: 16, length: 9 };
        LatestAppend { head: Arc::new(head), offset, number: 1, bytes: 9, state: DataState::Intact }
    }

    /// Returns the kinds of the entries after these changes, with `-` before removed ones, and the changes of counts.
    fn kinds(is_known: bool, states: &[TaskState], at_once: bool) -> String {
        let mut layer = Layer::default();
        let appends: Vec<LatestAppend> = states.iter().cloned().map(latest).collect();
        let mut before = is_known.then(|| latest(TaskState::Submitted));
        for latest in appends {
            let mut changes = Changes::default();
            changes.update_task(before.replace(latest.clone()), latest);
            layer.apply(changes, End::default());
            if !at_once {
                layer.update_lists(9);
            }
        }
        // For a new task, entries that were added and removed meanwhile are not in any older part.
        let (entries, counts) = layer.entries();
        let entries = entries.into_iter().filter(|(_, value)| is_known || value.is_some());
        let entries = entries.map(|(key, value)| {
            let gone = if value.is_none() { "-" } else { "" };
            format!("{gone}{} ", char::from(key[0]))
        });
        let counts = counts.iter().filter(|(_, more)| **more != 0);
        let counts = counts.map(|(key, more)| format!("{}{more} ", char::from(key[0])));
        entries.chain(counts).collect()
    }

    #[test]
    fn entries_are_sorted_and_the_last_of_a_key_is_kept() {
        let unsorted =
            [("tb", None), ("ha", Some("1")), ("ta", Some("2")), ("ta", None), ("h", Some("3"))];
        let unsorted = unsorted.map(|(key, value)| {
            (key.as_bytes().into(), value.map(|value: &str| value.as_bytes().into()))
        });
        let found: PartEntries<'_> = unsorted.into_iter().collect();
        let found: Vec<_> = found
            .iter()
            .map(|(key, value)| (str::from_utf8(key).unwrap(), value.as_deref()))
            .collect();
        let expected = [("h", Some(&b"3"[..])), ("ha", Some(b"1")), ("ta", None), ("tb", None)];
        assert_eq!(found, expected);
    }

    #[test]
    fn lists_are_updated_by_the_first_and_the_last_state_of_a_task() {
        use TaskState::{Completed, InputRequired, Submitted, Working};
        for (is_known, states, expected) in [
            (false, &[Submitted][..], "h a1 c k1 n1 t w9 "),
            (false, &[Submitted, Working, Completed], "h c k1 n1 t z d1 y9 "),
            (false, &[InputRequired], "h a1 c k1 n1 o t w9 "),
            (false, &[InputRequired, Working], "h a1 c k1 n1 t w9 "),
            (true, &[Working], "h n-1 n1 k-1 k1 -t t -c c "),
            (true, &[InputRequired], "h n1 n-1 k1 k-1 o t -t c -c "),
            (true, &[Working, Completed], "h a-1 n1 n-1 k1 k-1 t -t c -c z d1 y9 w-9 "),
            (true, &[Submitted], "h "),
        ] {
            for at_once in [true, false] {
                let mut found: Vec<_> =
                    kinds(is_known, states, at_once).split(' ').map(str::to_owned).collect();
                let mut expected: Vec<_> = expected.split(' ').map(str::to_owned).collect();
                found.sort();
                // An entry that was added and removed counts as removed.
                found.dedup();
                expected.sort();
                assert_eq!(found, expected, "{states:?}");
            }
        }
    }
}
