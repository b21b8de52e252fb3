//! Reading a task's log as it grows: all who wait for a task read it in this way.

use std::{collections::VecDeque, sync::Arc};

use crate::{
    caller::Caller,
    store::{Seq, Store, StoreError, Stored, Watch},
};

/// How many events are read at a time.
const PAGE: usize = 256;

/// Gives a task's events one by one, those that are there and then those that come.
#[derive(Debug)]
pub struct Follower {
    store: Arc<dyn Store>,
    caller: Caller,
    task: String,
    seen: Seq,
    read: VecDeque<Stored>,
    watch: Option<Watch>,
}

impl Follower {
    /// Follows a task from after `seen`. Nothing is read before the first event is asked for.
    pub fn new(store: Arc<dyn Store>, caller: Caller, task: String, seen: Seq) -> Self {
        Self {
            store,
            caller,
            task,
            seen,
            read: VecDeque::new(),
            watch: None,
        }
    }

    /// The next event; waits for it. `None` when the store is closed.
    ///
    /// # Errors
    /// Those of reading.
    pub async fn next(&mut self) -> Result<Option<Stored>, StoreError> {
        loop {
            if let Some(stored) = self.read.pop_front() {
                self.seen = stored.seq;
                return Ok(Some(stored));
            }
            if !self.news().await? {
                return Ok(None);
            }
            let page = self
                .store
                .read(&self.caller, &self.task, self.seen, PAGE)
                .await?;
            self.read.extend(page);
        }
    }

    /// Waits until the log holds more than was seen; false when there will be no more.
    async fn news(&mut self) -> Result<bool, StoreError> {
        let watch = match &mut self.watch {
            Some(watch) => watch,
            none => none.insert(self.store.watch(&self.caller, &self.task).await?),
        };
        Ok(watch.after(self.seen).await.is_some())
    }
}
