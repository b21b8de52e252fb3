//! What followed from the log lately, in memory.

use std::{collections::BTreeMap, ops::Bound, sync::Arc};

use super::Value;
use crate::store::{
    Head,
    sled::{
        Unordered,
        heads::Tip,
        keys::{self, Card, Key},
        log::End,
    },
};

/// What an entry costs in memory besides its bytes, and a task that is to be followed, roughly.
const OVERHEAD: usize = 120;
const WAITING: usize = 1 << 10;
/// A layer is sealed when it has so many appends, or goes over so many bytes of the log: a start reads them again.
const APPENDS: usize = 100_000;
const SPAN: u64 = 128 << 20;

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
    whole: Unordered<Key, Value>,
    /// The others, in order. Of a count it is how many more there are than in older layers and parts.
    listed: BTreeMap<Key, Value>,
    /// Tasks whose entries do not follow yet.
    moved: Unordered<String, Moved>,
    appends: usize,
    bytes: usize,
    start: End,
    pub(super) end: End,
    /// The part that it was read from and comes in the place of.
    pub(super) former: Option<u64>,
}

impl Layer {
    /// An empty one behind what ends at `end`.
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

    fn follow(&mut self, Moved { before, tip }: &Moved) {
        let (before, after) = (before.as_deref(), &*tip.head);
        self.put(keys::head(&after.task), Some(keys::write(&Card::of(tip))));
        let (old, new) = (
            before.map(keys::places).unwrap_or_default(),
            keys::places(after),
        );
        // Older layers and parts do not know a task that began in this one.
        let is_known = !self.listed.contains_key(&keys::in_context(after));
        for gone in old.iter().filter(|old| !new.contains(old)) {
            match is_known {
                true => self.put(gone.clone(), None),
                false => drop(self.listed.remove(gone)),
            }
        }
        for place in new.into_iter().filter(|new| !old.contains(new)) {
            self.put(place, Some(Vec::new()));
        }
        let (old, new) = (
            before.map(keys::counts).unwrap_or_default(),
            keys::counts(after),
        );
        for (counts, others, more) in [(&old, &new, -1), (&new, &old, 1)] {
            for key in counts.iter().filter(|key| !others.contains(key)) {
                let known = self.listed.get(key).and_then(Option::as_deref);
                let count = keys::count(known) + more;
                self.put(key.clone(), Some(count.to_be_bytes().into()));
            }
        }
    }

    pub(super) fn put(&mut self, key: Key, value: Value) {
        let bytes = key.len() + value.as_ref().map_or(0, Vec::len) + OVERHEAD;
        let known = match keys::is_whole(&key) {
            true => self.whole.insert(key, value),
            false => self.listed.insert(key, value),
        };
        self.bytes += if known.is_none() { bytes } else { 0 };
    }

    /// The task's newest append, if its entries do not follow it yet.
    pub(super) fn tip(&self, task: &str) -> Option<&Tip> {
        self.moved.get(task).map(|moved| &moved.tip)
    }

    /// The newest that is known of the key here; that may be that there is none.
    pub(super) fn get(&self, key: &[u8]) -> Option<&Value> {
        match keys::is_whole(key) {
            true => self.whole.get(key),
            false => self.listed.get(key),
        }
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

    /// All entries, in no order.
    pub(super) fn entries(&self) -> impl Iterator<Item = (&Key, &Value)> {
        self.whole.iter().chain(&self.listed)
    }
}

#[cfg(test)]
mod tests {
    use bridge_protocol::a2a::TaskState;

    use super::*;
    use crate::store::{sled::log::LogOffset, testing::Sample};

    fn tip(state: TaskState) -> Tip {
        let sample = Sample::new("t");
        let created = sample.append(0, 1, vec![sample.created()]);
        let mut head = Head::after(None, &sample.caller, &created).unwrap();
        head.state = state;
        let place = LogOffset { at: 16, length: 9 };
        Tip {
            head: Arc::new(head),
            place,
            number: 1,
            is_broken: false,
        }
    }

    /// The kinds of the entries that there are after these steps, `-` before those that are gone; of counts how many.
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
        let kind = |(key, value): (&Key, &Value)| {
            let kind = char::from(key[0]);
            match value.as_deref().filter(|_| keys::is_count(key)) {
                Some(count) => {
                    let count = keys::count(Some(count));
                    if count == 0 {
                        String::new()
                    } else {
                        format!("{kind}{count} ")
                    }
                }
                None if value.is_some() => format!("{kind} "),
                None => format!("-{kind} "),
            }
        };
        layer.entries().map(kind).collect()
    }

    #[test]
    fn only_where_a_task_was_and_where_it_is_counts() {
        use TaskState::{Completed, InputRequired, Submitted, Working};
        for (is_known, states, expected) in [
            (false, &[Submitted][..], "h a1 c n1 t "),
            (false, &[Submitted, Working, Completed], "h c n1 t "),
            (false, &[InputRequired], "h a1 c n1 o t "),
            (false, &[InputRequired, Working], "h a1 c n1 t "),
            (true, &[Working], "h n-1 n1 -t t "),
            (true, &[InputRequired], "h n1 n-1 o t -t "),
            (true, &[Working, Completed], "h a-1 n1 n-1 t -t "),
            (true, &[Submitted], "h "),
        ] {
            for at_once in [true, false] {
                let mut found: Vec<_> = kinds(is_known, states, at_once)
                    .split(' ')
                    .map(str::to_owned)
                    .collect();
                let mut expected: Vec<_> = expected.split(' ').map(str::to_owned).collect();
                found.sort();
                // A place that came and went is told of like one that went.
                found.dedup();
                expected.sort();
                assert_eq!(found, expected, "{states:?}");
            }
        }
    }
}
