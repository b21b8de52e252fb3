//! A batch in the making: what it changes can be read from it before it is applied.

use std::{collections::BTreeMap, sync::Arc};

use super::{
    codec::{self, Body, read_number},
    content,
    heads::Heads,
    keys::{self, Key},
    reader::Reader,
};
use crate::{
    caller::Caller,
    store::{Append, Head, StoreError},
};

/// Changes to the database that become true together.
#[derive(Debug)]
pub(super) struct Draft<'a> {
    reader: &'a Reader,
    durable: &'a Heads,
    heads: BTreeMap<String, Arc<Head>>,
    writes: BTreeMap<Key, Option<Vec<u8>>>,
}

/// An append that is ready to be committed: the events, and how they will be written.
#[derive(Debug)]
pub(super) struct Prepared {
    pub(super) caller: Caller,
    pub(super) append: Append,
    pub(super) body: Body,
}

impl<'a> Draft<'a> {
    /// An empty one, on top of what the database holds.
    pub(super) fn new(reader: &'a Reader, durable: &'a Heads) -> Self {
        Self {
            reader,
            durable,
            heads: BTreeMap::new(),
            writes: BTreeMap::new(),
        }
    }

    /// Adds an append, or says why it cannot follow; then nothing of it is in the draft.
    pub(super) fn append(&mut self, prepared: &Prepared) -> Result<Arc<Head>, StoreError> {
        let append = &prepared.append;
        let before = self.head(&append.task)?;
        let after = Head::after(before.as_deref(), &prepared.caller, append)?;
        self.check_ids(&after, append)?;
        let record = codec::envelope(append, &after, &prepared.body)?;
        self.list(before.as_deref(), &after)?;
        self.remember_ids(&after, append);
        self.put(keys::events(&after.task, after.seq), record);
        if let Body::File(hash) = &prepared.body {
            self.put(keys::content(&content::name(hash)), Vec::new());
        }
        let after = Arc::new(after);
        self.heads.insert(after.task.clone(), Arc::clone(&after));
        Ok(after)
    }

    /// Puts a small record or removes it; says whether there was one.
    pub(super) fn record(&mut self, key: Key, value: Option<Vec<u8>>) -> Result<bool, StoreError> {
        let present = self.get(&key)?.is_some();
        self.writes.insert(key, value);
        Ok(present)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.writes.is_empty()
    }

    pub(super) fn into_batch(self) -> sled::Batch {
        let mut batch = sled::Batch::default();
        for (key, value) in self.writes {
            match value {
                Some(value) => batch.insert(key, value),
                None => batch.remove(key),
            }
        }
        batch
    }

    fn put(&mut self, key: Key, value: Vec<u8>) {
        self.writes.insert(key, Some(value));
    }

    fn remove(&mut self, key: Key) {
        self.writes.insert(key, None);
    }

    fn get(&self, key: &[u8]) -> Result<Option<sled::IVec>, StoreError> {
        match self.writes.get(key) {
            Some(written) => Ok(written.as_deref().map(sled::IVec::from)),
            None => self.reader.get(key),
        }
    }

    fn head(&self, task: &str) -> Result<Option<Arc<Head>>, StoreError> {
        let staged = self.heads.get(task).cloned();
        match staged.or_else(|| self.durable.get(task)) {
            Some(head) => Ok(Some(head)),
            None => Ok(self.reader.head(task)?.map(Arc::new)),
        }
    }

    /// Refuses ids that were used before.
    fn check_ids(&self, head: &Head, append: &Append) -> Result<(), StoreError> {
        if let Some(client_id) = new_client_id(head, append)
            && let Some(task) = self.get(&keys::client_task(&head.owner, &head.agent, client_id))?
        {
            return Err(StoreError::Taken {
                client_id: client_id.into(),
                task: codec::read_text(&task, "the task of a client's id")?,
            });
        }
        for (id, _) in append.message_ids() {
            if let Some(place) = self.get(&keys::message(&head.owner, &head.agent, id))? {
                let (task, seq) = codec::read_place(&place)?;
                let message_id = id.into();
                return Err(StoreError::Duplicate {
                    message_id,
                    task,
                    seq,
                });
            }
        }
        Ok(())
    }

    fn remember_ids(&mut self, head: &Head, append: &Append) {
        if let Some(client_id) = new_client_id(head, append) {
            let key = keys::client_task(&head.owner, &head.agent, client_id);
            self.put(key, head.task.clone().into_bytes());
        }
        for (id, seq) in append.message_ids() {
            let key = keys::message(&head.owner, &head.agent, id);
            self.put(key, codec::write_place(&head.task, seq));
        }
    }

    /// Moves the task to where lists must find it now.
    fn list(&mut self, before: Option<&Head>, after: &Head) -> Result<(), StoreError> {
        let (old, new) = (before.map(keys::listed), keys::listed(after));
        if old.as_ref() != Some(&new) {
            match old {
                Some(old) => self.remove(old),
                None => self.put(keys::in_context(after), Vec::new()),
            }
            self.put(new, Vec::new());
        }
        if before.map(|before| &before.state) != Some(&after.state) {
            before.map_or(Ok(()), |before| self.count(before, -1))?;
            self.count(after, 1)?;
        }
        match (before.is_some_and(Head::is_open), after.is_open()) {
            (false, true) => self.put(keys::open(&after.task), Vec::new()),
            (true, false) => self.remove(keys::open(&after.task)),
            (true, true) | (false, false) => {}
        }
        Ok(())
    }

    fn count(&mut self, head: &Head, change: i64) -> Result<(), StoreError> {
        let key = keys::count(&head.owner, &head.agent, head.state.as_str());
        let before = match self.get(&key)? {
            Some(bytes) => read_number(&bytes, "a count of tasks")?,
            None => 0,
        };
        let after = before.saturating_add_signed(change);
        self.put(key, after.to_be_bytes().to_vec());
        Ok(())
    }
}

/// Clients choose an id only for the task that they create.
fn new_client_id<'h>(head: &'h Head, append: &Append) -> Option<&'h str> {
    head.client_id.as_deref().filter(|_| append.expected == 0)
}
