//! What followed from the log lately, in memory.

use std::{
    collections::{BTreeMap, BTreeSet},
    ops::Bound,
    sync::Arc,
};

use super::Value;
use crate::store::{
    Head,
    sled::{
        Unordered,
        codec::{self, Card},
        heads::Tip,
        keys::{self, Key},
        log::End,
    },
};

/// What an entry costs in memory besides its bytes, and a task that is to be followed, roughly.
const OVERHEAD: usize = 120;
const WAITING: usize = 1 << 10;
/// A layer is sealed when it has so many appends, or goes over so many bytes of the log: a start after a crash reads
/// them again.
const APPENDS: usize = 100_000;
const SPAN: u64 = 128 << 20;

/// How many tasks are in each state, or how many more than before.
pub(super) type Counts = BTreeMap<String, i64>;

/// What one batch of the log changes.
#[derive(Clone, Debug, Default)]
pub(in crate::store::sled) struct Changes {
    pub(in crate::store::sled) entries: Unordered<Key, Value>,
    tasks: Unordered<String, Moved>,
    appends: usize,
}

/// A task that was written to. Most are written to several times within a moment, and end: only how it stood before
/// and how it stands afterwards counts for its entries.
#[derive(Clone, Debug)]
struct Moved {
    /// As the entries know it; `None` if they do not.
    before: Option<Arc<Head>>,
    tip: Tip,
}

impl Changes {
    /// Has the entries of a task that was at `before`, if it was, follow its newest append, some time.
    pub(in crate::store::sled) fn move_task(&mut self, before: Option<Tip>, tip: Tip) {
        let before = before.map(|before| before.head);
        self.appends += 1;
        put(&mut self.tasks, Moved { before, tip });
    }

    /// The newest append of a task.
    pub(in crate::store::sled) fn tip(&self, task: &str) -> Option<&Tip> {
        self.tasks.get(task).map(|moved| &moved.tip)
    }

    /// The newest appends of all tasks.
    pub(in crate::store::sled) fn tips(&self) -> impl Iterator<Item = &Tip> {
        self.tasks.values().map(|moved| &moved.tip)
    }
}

fn put(tasks: &mut Unordered<String, Moved>, moved: Moved) {
    match tasks.get_mut(&moved.tip.head.task) {
        Some(known) => known.tip = moved.tip,
        None => drop(tasks.insert(moved.tip.head.task.clone(), moved)),
    }
}

/// What follows from the log between two ends of batches.
#[derive(Debug, Default)]
pub(super) struct Layer {
    /// Entries that are only looked for whole.
    found: Unordered<Key, Vec<u8>>,
    /// The others, in order.
    listed: BTreeMap<Key, Value>,
    /// How many tasks of a caller at an agent there are more than in older layers and parts.
    counts: Unordered<Key, Counts>,
    /// Tasks whose entries do not follow yet.
    moved: Unordered<String, Moved>,
    /// All tasks with turns that have not ended, older ones too.
    pub(super) turns: BTreeSet<String>,
    appends: usize,
    bytes: usize,
    start: End,
    pub(super) end: End,
}

impl Layer {
    /// An empty one behind what ends at `end`.
    pub(super) fn new(end: End, turns: BTreeSet<String>) -> Self {
        Self {
            turns,
            start: end,
            end,
            ..Self::default()
        }
    }

    pub(super) fn apply(&mut self, changes: Changes, end: End) {
        self.end = end;
        self.appends += changes.appends;
        for (key, value) in changes.entries {
            self.put(key, value);
        }
        for moved in changes.tasks.into_values() {
            put(&mut self.moved, moved);
        }
    }

    /// What it takes in memory, roughly.
    pub(super) fn bytes(&self) -> usize {
        self.bytes + self.moved.len() * WAITING
    }

    /// Whether it is to be sealed.
    pub(super) fn is_full(&self, room: usize) -> bool {
        let is_long = self.appends >= APPENDS || self.end.at - self.start.at >= SPAN;
        self.bytes() >= room || is_long
    }

