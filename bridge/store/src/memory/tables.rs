//! The tables of a store in memory, which are guarded by its lock.
//!
//! Events are stored as JSON, as in the log on disk, because that is several times smaller than the events themselves.
//! The store's cache keeps the tasks that were read lately.

use std::{
    cmp::Reverse,
    collections::{BTreeMap, BTreeSet, btree_map::Entry},
    ops::Bound,
    sync::Arc,
};

use bridge_protocol::{a2a::TaskState, wire};
use jiff::Timestamp;

use crate::{
    Append, Deletion, Event, Head, Idle, ListPosition, ListQuery, RecordKey, Result, Seq,
    StoreError, StoredEvent, TaskCounts, caller::Caller,
};

/// Tasks by the time of their status in milliseconds.
pub(super) type TasksByTime = BTreeSet<(i64, Arc<str>)>;

/// All tables. The lock is only held while data are changed or copied.
#[derive(Debug, Default)]
pub(super) struct MemoryTables {
    pub(super) tasks: BTreeMap<Arc<str>, TaskEntry>,
    /// The tasks and ids of each caller at each agent.
    caller_indexes: BTreeMap<(Caller, Arc<str>), CallerIndex>,
    /// The tasks with turns that have not ended.
    pub(super) turns: BTreeSet<Arc<str>>,
    pub(super) idle: BTreeMap<(Idle, Arc<str>), TasksByTime>,
    pub(super) counts: BTreeMap<Arc<str>, TaskCounts>,
    pub(super) records: BTreeMap<(Caller, RecordKey), Vec<u8>>,
}

/// The tasks and ids of one caller at one agent. Each caller has its own maps, so that only ids are compared.
#[derive(Debug, Default)]
pub(super) struct CallerIndex {
    /// The task and event of each message, by message id.
    pub(super) messages: BTreeMap<Box<str>, (Arc<str>, Seq)>,
    /// The tasks, by the ids that the client chose.
    pub(super) client_tasks: BTreeMap<String, Arc<str>>,
    lists: TaskLists,
}

/// The context of a list, or `None` for the list of all contexts, and the state of its tasks.
type ListName = (Option<Arc<str>>, TaskState);

/// The lists of the tasks of one caller at one agent, with the number of tasks of each that is not empty, so that a page
/// costs no more than its tasks.
#[derive(Debug, Default)]
struct TaskLists {
    lists: BTreeMap<ListName, TaskList>,
    /// The tasks of each list, by the time of their status in milliseconds, newest first.
    entries: BTreeSet<(ListNumber, Reverse<i64>, Arc<str>)>,
    last_number: ListNumber,
}

/// A list that is not empty.
#[derive(Debug)]
struct TaskList {
    /// The number by which each of its entries names the list, because a number is smaller than the list's name.
    number: ListNumber,
    count: usize,
}

type ListNumber = u64;

/// A task with its log.
#[derive(Clone, Debug)]
pub(super) struct TaskEntry {
    pub(super) head: Arc<Head>,
    log: Vec<StoredAppend>,
    /// The size of the task's events, in bytes.
    bytes: u64,
}

/// An append in its stored form.
#[derive(Clone, Debug)]
pub(super) struct StoredAppend {
    last: Seq,
    millis: i64,
    json: Arc<[u8]>,
}

impl StoredAppend {
    pub(super) fn of(append: &Append) -> Result<Self> {
        let mut json = Vec::new();
        let written = wire::write_json(&mut json, &append.events);
        written.map_err(|error| StoreError::corrupt("an event", &error))?;
        Ok(Self { last: append.last(), millis: append.time.as_millisecond(), json: json.into() })
    }

    fn events(&self) -> Result<impl Iterator<Item = StoredEvent> + use<>> {
        let events = serde_json::from_slice::<Vec<Event>>(&self.json);
        let events = events.map_err(|error| StoreError::corrupt("an event", &error))?;
        let time = Timestamp::from_millisecond(self.millis).unwrap_or_default();
        let first = self.last + 1 - events.len() as Seq;
        let number = move |(seq, event)| StoredEvent { seq, time, event };
        Ok((first..).zip(events).map(number))
    }
}

impl TaskEntry {
    /// Copies the appends with events after `after`, enough for `limit` events, so that they can be read without the lock.
    pub(super) fn later(&self, after: Seq, limit: usize) -> Self {
        let begin = self.log.partition_point(|append| append.last <= after);
        let log = self.log[begin..].iter().take(limit).cloned().collect();
        let head = Arc::clone(&self.head);
        let bytes = self.bytes;
        Self { head, log, bytes }
    }

    /// Returns the task's events after `after`, at most `limit`.
    pub(super) fn events(&self, after: Seq, limit: usize) -> Result<Vec<StoredEvent>> {
        let mut events = Vec::new();
        for append in &self.log {
            events.extend(append.events()?.filter(|stored| stored.seq > after));
            if events.len() >= limit {
                break;
            }
        }
        events.truncate(limit);
        Ok(events)
    }
}

