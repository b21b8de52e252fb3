//! The newest entries of the index, in memory: the current state of tasks, and the changes of the lists.

use std::{
    borrow::Cow,
    collections::BTreeMap,
    ops::Bound,
    sync::{Arc, OnceLock},
};

use super::{Entry, Value};
use crate::{
    Head,
    sled::{
        Unordered,
        keys::{self, IndexedTask, Key},
        log::End,
        tip::{Tip, TipState},
    },
};

/// The approximate memory of a task and of an entry, without the bytes of the entry.
const TASK: usize = 512;
const ENTRY: usize = 120;
/// A layer is full when it has so many appends or so many bytes of the log, because a start reads them again.
const APPENDS: usize = 100_000;
const SPAN: u64 = 128 << 20;

/// The changes of one batch of the log.
#[derive(Clone, Debug, Default)]
pub(in crate::sled) struct Changes {
    /// Entries that do not follow from the state of a task; `None` for those that are removed.
    pub(in crate::sled) entries: Unordered<Key, Value>,
    /// The difference in the bytes of small records, if any is written.
    pub(in crate::sled) record_bytes: Option<i64>,
    tasks: Unordered<String, TaskChange>,
    appends: usize,
}

/// A task that was written to. Most tasks are written to several times within a moment, and end: the lists follow only
/// from the state before these writes and the state after them.
#[derive(Clone, Debug)]
struct TaskChange {
    /// The task as the lists have it; `None` if they do not have it.
    listed: Option<Tip>,
    tip: Tip,
    /// Whether the lists have to write its entries once more, since those that they have are in an old part.
    is_anew: bool,
}

impl Changes {
    /// Adds an append to a task whose tip was `before`; `None` for a new task.
    pub(in crate::sled) fn move_task(&mut self, before: Option<Tip>, tip: Tip) {
        self.appends += 1;
        match self.tasks.get_mut(&tip.head.task) {
            Some(known) => known.tip = tip,
            None => {
                let task = tip.head.task.clone();
                let change = TaskChange {
                    listed: before,
                    tip,
                    is_anew: false,
                };
                self.tasks.insert(task, change);
            }
        }
    }

    /// Writes all entries of a task once more, because its appends have moved.
    pub(in crate::sled) fn say_anew(&mut self, before: Option<Tip>, tip: Tip) {
        let task = tip.head.task.clone();
        self.move_task(before, tip);
        if let Some(change) = self.tasks.get_mut(&task) {
            change.is_anew = true;
        }
    }

    /// The newest append of a task.
    pub(in crate::sled) fn tip(&self, task: &str) -> Option<&Tip> {
        self.tasks.get(task).map(|change| &change.tip)
    }
}

/// The entries that follow from the log between two ends of batches.
#[derive(Debug, Default)]
pub(super) struct Layer {
    /// All tasks that were written to.
    tasks: Unordered<String, TaskChange>,
    /// Those of these tasks that have changed since the lists took them up.
    unlisted: Vec<Arc<Head>>,
    /// Entries that are looked up by whole keys only.
    single: Unordered<Key, Value>,
    pub(super) lists: Lists,
    /// The lists of a layer that takes no more changes, once somebody has asked for them.
    whole: OnceLock<Lists>,
    appends: usize,
    bytes: usize,
    start: End,
    pub(super) end: End,
}

/// Entries of lists, and the differences of counts from those of older parts.
#[derive(Clone, Debug, Default)]
pub(super) struct Lists {
    entries: BTreeMap<Key, Value>,
    counts: BTreeMap<Key, i64>,
}

impl Layer {
    /// Creates an empty layer behind one that ends at `end`.
    pub(super) fn new(end: End) -> Self {
        Self {
            start: end,
            end,
            ..Self::default()
        }
    }