    /// Whether the log has gone on since it began.
    pub(super) fn is_empty(&self) -> bool {
        self.start == self.end
    }

    /// How many tasks there are whose entries do not follow yet.
    pub(super) fn waiting(&self) -> usize {
        self.moved.len()
    }

    /// Has the entries of so many tasks follow.
    pub(super) fn fold(&mut self, most: usize) {
        let some: Vec<_> = self.moved.extract_if(|_, _| true).take(most).collect();
        for (_, moved) in some {
            self.follow(&moved);
        }
    }

    fn follow(&mut self, moved: &Moved) {
        let (before, after) = (moved.before.as_deref(), &*moved.tip.head);
        let card = Card::of(&moved.tip).to_bytes();
        self.put(keys::head(&after.task), Some(card));
        if before.is_none() {
            self.put(keys::in_context(after), Some(Vec::new()));
        }
        let (old, new) = (before.map(keys::listed), keys::listed(after));
        if old.as_ref() != Some(&new) {
            // Where older parts have it, its card tells that it is there no more.
            old.and_then(|old| self.listed.remove(&old));
            self.put(new, Some(Vec::new()));
        }
        self.count(before, after);
        match (before.is_some_and(Head::is_open), after.is_open()) {
            (false, true) => self.put(keys::open(&after.task), Some(Vec::new())),
            (true, false) => self.close(after),
            (true, true) | (false, false) => {}
        }
        match after.turns.is_empty() {
            true => drop(self.turns.remove(&after.task)),
            false => drop(self.turns.insert(after.task.clone())),
        }
    }

    /// Notes that a task is no longer open. A task that began in this layer needs no removal: older parts do not
    /// know it.
    fn close(&mut self, head: &Head) {
        let key = keys::open(&head.task);
        match self.listed.contains_key(&keys::in_context(head)) {
            true => drop(self.listed.remove(&key)),
            false => self.put(key, None),
        }
    }

    fn count(&mut self, before: Option<&Head>, after: &Head) {
        if before.is_some_and(|before| before.state == after.state) {
            return;
        }
        let key = keys::counts(&after.owner, &after.agent);
        let counts = self.counts.entry(key).or_default();
        if let Some(before) = before {
            *counts.entry(before.state.as_str().into()).or_default() -= 1;
        }
        *counts.entry(after.state.as_str().into()).or_default() += 1;
    }

    fn put(&mut self, key: Key, value: Value) {
        let bytes = key.len() + value.as_ref().map_or(0, Vec::len) + OVERHEAD;
        let is_new = match (keys::is_whole(&key), value) {
            (true, Some(value)) => self.found.insert(key, value).is_none(),
            (_, value) => self.listed.insert(key, value).is_none(),
        };
        self.bytes += if is_new { bytes } else { 0 };
    }

    /// The task's newest append, if its entries do not follow it yet.
    pub(super) fn tip(&self, task: &str) -> Option<&Tip> {
        self.moved.get(task).map(|moved| &moved.tip)
    }

    /// The newest that is known of the key here; that may be that there is none.
    pub(super) fn get(&self, key: &[u8]) -> Option<Option<&[u8]>> {
        match keys::is_whole(key) {
            true => self.found.get(key).map(|value| Some(value.as_slice())),
            false => self.listed.get(key).map(Option::as_deref),
        }
    }

    /// By how much it changes the counts of this key.
    pub(super) fn counts(&self, key: &[u8]) -> Counts {
        self.counts.get(key).cloned().unwrap_or_default()
    }

    /// By how much it changes which counts.
    pub(super) fn all_counts(&self) -> impl Iterator<Item = (&Key, &Counts)> {
        self.counts.iter()
    }