impl MemoryTables {
    pub(super) fn entry(&self, caller: &Caller, task: &str) -> Result<&TaskEntry> {
        let entry = self.tasks.get(task);
        entry.filter(|entry| entry.head.owner == *caller).ok_or_else(|| StoreError::not_found(task))
    }

    pub(super) fn append(
        &mut self,
        caller: &Caller,
        append: &Append,
        written: StoredAppend,
    ) -> Result<Arc<Head>> {
        let known = self.tasks.get(&append.task);
        let before = known.map(|entry| Arc::clone(&entry.head));
        let after = Arc::new(Head::after(before.as_deref(), caller, append)?);
        let task = Arc::clone(&after.task);
        let caller_index = (after.owner.clone(), after.agent.clone());
        let caller_index = self.caller_indexes.entry(caller_index).or_default();
        caller_index.check_ids(&after, append)?;
        caller_index.add_ids(&task, &after, append);
        caller_index.lists.update(&task, before.as_deref(), &after);
        let before_bytes = known.map_or(0, |entry| entry.bytes);
        if let Some(before) = &before {
            self.count(&task, before, before_bytes, false);
        }
        let bytes = before_bytes + written.json.len() as u64;
        self.count(&task, &after, bytes, true);
        let entry = self.tasks.entry(task).or_insert_with(|| TaskEntry {
            head: Arc::clone(&after),
            log: Vec::with_capacity(2),
            bytes,
        });
        entry.head = Arc::clone(&after);
        entry.bytes = bytes;
        entry.log.push(written);
        Ok(after)
    }

    /// Removes a task from all tables.
    pub(super) fn delete(&mut self, caller: &Caller, task: &str, deletion: Deletion) -> Result<()> {
        deletion.check(&self.entry(caller, task)?.head)?;
        let Some((task, entry)) = self.tasks.remove_entry(task) else {
            return Ok(());
        };
        let head = &entry.head;
        self.count(&task, head, entry.bytes, false);
        let key = (head.owner.clone(), head.agent.clone());
        if let Some(index) = self.caller_indexes.get_mut(&key) {
            index.remove(&task, &entry)?;
            if index.lists.is_empty() {
                self.caller_indexes.remove(&key);
            }
        }
        Ok(())
    }

    /// Adds a task to the tables of open turns, idle tasks and counts, or removes it from them.
    fn count(&mut self, task: &Arc<str>, head: &Head, bytes: u64, is_there: bool) {
        for kind in [Idle::Waiting, Idle::Ended].into_iter().filter(|kind| kind.has(head)) {
            let tasks = self.idle.entry((kind, head.agent.clone())).or_default();
            let entry = (head.status_time.as_millisecond(), Arc::clone(task));
            match is_there {
                true => tasks.insert(entry),
                false => tasks.remove(&entry),
            };
        }
        match is_there && !head.turns.is_empty() {
            true => self.turns.insert(Arc::clone(task)),
            false => self.turns.remove(task),
        };
        let TaskCounts { open, ended } = self.counts.entry(head.agent.clone()).or_default();
        let (is_open, has_ended) = (!head.state.is_terminal(), !head.is_open());
        let bytes = if has_ended { bytes } else { 0 };
        let change = |count: &mut usize, by: bool| match is_there {
            true => *count += usize::from(by),
            false => *count -= usize::from(by),
        };
        change(open, is_open);
        change(&mut ended.tasks, has_ended);
        ended.bytes = if is_there { ended.bytes + bytes } else { ended.bytes - bytes };
    }

    pub(super) fn heads<'k>(&self, tasks: impl Iterator<Item = &'k Arc<str>>) -> Vec<Head> {
        let entries = tasks.filter_map(|task| self.tasks.get(task));
        entries.map(|entry| entry.head.as_ref().clone()).collect()
    }

    pub(super) fn caller_index(&self, caller: &Caller, agent: &str) -> Option<&CallerIndex> {
        self.caller_indexes.get(&(caller.clone(), agent.into()))
    }

    /// Returns the positions of the tasks of a page, one more than it has if there are so many, and the number of tasks on
    /// all pages.
    pub(super) fn page(
        &self,
        caller: &Caller,
        query: &ListQuery,
    ) -> Result<(Vec<ListPosition>, usize)> {
        let from = query.start(|position| {
            let entry = self.tasks.get(position.task.as_str());
            let is_own = |entry: &TaskEntry| {
                entry.head.owner == *caller && *entry.head.agent == *query.agent
            };
            Ok(entry.is_some_and(is_own))
        })?;
        let index = self.caller_index(caller, &query.agent);
        let page = index.map(|index| index.lists.page(from.as_ref(), query));
        Ok(page.unwrap_or_default())
    }
}

