//! A store outside of the crate, written with its public items, which passes the suite of stores.
//!
//! It keeps all appends in a list, and searches the whole list each time.

use std::{
    collections::{BTreeMap, btree_map::Entry},
    sync::{Arc, Mutex, MutexGuard, Weak},
};

use bridge::{
    async_trait,
    caller::Caller,
    jiff::Timestamp,
    store::{
        Append, Deletion, Feed, Head, Idle, ListPosition, ListQuery, Listener, Page, RecordKey,
        Seq, Snapshot, Store, StoreError, StoredEvent, TaskCounts, Watch, backend::PageBuilder,
        testing::Backend,
    },
};

#[derive(Debug, Default)]
struct ListStore {
    kept: Mutex<State>,
    feed: Feed,
}

#[derive(Debug, Default)]
struct State {
    appends: Vec<Appended>,
    records: BTreeMap<(Caller, RecordKey), Vec<u8>>,
}

#[derive(Debug)]
struct Appended {
    head: Arc<Head>,
    events: Vec<StoredEvent>,
}

impl State {
    fn heads(&self) -> BTreeMap<&str, &Arc<Head>> {
        let heads = self.appends.iter().map(|append| &append.head);
        heads.map(|head| (&*head.task, head)).collect()
    }

    fn head(&self, caller: &Caller, task: &str) -> Result<&Arc<Head>, StoreError> {
        let head = self.heads().remove(task);
        head.filter(|head| head.owner == *caller)
            .ok_or_else(|| StoreError::NotFound { task: task.into() })
    }

    fn events<'k>(&'k self, task: &str) -> impl Iterator<Item = &'k StoredEvent> {
        let ours = move |append: &&Appended| *append.head.task == *task;
        self.appends.iter().filter(ours).flat_map(|append| &append.events)
    }

    fn message(&self, caller: &Caller, agent: &str, id: &str) -> Option<(String, Seq)> {
        let ours =
            |append: &&Appended| append.head.owner == *caller && *append.head.agent == *agent;
        self.appends.iter().filter(ours).find_map(|append| {
            let has_id = |stored: &&StoredEvent| matches!(&stored.event, bridge::store::Event::Message(message) if message.message_id == id);
            let stored = append.events.iter().find(has_id)?;
            Some((append.head.task.to_string(), stored.seq))
        })
    }

    fn client_task(&self, caller: &Caller, agent: &str, id: &str) -> Option<String> {
        let heads = self.heads().into_values();
        let has_id = |head: &&Arc<Head>| {
            head.owner == *caller && *head.agent == *agent && head.client_id.as_deref() == Some(id)
        };
        Some(heads.into_iter().find(has_id)?.task.to_string())
    }

    fn append(&mut self, caller: &Caller, append: Append) -> Result<Arc<Head>, StoreError> {
        let heads = self.heads();
        let before = heads.get(&*append.task).map(|head| &***head);
        let head = Arc::new(Head::after(before, caller, &append)?);
        for (id, _) in append.message_ids() {
            if let Some((task, seq)) = self.message(caller, &head.agent, id) {
                let message_id = id.to_owned();
                return Err(StoreError::Duplicate { message_id, task, seq });
            }
        }
        if let Some(client_id) = head.client_id.clone().filter(|_| append.expected == 0)
            && let Some(task) = self.client_task(caller, &head.agent, &client_id)
        {
            return Err(StoreError::Taken { client_id: client_id.to_string(), task });
        }
        self.appends
            .push(Appended { head: Arc::clone(&head), events: append.into_stored().collect() });
        Ok(head)
    }

    /// Tasks of this kind whose status is of `until` or earlier, the oldest first.
    fn since(
        &self,
        is_meant: impl Fn(&Head) -> bool,
        after: Option<&ListPosition>,
        until: Timestamp,
        limit: usize,
    ) -> Vec<Head> {
        let heads = self.heads().into_values();
        let place = |head: &&Arc<Head>| (head.status_time.as_millisecond(), head.task.to_string());
        let after = after.map(|after| (after.millis, after.task.clone()));
        let due = heads.filter(|head| head.status_time <= until && Some(place(head)) > after);
        let mut due: Vec<&Arc<Head>> = due.filter(|head| is_meant(head)).collect();
        due.sort_by_key(place);
        let due = due.into_iter().take(limit);
        due.map(|head| head.as_ref().clone()).collect()
    }

    fn snapshot(&self, head: &Head) -> Snapshot {
        let mut snapshot = Snapshot::empty(head);
        self.events(&head.task).cloned().for_each(|stored| snapshot.apply(stored));
        snapshot
    }

    fn page(&self, caller: &Caller, query: &ListQuery) -> Result<Page, StoreError> {
        let heads = self.heads();
        let is_own = |head: &&&Arc<Head>| head.owner == *caller && *head.agent == *query.agent;
        let after = query
            .start(|position| Ok(heads.get(position.task.as_str()).filter(is_own).is_some()))?;
        let ours = heads.values().filter(is_own).filter(|head| query.matches(head));
        let mut ours: Vec<ListPosition> = ours.map(|head| ListPosition::of(head)).collect();
        ours.sort();
        let total = query.known_total.unwrap_or(ours.len());
        ours.retain(|position| after.as_ref().is_none_or(|after| position > after));
        let mut page = PageBuilder::new(query, ours);
        while let Some(position) = page.next_position() {
            let snapshot = self.snapshot(heads[position.task.as_str()]);
            page.add(position, Some(snapshot));
        }
        Ok(page.finish(total))
    }
}

impl ListStore {
    fn kept(&self) -> MutexGuard<'_, State> {
        self.kept.lock().unwrap()
    }
}