    /// The entries of a list whose keys begin with `prefix`, from `from` on.
    pub(super) fn range<'l>(
        &'l self,
        prefix: &'l [u8],
        from: &Bound<Key>,
    ) -> impl Iterator<Item = (Key, Value)> + 'l {
        let from = from.as_ref().map(Vec::as_slice);
        let later = self.listed.range::<[u8], _>((from, Bound::Unbounded));
        later
            .take_while(move |(key, _)| key.starts_with(prefix))
            .map(|(key, value)| (key.clone(), value.clone()))
    }

    /// All entries, in no order. The counts are not among them.
    pub(super) fn entries(&self) -> impl Iterator<Item = (&[u8], Option<&[u8]>)> {
        let found = self.found.iter();
        let found = found.map(|(key, value)| (key.as_slice(), Some(value.as_slice())));
        let listed = self.listed.iter();
        found.chain(listed.map(|(key, value)| (key.as_slice(), value.as_deref())))
    }
}

/// Adds later counts to earlier ones.
pub(super) fn add(counts: &mut Counts, later: &Counts) {
    for (state, more) in later {
        *counts.entry(state.clone()).or_default() += more;
    }
}

/// Counts as they are written.
pub(super) fn write_counts(counts: &Counts) -> Vec<u8> {
    let mut bytes = Vec::new();
    for (state, count) in counts.iter().filter(|(_, count)| **count != 0) {
        bytes.extend(count.to_be_bytes());
        codec::write_name(&mut bytes, state);
    }
    bytes
}

/// Counts as they were written.
pub(super) fn read_counts(mut bytes: &[u8]) -> Option<Counts> {
    let mut counts = Counts::new();
    while let Some((count, rest)) = bytes.split_first_chunk() {
        let (state, rest) = codec::read_name(rest)?;
        counts.insert(state, i64::from_be_bytes(*count));
        bytes = rest;
    }
    bytes.is_empty().then_some(counts)
}

#[cfg(test)]
mod tests {
    use bridge_protocol::a2a::TaskState;

    use super::*;
    use crate::store::{sled::log::Place, testing::Sample};

    fn tip(state: TaskState) -> Tip {
        let sample = Sample::new("t");
        let created = sample.append(0, 1, vec![sample.created()]);
        let mut head = Head::after(None, &sample.caller, &created).unwrap();
        head.state = state;
        let place = Place { at: 16, length: 9 };
        Tip {
            head: Arc::new(head),
            place,
            number: 1,
            is_broken: false,
        }
    }

    /// The kinds of the entries that there are after these steps, `-` before those that are gone.
    fn kinds(is_known: bool, states: &[TaskState], at_once: bool) -> String {
        let mut layer = Layer::default();
        let tips: Vec<Tip> = states.iter().cloned().map(tip).collect();
        let mut before = is_known.then(|| tip(TaskState::Submitted));
        for tip in tips {
            let mut changes = Changes::default();
            changes.move_task(before.replace(tip.clone()), tip);
            layer.apply(changes, End::default());
            if !at_once {
                layer.fold(9);
            }
        }
        layer.fold(9);
        let kind = |(key, value): (&[u8], Option<&[u8]>)| {
            let sign = if value.is_some() { "" } else { "-" };
            format!("{sign}{}", char::from(key[0]))
        };
        layer.entries().map(kind).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn only_where_a_task_was_and_where_it_is_counts() {
        use TaskState::{Completed, Submitted, Working};
        for (is_known, states, expected) in [
            (false, &[Submitted][..], "h c o t"),
            (false, &[Submitted, Working, Completed], "h c t"),
            (true, &[Working], "h t"),
            (true, &[Working, Completed], "h -o t"),
            (true, &[Submitted], "h"),
        ] {
            for at_once in [true, false] {
                assert_eq!(kinds(is_known, states, at_once), expected, "{states:?}");
            }
        }
    }

    #[test]
    fn counts_come_back() {
        let counts = Counts::from([("working".into(), 7), ("completed".into(), 1)]);
        let bytes = write_counts(&counts);
        assert_eq!(read_counts(&bytes), Some(counts));
        assert_eq!(read_counts(&bytes[1..]), None);
        assert_eq!(read_counts(&[]), Some(Counts::new()));
    }
}
