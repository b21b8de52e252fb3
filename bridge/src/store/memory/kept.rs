//! What a store in memory keeps, behind its lock.

use std::{
    collections::{BTreeMap, BTreeSet},
    ops::Bound,
    sync::Arc,
};

use crate::{
    caller::Caller,
    store::{
        Append, Head, ListQuery, Page, RecordKey, Seq, Snapshot, StoreError, Stored,
        list::{Position, cut},
    },
};

/// Everything. The lock is held only as long as it takes to change or copy some of it.
#[derive(Debug, Default)]
pub(super) struct Kept {
    pub(super) tasks: BTreeMap<String, Entry>,
    pub(super) messages: BTreeMap<Key, (String, Seq)>,
    pub(super) client_tasks: BTreeMap<Key, String>,
    /// The tasks of each caller at each agent, in the order of lists.
    lists: BTreeMap<(Caller, String), BTreeSet<Position>>,
    pub(super) open: BTreeSet<String>,
    pub(super) records: BTreeMap<(Caller, RecordKey), Vec<u8>>,
}

/// Caller, agent, and the id that the caller made.
pub(super) type Key = (Caller, String, String);

/// One task.
#[derive(Debug)]
pub(super) struct Entry {
    pub(super) head: Arc<Head>,
    pub(super) log: Vec<Stored>,
    pub(super) snapshot: Snapshot,
}

impl Kept {
    pub(super) fn entry(&self, caller: &Caller, task: &str) -> Result<&Entry, StoreError> {
        let entry = self.tasks.get(task);
        entry
            .filter(|entry| entry.head.owner == *caller)
            .ok_or_else(|| StoreError::not_found(task))
    }

    pub(super) fn append(
        &mut self,
        caller: &Caller,
        append: Append,
    ) -> Result<Arc<Head>, StoreError> {
        let before = self.tasks.get(&append.task);
        let before = before.map(|entry| Arc::clone(&entry.head));
        let after = Arc::new(Head::after(before.as_deref(), caller, &append)?);
        self.check_ids(&after, &append)?;
        if let Some(before) = &before {
            self.unlist(before);
        }
        self.list(&after);
        self.remember_ids(&after, &append);
        self.log(Arc::clone(&after), append);
        Ok(after)
    }

    /// Refuses ids that were used before.
    fn check_ids(&self, head: &Head, append: &Append) -> Result<(), StoreError> {
        if let Some(id) = head.client_id.as_ref().filter(|_| append.expected == 0)
            && let Some(task) = self.client_tasks.get(&key(head, id))
        {
            return Err(StoreError::Taken {
                client_id: id.clone(),
                task: task.clone(),
            });
        }
        for (id, _) in append.message_ids() {
            if let Some((task, seq)) = self.messages.get(&key(head, id)) {
                return Err(StoreError::Duplicate {
                    message_id: id.into(),
                    task: task.clone(),
                    seq: *seq,
                });
            }
        }
        Ok(())
    }

    fn remember_ids(&mut self, head: &Head, append: &Append) {
        if let Some(id) = head.client_id.as_ref().filter(|_| append.expected == 0) {
            self.client_tasks.insert(key(head, id), head.task.clone());
        }
        for (id, seq) in append.message_ids() {
            let place = (head.task.clone(), seq);
            self.messages.insert(key(head, id), place);
        }
    }

    fn unlist(&mut self, head: &Head) {
        if let Some(list) = self.lists.get_mut(&list_of(head)) {
            list.remove(&Position::of(head));
        }
        self.open.remove(&head.task);
    }

    fn list(&mut self, head: &Head) {
        let list = self.lists.entry(list_of(head)).or_default();
        list.insert(Position::of(head));
        if head.is_open() {
            self.open.insert(head.task.clone());
        }
    }

    fn log(&mut self, head: Arc<Head>, append: Append) {
        let entry = self.tasks.entry(head.task.clone());
        let entry = entry.or_insert_with(|| Entry {
            head: Arc::clone(&head),
            log: Vec::new(),
            snapshot: Snapshot::empty(&head),
        });
        entry.head = head;
        for stored in append.into_stored() {
            entry.snapshot.apply(stored.clone());
            entry.log.push(stored);
        }
    }

    pub(super) fn page(&self, caller: &Caller, query: &ListQuery) -> Result<Page, StoreError> {
        let from = Position::parse(&query.page_token)?;
        let empty = BTreeSet::new();
        let list = self.lists.get(&(caller.clone(), query.agent.clone()));
        let list = list.unwrap_or(&empty);
        let start = from.map_or(Bound::Unbounded, Bound::Excluded);
        let later = list.range((start, Bound::Unbounded));
        let page = later.filter(|one| self.matches(query, one)).cloned();
        let (positions, next) = cut(page.take(query.page_size + 1).collect(), query.page_size);
        let tasks = positions.iter().filter_map(|one| self.tasks.get(&one.task));
        Ok(Page {
            tasks: tasks.map(|entry| entry.snapshot.clone()).collect(),
            next,
            total: match query.is_narrow() {
                true => list.iter().filter(|one| self.matches(query, one)).count(),
                false => list.len(),
            },
        })
    }

    fn matches(&self, query: &ListQuery, place: &Position) -> bool {
        let entry = self.tasks.get(&place.task);
        entry.is_some_and(|entry| query.matches(&entry.head))
    }
}

fn key(head: &Head, id: &str) -> Key {
    (head.owner.clone(), head.agent.clone(), id.to_owned())
}

fn list_of(head: &Head) -> (Caller, String) {
    (head.owner.clone(), head.agent.clone())
}
