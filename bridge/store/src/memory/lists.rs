//! The lists of the tasks of one caller at one agent: those in one state, and those of one context in one state.

use std::{
    cmp::Reverse,
    collections::{BTreeMap, BTreeSet, btree_map::Entry},
    mem,
    ops::Bound,
    sync::Arc,
};

use bridge_protocol::a2a::TaskState;

use crate::{Head, ListPosition, ListQuery};

/// The context of a list, or `None` for the list of all contexts, and the state of its tasks.
type ListName = (Option<Arc<str>>, TaskState);

/// A task in a list, by the time of its status in milliseconds, newest first.
type ListEntry = (Reverse<i64>, Arc<str>);

/// The tasks of a list. Most contexts have one task, for which a set would take a third of a kilobyte.
#[derive(Debug)]
enum List {
    One(ListEntry),
    Many(BTreeSet<ListEntry>),
}

/// All lists that are not empty, so that a page costs no more than its tasks.
#[derive(Debug, Default)]
pub(super) struct TaskLists(BTreeMap<ListName, List>);

impl TaskLists {
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
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
        for name in list_names(after) {
            let entry = entry(task, after);
            match self.0.entry(name) {
                Entry::Vacant(list) => drop(list.insert(List::One(entry))),
                Entry::Occupied(mut list) => list.get_mut().insert(entry),
            }
        }
    }

    pub(super) fn remove(&mut self, task: &Arc<str>, head: &Head) {
        for name in list_names(head) {
            if let Entry::Occupied(mut list) = self.0.entry(name)
                && list.get_mut().remove(&entry(task, head))
            {
                list.remove();
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
        let lists = self.0.range((context.clone(), TaskState::Unspecified)..);
        let lists = lists.take_while(|((of, _), _)| *of == context);
        let (mut found, mut total) = (Vec::new(), 0);
        for ((_, state), list) in lists {
            if query.state.as_ref().is_some_and(|wanted| wanted != state) {
                continue;
            }
            found.extend(positions(list, from, query).take(query.page_size + 1));
            total += match query.after {
                Some(_) if query.known_total.is_some() => 0,
                Some(_) => positions(list, None, query).count(),
                None => list.len(),
            };
        }
        found.sort();
        (found, query.known_total.unwrap_or(total))
    }
}

impl List {
    fn insert(&mut self, entry: ListEntry) {
        match self {
            Self::One(one) => {
                let one = mem::replace(one, entry.clone());
                *self = Self::Many(BTreeSet::from([one, entry]));
            }
            Self::Many(entries) => drop(entries.insert(entry)),
        }
    }

    /// Removes an entry, and returns whether the list is empty now.
    fn remove(&mut self, entry: &ListEntry) -> bool {
        match self {
            Self::One(one) => one == entry,
            Self::Many(entries) => {
                entries.remove(entry);
                entries.is_empty()
            }
        }
    }

    fn len(&self) -> usize {
        match self {
            Self::One(_) => 1,
            Self::Many(entries) => entries.len(),
        }
    }

    /// Returns the entries after one, in order.
    fn after(&self, start: ListEntry) -> impl Iterator<Item = &ListEntry> {
        let (one, many) = match self {
            Self::One(one) => (Some(one).filter(|one| **one > start), None),
            Self::Many(entries) => {
                let later = entries.range((Bound::Excluded(start), Bound::Unbounded));
                (None, Some(later))
            }
        };
        one.into_iter().chain(many.into_iter().flatten())
    }
}

/// Returns the positions in a list after `from` whose times the query includes.
fn positions(
    list: &List,
    from: Option<&ListPosition>,
    query: &ListQuery,
) -> impl Iterator<Item = ListPosition> {
    let (millis, task) = from.map_or((i64::MAX, ""), |from| (from.millis, &from.task));
    let later = list.after((Reverse(millis), Arc::from(task)));
    let later = later.take_while(|(Reverse(millis), _)| query.includes_time(*millis));
    later.map(|(Reverse(millis), task)| ListPosition { millis: *millis, task: task.to_string() })
}

fn entry(task: &Arc<str>, head: &Head) -> ListEntry {
    (Reverse(head.status_time.as_millisecond()), Arc::clone(task))
}

/// Returns the lists that have a task.
fn list_names(head: &Head) -> [ListName; 2] {
    let context = Some(head.context_id.as_str().into());
    [(None, head.state.clone()), (context, head.state.clone())]
}