    pub(super) fn apply(&mut self, changes: Changes, end: End) {
        self.end = end;
        self.appends += changes.appends;
        if let Some(more) = changes.record_bytes {
            let key = vec![keys::RECORD_BYTES];
            *self.lists.counts.entry(key).or_default() += more;
        }
        for (key, value) in changes.entries {
            self.bytes += key.len() + value.as_ref().map_or(0, Vec::len) + ENTRY;
            match keys::is_single(&key) {
                true => self.single.insert(key, value),
                false => self.lists.entries.insert(key, value),
            };
        }
        for (task, change) in changes.tasks {
            match self.tasks.get_mut(&task) {
                Some(known) => {
                    if known.is_listed() {
                        self.unlisted.push(Arc::clone(&change.tip.head));
                    }
                    known.tip = change.tip;
                    known.is_anew |= change.is_anew;
                }
                None => {
                    self.unlisted.push(Arc::clone(&change.tip.head));
                    self.tasks.insert(task, change);
                }
            }
        }
    }

    /// Its approximate size in memory.
    pub(super) fn bytes(&self) -> usize {
        self.bytes + self.tasks.len() * TASK
    }

    /// The number of its appends.
    pub(super) fn appends(&self) -> usize {
        self.appends
    }

    /// Whether it is to be written.
    pub(super) fn is_full(&self, room: usize) -> bool {
        let is_long = self.appends >= APPENDS || self.end.at - self.start.at >= SPAN;
        self.bytes() >= room || is_long
    }

    /// Takes up at most so many changed tasks into the lists. Returns whether the lists have all of them.
    pub(super) fn list(&mut self, most: usize) -> bool {
        for _ in 0..most {
            let Some(head) = self.unlisted.pop() else {
                return true;
            };
            if let Some(change) = self.tasks.get_mut(&head.task) {
                let Lists { entries, counts } = &mut self.lists;
                follow(change, counts, |key, value| {
                    entries.insert(key, value);
                });
                change.listed = change.tip.clone().unless_deleted();
                change.is_anew = false;
            }
        }
        self.unlisted.is_empty()
    }

    /// The task's newest append.
    pub(super) fn tip(&self, task: &str) -> Option<&Tip> {
        self.tasks.get(task).map(|change| &change.tip)
    }

    /// The entry of a key that is not the key of a task, if this layer has it. The entry may say that the key has none.
    pub(super) fn get(&self, key: &[u8]) -> Option<&Value> {
        match keys::is_single(key) {
            true => self.single.get(key),
            false => self.lists.entries.get(key),
        }
    }
}

impl TaskChange {
    fn is_listed(&self) -> bool {
        let is_there = self.tip.state != TipState::Deleted;
        let is_same = match &self.listed {
            Some(listed) => is_there && Arc::ptr_eq(&listed.head, &self.tip.head),
            None => !is_there,
        };
        is_same && !self.is_anew
    }
}

impl Lists {
    /// The entries whose keys begin with `prefix`, from `start` on.
    pub(super) fn range(
        &self,
        prefix: &[u8],
        start: &[u8],
    ) -> impl Iterator<Item = (&Key, &Value)> {
        let start = Bound::Included(start);
        let later = self.entries.range::<[u8], _>((start, Bound::Unbounded));
        later.take_while(move |(key, _)| key.starts_with(prefix))
    }

    /// The differences of counts whose keys begin with `prefix`.
    pub(super) fn counts(&self, prefix: &[u8]) -> impl Iterator<Item = (&Key, i64)> {
        let later = self
            .counts
            .range::<[u8], _>((Bound::Included(prefix), Bound::Unbounded));
        let counts = later.take_while(move |(key, _)| key.starts_with(prefix));
        counts.map(|(key, more)| (key, *more))
    }
}

/// Puts the entries for the places of a task in lists, first those that it has left and then those where it is now, and
/// changes the counts.
fn follow(change: &TaskChange, counts: &mut BTreeMap<Key, i64>, mut put: impl FnMut(Key, Value)) {
    let is_there = change.tip.state != TipState::Deleted;
    let (before, after) = (
        change.listed.as_ref(),
        Some(&change.tip).filter(|_| is_there),
    );
    let (old, new) = changed(before, after, keys::places, change.is_anew);
    old.into_iter().for_each(|key| put(key, None));
    new.into_iter().for_each(|key| put(key, Some(Vec::new())));
    let (old, new) = changed(before, after, keys::counts, change.is_anew);
    for (changed, sign) in [(old, -1), (new, 1)] {
        for (key, more) in changed {
            *counts.entry(key).or_default() += sign * more;
        }
    }
}

