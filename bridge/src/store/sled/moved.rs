//! What an append means for a task's entries in the index.
//!
//! Most tasks are written to several times within a moment, and end. Only how such a task stood before and
//! how it stands afterwards counts for its entries; what it passed through leaves nothing.

use std::sync::Arc;

use super::{codec, heads::Tip, index::Changes, keys};
use crate::store::Head;

/// A task that was written to.
#[derive(Clone, Debug)]
pub(super) struct Moved {
    /// As the entries know it; `None` if they do not.
    before: Option<Arc<Head>>,
    /// Its newest append.
    pub(super) tip: Tip,
}

impl Moved {
    /// A task that was at `before`, if it was, and is at `tip` now.
    pub(super) fn new(before: Option<Tip>, tip: Tip) -> Self {
        let before = before.map(|before| before.head);
        Self { before, tip }
    }

    /// Has the entries follow.
    pub(super) fn follow(self, changes: &mut Changes) {
        let (before, after) = (self.before.as_deref(), &*self.tip.head);
        let head = keys::head(&after.task);
        let newest = codec::write_owned(self.tip.place, &after.owner);
        match before {
            Some(_) => changes.put(head, newest),
            None => {
                changes.put_new(head, newest);
                changes.put_new(keys::in_context(after), Vec::new());
            }
        }
        list(before, after, changes);
    }
}

/// Moves the task to where lists must find it now.
fn list(before: Option<&Head>, after: &Head, changes: &mut Changes) {
    let (old, new) = (before.map(keys::listed), keys::listed(after));
    if old.as_ref() != Some(&new) {
        if let Some(old) = old {
            changes.remove(old);
        }
        changes.put_new(new, Vec::new());
    }
    match (before.is_some_and(Head::is_open), after.is_open()) {
        (false, true) => changes.put_new(keys::open(&after.task), Vec::new()),
        (true, false) => changes.remove(keys::open(&after.task)),
        (true, true) | (false, false) => {}
    }
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
    fn kinds(is_known: bool, states: &[TaskState]) -> String {
        let mut changes = Changes::default();
        let tips: Vec<Tip> = states.iter().cloned().map(tip).collect();
        if !is_known {
            changes.move_task(Moved::new(None, tips[0].clone()));
        }
        for step in tips.windows(2) {
            changes.move_task(Moved::new(Some(step[0].clone()), step[1].clone()));
        }
        changes.fold();
        let kind = |(key, value): (&[u8], Option<&[u8]>)| {
            let sign = if value.is_some() { "" } else { "-" };
            format!("{sign}{}", char::from(key[0]))
        };
        changes.entries().map(kind).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn only_where_a_task_was_and_where_it_is_counts() {
        use TaskState::{Completed, Submitted, Working};
        for (is_known, states, expected) in [
            (false, &[Submitted][..], "c h o t"),
            (false, &[Submitted, Working, Completed], "c h t"),
            (true, &[Submitted, Working], "h t -t"),
            (true, &[Submitted, Working, Completed], "h -o t -t"),
            (true, &[Working, Submitted, Working], "h"),
        ] {
            assert_eq!(kinds(is_known, states), expected, "{states:?}");
        }
    }
}
