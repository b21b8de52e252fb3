//! The lists of the tasks of one caller at one agent: those in one state, and those of one context in one state.

use std::{
    cmp::Reverse,
    collections::{BTreeMap, BTreeSet, btree_map::Entry},
    ops::Bound,
    sync::Arc,
};

use bridge_protocol::a2a::TaskState;

use crate::{Head, ListPosition, ListQuery};

/// The context of a list, or `None` for the list of all contexts, and the state of its tasks.
type ListName = (Option<Arc<str>>, TaskState);

/// All lists, so that a page costs no more than its tasks.
#[derive(Debug, Default)]
pub(super) struct TaskLists {
    entries: BTreeSet<(ListName, Reverse<i64>, Arc<str>)>,
    lengths: BTreeMap<ListName, usize>,
}

impl TaskLists {
    pub(super) fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Adds a task, or moves it from the lists in which it was with its previous head.
    pub(super) fn update(&mut self, task: &Arc<str>, before: Option<&Head>, after: &Head) {
        let place = |head: &Head| (head.status_time, head.state.clone());
        if before.map(place) == Some(place(after)) {
            return;
        }
        if let Some(before) = before {
            self.remove(task, before);
        }
        let time = Reverse(after.status_time.as_millisecond());
        for name in list_names(after) {
            *self.lengths.entry(name.clone()).or_default() += 1;
            self.entries.insert((name, time, Arc::clone(task)));
        }
    }

    pub(super) fn remove(&mut self, task: &Arc<str>, head: &Head) {
        let time = Reverse(head.status_time.as_millisecond());
        for name in list_names(head) {
            if let Entry::Occupied(mut length) = self.lengths.entry(name.clone()) {
                *length.get_mut() -= 1;
                if *length.get() == 0 {
                    length.remove();
                }
            }
            self.entries.remove(&(name, time, Arc::clone(task)));
        }
    }

    /// Returns the first positions after `from` in order, one more than a page has if there are so many, and the number of
    /// all.
    pub(super) fn page(
        &self,
        from: Option<&ListPosition>,
        query: &ListQuery,
    ) -> (Vec<ListPosition>, usize) {
        let context: Option<Arc<str>> = query.context_id.as_deref().map(Arc::from);
        let lists = self
            .lengths
            .range((context.clone(), TaskState::Unspecified)..);
        let lists = lists.take_while(|((of, _), _)| *of == context);
        let (mut found, mut total) = (Vec::new(), 0);
        for (name, length) in lists {
            if query.state.as_ref().is_some_and(|state| *state != name.1) {
                continue;
            }
            found.extend(self.list(name, from, query).take(query.page_size + 1));
            total += match query.after {
                Some(_) => self.list(name, None, query).count(),
                None => *length,
            };
        }
        found.sort();
        (found, total)
    }

    /// Returns the positions in a list after `from` whose times the query includes.
    fn list(
        &self,
        name: &ListName,
        from: Option<&ListPosition>,
        query: &ListQuery,
    ) -> impl Iterator<Item = ListPosition> {
        let (millis, task) = from.map_or((i64::MAX, ""), |from| (from.millis, &from.task));
        let start = (name.clone(), Reverse(millis), Arc::from(task));
        let later = self
            .entries
            .range((Bound::Excluded(start), Bound::Unbounded));
        let positions = later.take_while(move |(list, Reverse(millis), _)| {
            list == name && query.includes_time(*millis)
        });
        positions.map(|(_, Reverse(millis), task)| ListPosition {
            millis: *millis,
            task: task.to_string(),
        })
    }
}

/// Returns the lists that have a task.
fn list_names(head: &Head) -> [ListName; 2] {
    let context = Some(head.context_id.as_str().into());
    [(None, head.state.clone()), (context, head.state.clone())]
}