/// The differences between the entries of a task before and after a change: those to remove, and those to add. For a task
/// whose entries are written anew, both have all entries, so that the entries are written and counts do not change.
fn changed<T: PartialEq>(
    before: Option<&Tip>,
    after: Option<&Tip>,
    of: fn(&Tip) -> Vec<T>,
    is_anew: bool,
) -> (Vec<T>, Vec<T>) {
    let (mut old, mut new) = (
        before.map(of).unwrap_or_default(),
        after.map(of).unwrap_or_default(),
    );
    if !is_anew {
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

/// For a layer that takes no more changes.
impl Layer {
    /// The lists with all tasks. The first call takes a while.
    pub(super) fn whole_lists(&self) -> &Lists {
        self.whole.get_or_init(|| {
            let mut lists = self.lists.clone();
            for change in self.tasks.values().filter(|change| !change.is_listed()) {
                follow(change, &mut lists.counts, |key, value| {
                    lists.entries.insert(key, value);
                });
            }
            lists
        })
    }

    /// All entries, and the differences of counts. Unless somebody has asked for a list, the lists' entries for each task
    /// are sorted only once, together with all others.
    pub(super) fn said(&self) -> (Unsorted<'_>, BTreeMap<Key, i64>) {
        let whole = self.whole.get();
        let lists = whole.unwrap_or(&self.lists);
        let mut entries = Unsorted::with_room(self.tasks.len());
        let mut counts = lists.counts.clone();
        for (key, value) in self.single.iter().chain(&lists.entries) {
            let value = value.as_deref().map(Cow::Borrowed);
            entries.push(Cow::Borrowed(key.as_slice()), value);
        }
        // Ids are made in order: sorted by id, most entries of tasks are in the order of their keys too.
        let mut tasks: Vec<&TaskChange> = self.tasks.values().collect();
        tasks.sort_unstable_by(|one, other| one.tip.head.task.cmp(&other.tip.head.task));
        for change in tasks {
            let is_there = change.tip.state != TipState::Deleted;
            let indexed = is_there.then(|| Cow::Owned(keys::write(&IndexedTask::of(&change.tip))));
            entries.push(Cow::Owned(keys::head(&change.tip.head.task)), indexed);
            if whole.is_none() && !change.is_listed() {
                follow(change, &mut counts, |key, value| {
                    entries.push(Cow::Owned(key), value.map(Cow::Owned));
                });
            }
        }
        (entries, counts)
    }
}

/// Entries in no order, by kind: entries that are mostly in order within their kind are sorted quickly.
pub(super) struct Unsorted<'e> {
    kinds: BTreeMap<u8, Vec<Entry<'e>>>,
    room: usize,
}

impl<'e> Unsorted<'e> {
    /// Creates one with room for so many entries of each kind.
    fn with_room(room: usize) -> Self {
        let kinds = BTreeMap::new();
        Self { kinds, room }
    }

    pub(super) fn push(&mut self, key: Cow<'e, [u8]>, value: Option<Cow<'e, [u8]>>) {
        let kind = key.first().copied().unwrap_or_default();
        let room = || Vec::with_capacity(self.room);
        self.kinds
            .entry(kind)
            .or_insert_with(room)
            .push((key, value));
    }

    /// All entries in the order of their keys; only the last one of each key stays.
    pub(super) fn in_order(self) -> Vec<Entry<'e>> {
        let mut all = Vec::with_capacity(self.kinds.values().map(Vec::len).sum());
        for mut entries in self.kinds.into_values() {
            entries.sort_by(|(one, _), (other, _)| one.cmp(other));
            entries.dedup_by(|later, earlier| {
                let is_same = later.0 == earlier.0;
                if is_same {
                    std::mem::swap(later, earlier);
                }
                is_same
            });
            all.append(&mut entries);
        }
        all
    }
}

