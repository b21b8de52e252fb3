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

/// All lists, with the number of tasks of each that is not empty, so that a page costs no more than its tasks.
#[derive(Debug, Default)]
pub(super) struct TaskLists {
    /// The tasks of each list, by the time of their status in milliseconds, newest first.
    entries: BTreeSet<(ListName, Reverse<i64>, Arc<str>)>,
    counts: BTreeMap<ListName, usize>,
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
        for list in list_names(after) {
            *self.counts.entry(list.clone()).or_default() += 1;
            self.entries.insert((list, time, Arc::clone(task)));
        }
    }

    pub(super) fn remove(&mut self, task: &Arc<str>, head: &Head) {
        let time = Reverse(head.status_time.as_millisecond());
        for list in list_names(head) {
            self.entries.remove(&(list.clone(), time, Arc::clone(task)));
            if let Entry::Occupied(mut count) = self.counts.entry(list) {
                *count.get_mut() -= 1;
                if *count.get() == 0 {
                    count.remove();
                }
            }
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
        let lists = self.counts.range((context.clone(), TaskState::Unspecified)..);
        let lists = lists.take_while(|((of, _), _)| *of == context);
        let (mut found, mut total) = (Vec::new(), 0);
        for (list, count) in lists {
            if query.state.as_ref().is_some_and(|wanted| *wanted != list.1) {
                continue;
            }
            found.extend(self.positions(list, from, query).take(query.page_size + 1));
            total += match query.after {
                Some(_) if query.known_total.is_some() => 0,
                Some(_) => self.positions(list, None, query).count(),
                None => *count,
            };
        }
        found.sort();
        (found, query.known_total.unwrap_or(total))
    }

    /// Returns the positions in a list after `from` whose times the query includes.
    fn positions(
        &self,
        list: &ListName,
        from: Option<&ListPosition>,
        query: &ListQuery,
    ) -> impl Iterator<Item = ListPosition> {
        let (millis, task) = from.map_or((i64::MAX, ""), |from| (from.millis, &from.task));
        let start = (list.clone(), Reverse(millis), Arc::from(task));
        let later = self.entries.range((Bound::Excluded(start), Bound::Unbounded));
        let later = later
            .take_while(move |(of, Reverse(millis), _)| of == list && query.includes_time(*millis));
        later.map(|(_, Reverse(millis), task)| ListPosition {
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
