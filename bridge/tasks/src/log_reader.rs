//! Reads the events that a task's log has.

use std::vec;

use crate::{
    caller::Caller,
    store::{Result, Seq, Store, StoredEvent},
};

/// The number of events that are read at a time.
const PAGE: usize = 256;

/// Reads a task's events one by one, oldest first, up to the end of its log.
#[derive(Debug)]
pub struct LogReader<'s> {
    store: &'s dyn Store,
    caller: &'s Caller,
    task: &'s str,
    seen: Seq,
    page: vec::IntoIter<StoredEvent>,
    is_last_page: bool,
}

impl<'s> LogReader<'s> {
    /// Begins after the event `seen`.
    pub fn after(seen: Seq, store: &'s dyn Store, caller: &'s Caller, task: &'s str) -> Self {
        let page = Vec::new().into_iter();
        Self { store, caller, task, seen, page, is_last_page: false }
    }

    /// Returns the next event; `None` at the end of the log.
    ///
    /// # Errors
    /// Returns an error if the store cannot be read.
    pub async fn next(&mut self) -> Result<Option<StoredEvent>> {
        if self.page.as_slice().is_empty() && !self.is_last_page {
            let page = self.store.read(self.caller, self.task, self.seen, PAGE).await?;
            self.is_last_page = page.len() < PAGE;
            self.page = page.into_iter();
        }
        Ok(self.page.next().inspect(|stored| self.seen = stored.seq))
    }
}
