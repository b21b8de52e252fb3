//! The tables of a store in memory, which are guarded by its lock.
//! The store's cache has the tasks that were read lately.

use std::{
    collections::{BTreeMap, BTreeSet},
    hash::{BuildHasher as _, RandomState},
    sync::Arc,
};

use super::{stored_append::StoredAppend, task_lists::TaskLists};
use crate::{
    Append, Deletion, Event, Head, Idle, ListPosition, ListQuery, RecordKey, Result, Seq,
    StoreError, StoredEvent, TaskCounts, Unordered, caller::Caller,
};

/// Tasks by the time of their status in milliseconds.
pub(super) type TasksByTime = BTreeSet<(i64, Arc<str>)>;

/// All tables. The lock is only held while data are changed or copied.
#[derive(Debug, Default)]
pub(super) struct MemoryTables {
    /// The tasks by their ids. They are not sorted, because a send looks its task up several times.
    pub(super) tasks: Unordered<Arc<str>, TaskEntry>,
    /// The tasks and ids of each caller at each agent.
    caller_indexes: BTreeMap<(Caller, Arc<str>), CallerIndex>,
    /// The tasks with turns that have not ended.
    pub(super) turns: BTreeSet<Arc<str>>,
    pub(super) idle: BTreeMap<(Idle, Arc<str>), TasksByTime>,
    pub(super) counts: BTreeMap<Arc<str>, TaskCounts>,
    pub(super) records: BTreeMap<(Caller, RecordKey), Vec<u8>>,
    /// Hashes the ids of messages. The hashes cannot be predicted, so that no caller can choose ids with equal ones.
    message_hasher: RandomState,
}

/// The tasks and ids of one caller at one agent. Each caller has its own maps, so that only ids are compared.
#[derive(Debug, Default)]
pub(super) struct CallerIndex {
    /// The hash of the id, the event and the task of each message. The id itself is read from the event.
    messages: BTreeSet<(u64, Seq, Arc<str>)>,
    /// The tasks, by the ids that the client chose.
    pub(super) client_tasks: BTreeMap<Arc<str>, Arc<str>>,
    lists: TaskLists,
}

/// A task with its log.
#[derive(Clone, Debug)]
pub(super) struct TaskEntry {
    pub(super) head: Arc<Head>,
    log: Vec<StoredAppend>,
    /// The size of the task's events, in bytes.
    bytes: u64,
}

impl TaskEntry {
    /// Copies the appends with events after `after`, enough for `limit` events, so that they can be read without the lock.
    pub(super) fn later(&self, after: Seq, limit: usize) -> Self {
        let begin = self.log.partition_point(|append| append.last() <= after);
        let log = self.log[begin..].iter().take(limit).cloned().collect();
        let head = Arc::clone(&self.head);
        let bytes = self.bytes;
        Self { head, log, bytes }
    }

    /// Returns the task's events after `after`, at most `limit`.
    pub(super) fn events(&self, after: Seq, limit: usize) -> Result<Vec<StoredEvent>> {
        let mut events = Vec::new();
        for append in &self.log {
            events.extend(append.events(&self.head)?.filter(|stored| stored.seq > after));
            if events.len() >= limit {
                break;
            }
        }
        events.truncate(limit);
        Ok(events)
    }