impl CallerIndex {
    /// Refuses ids that were used before.
    fn check_ids(&self, head: &Head, append: &Append) -> Result<()> {
        if let Some(client_id) = new_client_id(head, append)
            && let Some(task) = self.client_tasks.get(client_id)
        {
            return Err(StoreError::Taken { client_id: client_id.clone(), task: task.to_string() });
        }
        for (id, _) in append.message_ids() {
            if let Some((task, seq)) = self.messages.get(id) {
                return Err(StoreError::Duplicate {
                    message_id: id.into(),
                    task: task.to_string(),
                    seq: *seq,
                });
            }
        }
        Ok(())
    }

    /// Removes a task that was deleted.
    fn remove(&mut self, task: &Arc<str>, entry: &TaskEntry) -> Result<()> {
        self.lists.remove(task, &entry.head);
        if let Some(client_id) = &entry.head.client_id {
            self.client_tasks.remove(client_id);
        }
        for stored in entry.events(0, usize::MAX)? {
            if let Event::Message(message) = stored.event {
                self.messages.remove(message.message_id.as_str());
            }
        }
        Ok(())
    }

    fn add_ids(&mut self, task: &Arc<str>, head: &Head, append: &Append) {
        if let Some(client_id) = new_client_id(head, append) {
            self.client_tasks.insert(client_id.clone(), Arc::clone(task));
        }
        for (id, seq) in append.message_ids() {
            self.messages.insert(id.into(), (Arc::clone(task), seq));
        }
    }
}

impl TaskLists {
    fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Adds a task, or moves it from the lists in which it was with its previous head.
    fn update(&mut self, task: &Arc<str>, before: Option<&Head>, after: &Head) {
        let place = |head: &Head| (head.status_time, head.state.clone());
        if before.map(place) == Some(place(after)) {
            return;
        }
        if let Some(before) = before {
            self.remove(task, before);
        }
        let time = Reverse(after.status_time.as_millisecond());
        for name in list_names(after) {
            let list = self.lists.entry(name).or_insert_with(|| {
                self.last_number += 1;
                TaskList { number: self.last_number, count: 0 }
            });
            list.count += 1;
            self.entries.insert((list.number, time, Arc::clone(task)));
        }
    }

    fn remove(&mut self, task: &Arc<str>, head: &Head) {
        let time = Reverse(head.status_time.as_millisecond());
        for name in list_names(head) {
            if let Entry::Occupied(mut list) = self.lists.entry(name) {
                self.entries.remove(&(list.get().number, time, Arc::clone(task)));
                list.get_mut().count -= 1;
                if list.get().count == 0 {
                    list.remove();
                }
            }
        }
    }

    /// Returns the first positions after `from` in order, one more than a page has if there are so many, and the number of
    /// all.
    fn page(&self, from: Option<&ListPosition>, query: &ListQuery) -> (Vec<ListPosition>, usize) {
        let context: Option<Arc<str>> = query.context_id.as_deref().map(Arc::from);
        let lists = self.lists.range((context.clone(), TaskState::Unspecified)..);
        let lists = lists.take_while(|((of, _), _)| *of == context);
        let (mut found, mut total) = (Vec::new(), 0);
        for ((_, state), TaskList { number, count }) in lists {
            if query.state.as_ref().is_some_and(|wanted| wanted != state) {
                continue;
            }
            found.extend(self.positions(*number, from, query).take(query.page_size + 1));
            total += match query.after {
                Some(_) if query.known_total.is_some() => 0,
                Some(_) => self.positions(*number, None, query).count(),
                None => *count,
            };
        }
        found.sort();
        (found, query.known_total.unwrap_or(total))
    }

    /// Returns the positions in a list after `from` whose times the query includes.
    fn positions(
        &self,
        list: ListNumber,
        from: Option<&ListPosition>,
        query: &ListQuery,
    ) -> impl Iterator<Item = ListPosition> {
        let (millis, task) = from.map_or((i64::MAX, ""), |from| (from.millis, &from.task));
        let start = (list, Reverse(millis), Arc::from(task));
        let later = self.entries.range((Bound::Excluded(start), Bound::Unbounded));
        let later = later.take_while(move |(of, Reverse(millis), _)| {
            *of == list && query.includes_time(*millis)
        });
        later.map(|(_, Reverse(millis), task)| ListPosition {
            millis: *millis,
            task: task.to_string(),
        })
    }
}

/// Returns the lists that have a task.
fn list_names(head: &Head) -> [ListName; 2] {
    let context = Some(Arc::clone(&head.context_id));
    [(None, head.state.clone()), (context, head.state.clone())]
}

/// Returns the id that a client chose for the task that this append creates.
fn new_client_id<'h>(head: &'h Head, append: &Append) -> Option<&'h String> {
    head.client_id.as_ref().filter(|_| append.expected == 0)
}