#[async_trait]
impl Store for ListStore {
    async fn append(&self, caller: &Caller, append: Append) -> Result<Arc<Head>, StoreError> {
        let head = self.kept().append(caller, append.checked()?)?;
        self.feed.publish(&head);
        Ok(head)
    }

    async fn read(
        &self,
        caller: &Caller,
        task: &str,
        after: Seq,
        limit: usize,
    ) -> Result<Vec<StoredEvent>, StoreError> {
        let kept = self.kept();
        kept.head(caller, task)?;
        let later = kept.events(task).filter(|stored| stored.seq > after);
        Ok(later.take(limit).cloned().collect())
    }

    async fn head(&self, caller: &Caller, task: &str) -> Result<Arc<Head>, StoreError> {
        self.kept().head(caller, task).cloned()
    }

    async fn task(&self, caller: &Caller, task: &str) -> Result<Snapshot, StoreError> {
        let kept = self.kept();
        Ok(kept.snapshot(kept.head(caller, task)?))
    }

    async fn list(&self, caller: &Caller, query: &ListQuery) -> Result<Page, StoreError> {
        self.kept().page(caller, query)
    }

    async fn find_message(
        &self,
        caller: &Caller,
        agent: &str,
        message_id: &str,
    ) -> Result<Option<(String, Seq)>, StoreError> {
        Ok(self.kept().message(caller, agent, message_id))
    }

    async fn find_client_task(
        &self,
        caller: &Caller,
        agent: &str,
        client_id: &str,
    ) -> Result<Option<String>, StoreError> {
        Ok(self.kept().client_task(caller, agent, client_id))
    }

    async fn owner(&self, task: &str) -> Result<Caller, StoreError> {
        let kept = self.kept();
        let head = kept.heads().remove(task);
        let head = head.ok_or_else(|| StoreError::NotFound { task: task.into() })?;
        Ok(head.owner.clone())
    }

    async fn open_turns(&self, after: &str, limit: usize) -> Result<Vec<Head>, StoreError> {
        let kept = self.kept();
        let heads = kept.heads().into_values();
        let open = heads.filter(|head| !head.turns.is_empty() && *head.task > *after);
        Ok(open.take(limit).map(|head| head.as_ref().clone()).collect())
    }

    async fn idle_tasks(
        &self,
        kind: Idle,
        agent: &str,
        after: Option<&ListPosition>,
        until: Timestamp,
        limit: usize,
    ) -> Result<Vec<Head>, StoreError> {
        let is_wanted = |head: &Head| *head.agent == *agent && kind.has(head);
        Ok(self.kept().since(is_wanted, after, until, limit))
    }

    async fn delete(
        &self,
        caller: &Caller,
        task: &str,
        deletion: Deletion,
    ) -> Result<(), StoreError> {
        let mut kept = self.kept();
        deletion.check(kept.head(caller, task)?)?;
        kept.appends.retain(|append| *append.head.task != *task);
        drop(kept);
        self.feed.end(task);
        Ok(())
    }

    async fn counts(&self) -> Result<BTreeMap<String, TaskCounts>, StoreError> {
        let kept = self.kept();
        let mut counts = BTreeMap::<String, TaskCounts>::new();
        for head in kept.heads().into_values() {
            let TaskCounts { open, ended } = counts.entry(head.agent.to_string()).or_default();
            *open += usize::from(!head.state.is_terminal());
            if !head.is_open() {
                ended.tasks += 1;
                let events = kept.events(&head.task);
                ended.bytes += events.map(|one| format!("{one:?}").len() as u64).sum::<u64>();
            }
        }
        Ok(counts)
    }

    async fn watch(&self, caller: &Caller, task: &str) -> Result<Watch, StoreError> {
        let watch = self.feed.watch(task);
        self.feed.publish(self.kept().head(caller, task)?);
        Ok(watch)
    }

    fn listen(&self, listener: Weak<dyn Listener>) {
        self.feed.listen(listener);
    }

    async fn put_record(
        &self,
        caller: &Caller,
        key: &RecordKey,
        value: Vec<u8>,
    ) -> Result<(), StoreError> {
        key.check(&value)?;
        let key = (caller.clone(), key.clone());
        self.kept().records.insert(key, value);
        Ok(())
    }

    async fn record(
        &self,
        caller: &Caller,
        key: &RecordKey,
    ) -> Result<Option<Vec<u8>>, StoreError> {
        let key = (caller.clone(), key.clone());
        Ok(self.kept().records.get(&key).cloned())
    }

    async fn delete_record(&self, caller: &Caller, key: &RecordKey) -> Result<bool, StoreError> {
        match self.kept().records.entry((caller.clone(), key.clone())) {
            Entry::Occupied(known) => {
                known.remove();
                Ok(true)
            }
            Entry::Vacant(_) => Ok(false),
        }
    }

    async fn records(
        &self,
        caller: &Caller,
        kind: &str,
        scope: &str,
    ) -> Result<Vec<(String, Vec<u8>)>, StoreError> {
        let kept = self.kept();
        let ours = kept
            .records
            .iter()
            .filter(|((owner, key), _)| owner == caller && key.kind == kind && key.scope == scope);
        Ok(ours.map(|((_, key), value)| (key.id.clone(), value.clone())).collect())
    }
}

/// The store is lost when it is closed, so each opening creates another one.
struct Lists;

impl Backend for Lists {
    fn open(&self) -> Arc<dyn Store> {
        Arc::new(ListStore::default())
    }

    fn is_durable(&self) -> bool {
        false
    }
}

bridge::store_tests!(Lists);
