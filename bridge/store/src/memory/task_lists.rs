//! The lists of the tasks of one caller at one agent.

use std::{
    cmp::Reverse,
    collections::{BTreeMap, BTreeSet, btree_map, hash_map::Entry},
    ops::Bound,
    slice,
    sync::Arc,
};

use bridge_protocol::a2a::TaskState;

use crate::{Head, ListPosition, ListQuery, Unordered};

/// The number of tasks up to which a context has no sorted lists. Most contexts have one task, and sorted lists would take
/// more memory than the task's content.
const FEW: usize = 8;

/// The tasks of one caller at one agent, sorted so that a page costs no more than its tasks.
#[derive(Debug, Default)]
pub(super) struct TaskLists {
    all: TasksByState,
    contexts: Unordered<Arc<str>, ContextTasks>,
}

/// The tasks of each state, by the time of their status in milliseconds, newest first. No list is empty.
#[derive(Debug, Default)]
struct TasksByState(BTreeMap<TaskState, SortedTasks>);

type SortedTasks = BTreeSet<(Reverse<i64>, Arc<str>)>;

/// The tasks of a context, at least one.
#[derive(Debug)]
enum ContextTasks {
    One(Arc<str>),
    /// Two to [`FEW`], in the order of their creation.
    Few(Vec<Arc<str>>),
    Many(Box<TasksByState>),
}

impl TaskLists {
    pub(super) fn is_empty(&self) -> bool {
        self.all.0.is_empty()
    }

    /// Adds a task, or moves it from the lists in which it was with its previous head. `head_of` returns the heads of earlier
    /// tasks.
    pub(super) fn update<'h>(
        &mut self,
        before: Option<&Head>,
        after: &Head,
        head_of: impl Fn(&str) -> Option<&'h Head>,
    ) {
        let place = |head: &Head| (head.status_time, head.state.clone());
        if before.map(place) == Some(place(after)) {
            return;
        }
        self.all.update(before, after);
        let context = match self.contexts.entry(Arc::clone(&after.context_id)) {
            Entry::Vacant(place) => {
                place.insert(ContextTasks::One(Arc::clone(&after.task)));
                return;
            }
            Entry::Occupied(context) => context.into_mut(),
        };
        match context {
            ContextTasks::One(_) | ContextTasks::Few(_) if before.is_some() => {}
            ContextTasks::One(first) => {
                *context = ContextTasks::Few(vec![Arc::clone(first), Arc::clone(&after.task)]);
            }
            ContextTasks::Few(tasks) if tasks.len() < FEW => {
                tasks.reserve_exact(1);
                tasks.push(Arc::clone(&after.task));
            }
            ContextTasks::Few(tasks) => {
                let mut sorted = sorted(tasks, head_of);
                sorted.add(after);
                *context = ContextTasks::Many(Box::new(sorted));
            }
            ContextTasks::Many(tasks) => tasks.update(before, after),
        }
    }

    /// Removes a task that was deleted.
    pub(super) fn remove(&mut self, head: &Head) {
        self.all.remove(head);
        let Entry::Occupied(mut context) = self.contexts.entry(Arc::clone(&head.context_id)) else {
            return;
        };
        let is_empty = match context.get_mut() {
            ContextTasks::One(task) => *task == head.task,
            ContextTasks::Few(tasks) => {
                tasks.retain(|task| *task != head.task);
                tasks.is_empty()
            }
            ContextTasks::Many(tasks) => {
                tasks.remove(head);
                tasks.0.is_empty()
            }
        };
        if is_empty {
            context.remove();
        }
    }

    /// Returns the first positions after `from` in order, one more than a page has if there are so many, and the number of
    /// all.
    pub(super) fn page<'h>(
        &self,
        from: Option<&ListPosition>,
        query: &ListQuery,
        head_of: impl Fn(&str) -> Option<&'h Head>,
    ) -> (Vec<ListPosition>, usize) {
        let Some(context) = &query.context_id else {
            return self.all.page(from, query);
        };
        match self.contexts.get(context.as_str()) {
            None => (Vec::new(), query.known_total.unwrap_or_default()),
            Some(ContextTasks::One(task)) => {
                sorted(slice::from_ref(task), head_of).page(from, query)
            }
            Some(ContextTasks::Few(tasks)) => sorted(tasks, head_of).page(from, query),
            Some(ContextTasks::Many(tasks)) => tasks.page(from, query),
        }
    }
}

impl TasksByState {
    fn add(&mut self, head: &Head) {
        self.0.entry(head.state.clone()).or_default().insert(entry(head));
    }

    fn update(&mut self, before: Option<&Head>, after: &Head) {
        before.into_iter().for_each(|before| self.remove(before));
        self.add(after);
    }

    fn remove(&mut self, head: &Head) {
        if let btree_map::Entry::Occupied(mut tasks) = self.0.entry(head.state.clone()) {
            tasks.get_mut().remove(&entry(head));
            if tasks.get().is_empty() {
                tasks.remove();
            }
        }
    }

    fn page(&self, from: Option<&ListPosition>, query: &ListQuery) -> (Vec<ListPosition>, usize) {
        let (mut found, mut total) = (Vec::new(), 0);
        for (state, tasks) in &self.0 {
            if query.state.as_ref().is_some_and(|wanted| wanted != state) {
                continue;
            }
            found.extend(positions(tasks, from, query).take(query.page_size + 1));
            total += match query.after {
                Some(_) if query.known_total.is_some() => 0,
                Some(_) => positions(tasks, None, query).count(),
                None => tasks.len(),
            };
        }
        found.sort();
        (found, query.known_total.unwrap_or(total))
    }
}

/// Sorts the tasks of a context that has no lists.
fn sorted<'h>(tasks: &[Arc<str>], head_of: impl Fn(&str) -> Option<&'h Head>) -> TasksByState {
    let mut sorted = TasksByState::default();
    tasks.iter().filter_map(|task| head_of(task)).for_each(|head| sorted.add(head));
    sorted
}

fn entry(head: &Head) -> (Reverse<i64>, Arc<str>) {
    (Reverse(head.status_time.as_millisecond()), Arc::clone(&head.task))
}

/// Returns the positions in a list after `from` whose times the query includes.
fn positions(
    tasks: &SortedTasks,
    from: Option<&ListPosition>,
    query: &ListQuery,
) -> impl Iterator<Item = ListPosition> {
    let from = from.map(|from| (Reverse(from.millis), Arc::from(from.task.as_str())));
    let later = tasks.range((from.map_or(Bound::Unbounded, Bound::Excluded), Bound::Unbounded));
    let later = later.take_while(|(Reverse(millis), _)| query.includes_time(*millis));
    later.map(|(Reverse(millis), task)| ListPosition { millis: *millis, task: task.to_string() })
}