#[cfg(test)]
mod tests {
    use bridge_protocol::a2a::TaskState;

    use super::*;
    use crate::{sled::log::LogOffset, testing::Sample};

    fn tip(state: TaskState) -> Tip {
        let sample = Sample::new("t");
        let created = sample.append(0, 1, vec![sample.created()]);
        let mut head = Head::after(None, &sample.caller, &created).unwrap();
        head.state = state;
        let offset = LogOffset { at: 16, length: 9 };
        Tip {
            head: Arc::new(head),
            offset,
            number: 1,
            bytes: 9,
            state: TipState::Intact,
        }
    }

    /// The kinds of the entries after these steps, with `-` before removed ones, and the differences of counts.
    fn kinds(is_known: bool, states: &[TaskState], at_once: bool) -> String {
        let mut layer = Layer::default();
        let tips: Vec<Tip> = states.iter().cloned().map(tip).collect();
        let mut before = is_known.then(|| tip(TaskState::Submitted));
        for tip in tips {
            let mut changes = Changes::default();
            changes.move_task(before.replace(tip.clone()), tip);
            layer.apply(changes, End::default());
            if !at_once {
                layer.list(9);
            }
        }
        // No older part has the places that a new task has left meanwhile.
        let (entries, counts) = layer.said();
        let entries = entries
            .in_order()
            .into_iter()
            .filter(|(_, value)| is_known || value.is_some());
        let entries = entries.map(|(key, value)| {
            let gone = if value.is_none() { "-" } else { "" };
            format!("{gone}{} ", char::from(key[0]))
        });
        let counts = counts.iter().filter(|(_, more)| **more != 0);
        let counts = counts.map(|(key, more)| format!("{}{more} ", char::from(key[0])));
        entries.chain(counts).collect()
    }

    #[test]
    fn entries_come_in_order_and_the_last_of_a_key_stays() {
        let mut unsorted = Unsorted::with_room(2);
        for (key, value) in [
            ("tb", None),
            ("ha", Some("1")),
            ("ta", Some("2")),
            ("ta", None),
            ("h", Some("3")),
        ] {
            let value = value.map(|value: &str| value.as_bytes().into());
            unsorted.push(key.as_bytes().into(), value);
        }
        let found: Vec<_> = unsorted.in_order();
        let found: Vec<_> = found
            .iter()
            .map(|(key, value)| (str::from_utf8(key).unwrap(), value.as_deref()))
            .collect();
        let expected = [
            ("h", Some(&b"3"[..])),
            ("ha", Some(b"1")),
            ("ta", None),
            ("tb", None),
        ];
        assert_eq!(found, expected);
    }

    #[test]
    fn only_where_a_task_was_and_where_it_is_counts() {
        use TaskState::{Completed, InputRequired, Submitted, Working};
        for (is_known, states, expected) in [
            (false, &[Submitted][..], "h a1 c n1 t w9 "),
            (false, &[Submitted, Working, Completed], "h c n1 t z d1 y9 "),
            (false, &[InputRequired], "h a1 c n1 o t w9 "),
            (false, &[InputRequired, Working], "h a1 c n1 t w9 "),
            (true, &[Working], "h n-1 n1 -t t "),
            (true, &[InputRequired], "h n1 n-1 o t -t "),
            (
                true,
                &[Working, Completed],
                "h a-1 n1 n-1 t -t z d1 y9 w-9 ",
            ),
            (true, &[Submitted], "h "),
        ] {
            for at_once in [true, false] {
                let mut found: Vec<_> = kinds(is_known, states, at_once)
                    .split(' ')
                    .map(str::to_owned)
                    .collect();
                let mut expected: Vec<_> = expected.split(' ').map(str::to_owned).collect();
                found.sort();
                // A place that was added and removed gives the same entry as one that was removed.
                found.dedup();
                expected.sort();
                assert_eq!(found, expected, "{states:?}");
            }
        }
    }
}
