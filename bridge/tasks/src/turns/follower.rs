//! Reads a task's log as it grows. All readers that wait for a task use it. New events are delivered together with
//! the notification; the log is read for earlier events and by readers that are too slow.

use std::{collections::VecDeque, sync::Arc};

use bridge_program::{
    COUNTED_RESPONSE, LARGE_RESPONSE, ResponseMemory, ResponsePermit, large_responses,
};

use crate::{
    caller::Caller,
    store::{Result, Seq, Snapshot, Store, StoredEvent, Watch},
};

/// The number of events that are read at a time: initially, and at most.
const FIRST: usize = 4;
const PAGE: usize = 256;

/// Reads a task's events one by one, first the existing ones and then new ones as they are logged.
#[derive(Debug)]
pub struct Follower {
    pub(super) store: Arc<dyn Store>,
    pub(super) caller: Caller,
    pub(super) task: Arc<str>,
    pub(super) seen: Seq,
    read: VecDeque<StoredEvent>,
    watch: Option<Watch>,
    /// The number of events of the next read.
    page_size: usize,
    /// The memory for the events, if they are for a client that may read slowly.
    memory: Option<ResponseMemory>,
    /// The memory of the current page.
    permit: Option<ResponsePermit>,
    /// The task as of the last event that was returned, for a reader that was behind the log when it needed the task.
    pub(super) snapshot: Option<Snapshot>,
}

impl Follower {
    /// Follows a task's events after `seen`. Nothing is read before the first call of [`next`](Self::next).
    pub fn new(
        store: Arc<dyn Store>,
        caller: Caller,
        task: impl Into<Arc<str>>,
        seen: Seq,
    ) -> Self {
        Self {
            store,
            caller,
            task: task.into(),
            seen,
            read: VecDeque::new(),
            watch: None,
            page_size: FIRST,
            memory: None,
            permit: None,
            snapshot: None,
        }
    }

    /// Makes the follower fit for a slow reader: at most one page is read ahead, and unless it is small it counts as an
    /// outgoing answer (see [`ResponsePermit`]) until the next event is requested.
    #[must_use]
    pub fn for_slow_reader(mut self, memory: ResponseMemory) -> Self {
        self.memory = Some(memory);
        self
    }

    /// Waits for the next event and returns it; `None` when the store is closed.
    ///
    /// # Errors
    /// Returns an error if the store cannot be read.
    pub async fn next(&mut self) -> Result<Option<StoredEvent>> {
        loop {
            if let Some(stored) = self.read.pop_front() {
                self.seen = stored.seq;
                if let Some(snapshot) = &mut self.snapshot {
                    snapshot.apply(stored.clone());
                }
                return Ok(Some(stored));
            }
            self.permit = None;
            let seen = self.seen;
            let watch = self.watch().await?;
            if watch.after(seen).await.is_none() {
                return Ok(None);
            }
            match watch.events(seen) {
                // All readers share these events. They are cloned because readers modify them.
                Some(events) => {
                    let later = events.iter().filter(|stored| stored.seq > seen);
                    self.read.extend(later.cloned());
                }
                None => {
                    let page = self.read_page().await?;
                    self.read.extend(page);
                }
            }
        }
    }

    /// Subscribes to new events, so that they need not be read from the log.
    ///
    /// # Errors
    /// Returns an error if the store cannot be read.
    pub async fn listen(&mut self) -> Result<()> {
        self.watch().await.map(|_| ())
    }

    /// Returns whether the log is known to hold further events. If so, [`Follower::next`] does not wait for new ones.
    ///
    /// # Errors
    /// Returns an error if the store cannot be read.
    pub async fn has_more(&mut self) -> Result<bool> {
        let (seen, is_read_ahead) = (self.seen, !self.read.is_empty());
        Ok(is_read_ahead || self.watch().await?.seq() > seen)
    }

    /// Does the same as [`has_more`](Self::has_more) without a query to the store; also returns true before the
    /// subscription.
    pub fn has_news(&self) -> bool {
        let watch = self.watch.as_ref();
        !self.read.is_empty() || watch.is_none_or(|watch| watch.seq() > self.seen)
    }

    /// Returns the number of the last event that was returned.
    pub fn seen(&self) -> Seq {
        self.seen
    }

    /// Reads the next events. Their size is known only after reading: if there is no memory for them, they are
    /// dropped and read again later.
    async fn read_page(&mut self) -> Result<Vec<StoredEvent>> {
        let reading = match self.memory {
            Some(_) => large_responses().read_permit(&self.task).await,
            None => None,
        };
        let page = self.read().await?;
        let size = page.iter().map(|stored| stored.event.size()).sum();
        self.page_size = match size {
            0..LARGE_RESPONSE => PAGE.min(2 * self.page_size),
            _ => (self.page_size / 2).max(1),
        };
        let Some(memory) = self.memory.as_ref().filter(|_| size >= COUNTED_RESPONSE) else {
            return Ok(page);
        };
        large_responses().remember_size(|| &*self.task, size);
        self.permit = memory.try_reserve(size);
        if self.permit.is_some() {
            return Ok(page);
        }
        drop((page, reading));
        self.permit = memory.reserve(size).await;
        self.read().await
    }

    async fn read(&self) -> Result<Vec<StoredEvent>> {
        let Self { caller, task, .. } = self;
        self.store.read(caller, task, self.seen, self.page_size).await
    }

    async fn watch(&mut self) -> Result<&mut Watch> {
        Ok(match &mut self.watch {
            Some(watch) => watch,
            none => {
                let watch = self.store.watch(&self.caller, &self.task).await?;
                none.insert(watch.with_events())
            }
        })
    }
}