    /// Returns whether this event is the caller's message with this id.
    fn has_message(&self, seq: Seq, id: &str) -> Result<bool> {
        let mut found = self.later(seq - 1, 1).events(seq - 1, 1)?.into_iter();
        let is_it = |event| matches!(event, Event::Message(message) if message.message_id == id);
        Ok(found.any(|stored| is_it(stored.event)))
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
        if let Some(index) = self.caller_indexes.get(&caller_index) {
            self.check_ids(index, &after, append)?;
        }
        let caller_index = self.caller_indexes.entry(caller_index).or_default();
        if let Some(client_id) = new_client_id(&after, append) {
            caller_index.client_tasks.insert(Arc::clone(client_id), Arc::clone(&task));
        }
        for (id, seq) in append.message_ids() {
            let hash = self.message_hasher.hash_one(id);
            caller_index.messages.insert((hash, seq, Arc::clone(&task)));
        }
        let head_of = |task: &str| self.tasks.get(task).map(|entry| &*entry.head);
        caller_index.lists.update(before.as_deref(), &after, head_of);
        let before_bytes = known.map_or(0, |entry| entry.bytes);
        if let Some(before) = &before {
            self.count(&task, before, before_bytes, false);
        }
        let bytes = before_bytes + written.size() as u64;
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

    /// Refuses ids that were used before.
    fn check_ids(&self, index: &CallerIndex, head: &Head, append: &Append) -> Result<()> {
        if let Some(client_id) = new_client_id(head, append)
            && let Some(task) = index.client_tasks.get(client_id)
        {
            let (client_id, task) = (client_id.to_string(), task.to_string());
            return Err(StoreError::Taken { client_id, task });
        }
        for (id, _) in append.message_ids() {
            if let Some((task, seq)) = self.find_message(index, id)? {
                let message_id = id.into();
                return Err(StoreError::Duplicate { message_id, task: task.to_string(), seq });
            }
        }
        Ok(())
    }

    /// Returns the task and event of the caller's message with this id.
    pub(super) fn find_message(
        &self,
        index: &CallerIndex,
        id: &str,
    ) -> Result<Option<(Arc<str>, Seq)>> {
        let hash = self.message_hasher.hash_one(id);
        let later = index.messages.range((hash, 0, Arc::default())..);
        for (_, seq, task) in later.take_while(|(other, ..)| *other == hash) {
            let entry = self.tasks.get(task);
            if entry.map(|entry| entry.has_message(*seq, id)).transpose()?.unwrap_or_default() {
                return Ok(Some((Arc::clone(task), *seq)));
            }
        }
        Ok(None)
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
            index.lists.remove(head);
            if let Some(client_id) = &head.client_id {
                index.client_tasks.remove(client_id);
            }
            for StoredEvent { seq, event, .. } in entry.events(0, usize::MAX)? {
                if let Event::Message(message) = event {
                    let hash = self.message_hasher.hash_one(&*message.message_id);
                    index.messages.remove(&(hash, seq, Arc::clone(&task)));
                }
            }
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
        let head_of = |task: &str| self.tasks.get(task).map(|entry| &*entry.head);
        let page = index.map(|index| index.lists.page(from.as_ref(), query, head_of));
        Ok(page.unwrap_or_default())
    }
}

/// Returns the id that a client chose for the task that this append creates.
fn new_client_id<'h>(head: &'h Head, append: &Append) -> Option<&'h Arc<str>> {
    head.client_id.as_ref().filter(|_| append.expected == 0)
}

#[cfg(test)]
mod tests {
    use bridge_protocol::a2a::{Message, Part, Role};

    use super::*;
    use crate::testing::Sample;

    /// Creates a task with a message whose id is the task's.
    fn create(tables: &mut MemoryTables, sample: &Sample) {
        let queued = Event::TurnQueued {
            turn: 1,
            message_id: sample.task.clone(),
            names_context: None,
            traceparent: None,
        };
        let message = Message::new(&*sample.task, Role::User, vec![Part::text("a text")]);
        let events = vec![sample.created(), Event::Message(message), queued];
        let mut append = sample.append(0, 1, events);
        let stored = StoredAppend::of(&mut append, Some(&sample.context)).unwrap();
        tables.append(&sample.caller, &append, stored).unwrap();
    }

    #[test]
    fn a_deleted_task_leaves_nothing_behind() {
        let mut tables = MemoryTables::default();
        let (stays, gone) = (Sample::new("stays"), Sample::new("gone").within("another context"));
        let other = Sample::new("other").of(Caller::new("bob"));
        create(&mut tables, &stays);
        let before = format!("{tables:?}");
        for sample in [&gone, &other] {
            create(&mut tables, sample);
        }
        for sample in [&gone, &other] {
            tables.delete(&sample.caller, &sample.task, Deletion::Forced).unwrap();
        }
        assert_eq!(format!("{tables:?}"), before);
    }

    #[test]
    fn messages_whose_ids_have_the_same_hash_are_told_apart() {
        let mut tables = MemoryTables::default();
        let (one, other) = (Sample::new("one"), Sample::new("other"));
        create(&mut tables, &one);
        create(&mut tables, &other);
        let hash = tables.message_hasher.hash_one("other");
        let index = tables.caller_indexes.values_mut().next().unwrap();
        index.messages.insert((hash, 2, "one".into()));
        index.messages.insert((hash, 1, "other".into()));
        let index = tables.caller_indexes.values().next().unwrap();
        let found = |id| tables.find_message(index, id).unwrap();
        assert_eq!(found("other"), Some(("other".into(), 2)));
        assert_eq!(found("one"), Some(("one".into(), 2)));
        assert_eq!(found("none"), None);
    }
}
