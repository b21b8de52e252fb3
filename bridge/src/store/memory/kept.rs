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
    /// What each caller has at each agent.
    accounts: BTreeMap<(Caller, String), Account>,
    pub(super) open: BTreeSet<String>,
    pub(super) records: BTreeMap<(Caller, RecordKey), Vec<u8>>,
}

/// What one caller has at one agent: in maps of their own, so that only ids need be compared.
#[derive(Debug, Default)]
pub(super) struct Account {
    /// The events of messages, by their ids.
    pub(super) messages: BTreeMap<String, (String, Seq)>,
    /// The tasks that the client has given ids to.
    pub(super) client_tasks: BTreeMap<String, String>,
    /// All tasks, in the order of lists.
    list: BTreeSet<Position>,
}

/// One task.
#[derive(Debug)]
pub(super) struct Entry {
    pub(super) head: Arc<Head>,
    /// The events, those of an append together: so a log takes no more room than they do.
    log: Vec<Arc<[Stored]>>,
    pub(super) snapshot: Snapshot,
}

impl Entry {
    /// The appends that have events after `after`, as many as have `limit` events at least.
    pub(super) fn later(&self, after: Seq, limit: usize) -> Vec<Arc<[Stored]>> {
        let is_seen = |append: &Arc<[Stored]>| append.last().is_none_or(|last| last.seq <= after);
        let begin = self.log.partition_point(is_seen);
        self.log[begin..].iter().take(limit).cloned().collect()
    }
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
    ) -> Result<(Arc<Head>, Arc<[Stored]>), StoreError> {
        let before = self.tasks.get(&append.task);
        let before = before.map(|entry| Arc::clone(&entry.head));
        let after = Arc::new(Head::after(before.as_deref(), caller, &append)?);
        let account = (after.owner.clone(), after.agent.clone());
        let account = self.accounts.entry(account).or_default();
        account.check_ids(&after, &append)?;
        account.remember_ids(&after, &append);
        account.list(before.as_deref(), &after);
        match after.is_open() {
            true => self.open.insert(after.task.clone()),
            false => self.open.remove(&after.task),
        };
        let events = self.log(Arc::clone(&after), append);
        Ok((after, events))
    }

    pub(super) fn account(&self, caller: &Caller, agent: &str) -> Option<&Account> {
        self.accounts.get(&(caller.clone(), agent.to_owned()))
    }

    fn log(&mut self, head: Arc<Head>, append: Append) -> Arc<[Stored]> {
        let entry = self.tasks.entry(head.task.clone());
        let entry = entry.or_insert_with(|| Entry {
            head: Arc::clone(&head),
            log: Vec::with_capacity(2),
            snapshot: Snapshot::empty(&head),
        });
        entry.head = head;
        let events: Arc<[Stored]> = append.into_stored().collect();
        for stored in &*events {
            entry.snapshot.apply(stored.clone());
        }
        entry.log.push(Arc::clone(&events));
        events
    }

    pub(super) fn page(&self, caller: &Caller, query: &ListQuery) -> Result<Page, StoreError> {
        let from = query.start(|position| {
            let head = self.tasks.get(&position.task).map(|entry| &entry.head);
            Ok(head.is_some_and(|head| head.owner == *caller && head.agent == query.agent))
        })?;
        let empty = BTreeSet::new();
        let account = self.account(caller, &query.agent);
        let list = account.map_or(&empty, |account| &account.list);
        let start = from.map_or(Bound::Unbounded, Bound::Excluded);
        let later = list.range((start, Bound::Unbounded));
        let page = later.filter(|one| self.matches(query, one)).cloned();
        let (positions, next) = cut(page.take(query.page_size + 1).collect(), query.page_size);
        let load = |one: &Position| {
            let entry = self.tasks.get(&one.task);
            Ok(entry.map(|entry| entry.snapshot.clone()))
        };
        let (tasks, next) = query.fill(positions, next, load)?;
        Ok(Page {
            tasks,
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

impl Account {
    /// Refuses ids that were used before.
    fn check_ids(&self, head: &Head, append: &Append) -> Result<(), StoreError> {
        if let Some(client_id) = new_client_id(head, append)
            && let Some(task) = self.client_tasks.get(client_id)
        {
            return Err(StoreError::Taken {
                client_id: client_id.clone(),
                task: task.clone(),
            });
        }
        for (id, _) in append.message_ids() {
            if let Some((task, seq)) = self.messages.get(id) {
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
        if let Some(client_id) = new_client_id(head, append) {
            let task = head.task.clone();
            self.client_tasks.insert(client_id.clone(), task);
        }
        for (id, seq) in append.message_ids() {
            let event = (head.task.clone(), seq);
            self.messages.insert(id.to_owned(), event);
        }
    }

    fn list(&mut self, before: Option<&Head>, after: &Head) {
        let (old, new) = (before.map(Position::of), Position::of(after));
        if old.as_ref() != Some(&new) {
            old.map(|old| self.list.remove(&old));
            self.list.insert(new);
        }
    }
}

/// Clients choose an id only for the task that they create.
fn new_client_id<'h>(head: &'h Head, append: &Append) -> Option<&'h String> {
    head.client_id.as_ref().filter(|_| append.expected == 0)
}
