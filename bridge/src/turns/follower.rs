//! Reading a task's log as it grows: all who wait for a task read it in this way. What happens while they wait comes to
//! them with the news; they read the log for what was there before, and where they are behind.

use std::{collections::VecDeque, sync::Arc};

use bridge_program::{LARGE, Room, outgoing};

use crate::{
    caller::Caller,
    store::{Seq, Store, StoreError, StoredEvent, Watch},
};

/// How many events are read at a time: at first, and at most.
const FIRST: usize = 4;
const PAGE: usize = 256;

/// Gives a task's events one by one, those that are there and then those that come.
#[derive(Debug)]
pub struct Follower {
    store: Arc<dyn Store>,
    caller: Caller,
    task: String,
    seen: Seq,
    read: VecDeque<StoredEvent>,
    watch: Option<Watch>,
    /// How many events are read next.
    page_size: usize,
    /// Whether it is read for somebody who may take long to take it.
    is_slow_reader: bool,
    /// What is kept for that reader.
    outgoing_room: Option<Room>,
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
            page_size: FIRST,
            is_slow_reader: false,
            outgoing_room: None,
        }
    }

    /// The same for a reader who may take long to take what is read: at most one page is read ahead, and a
    /// large one has its [`Room`] among the answers that are being sent until the next event is asked for.
    #[must_use]
    pub fn for_slow_reader(mut self) -> Self {
        self.is_slow_reader = true;
        self
    }

    /// The next event; waits for it. `None` when the store is closed.
    ///
    /// # Errors
    /// Those of reading.
    pub async fn next(&mut self) -> Result<Option<StoredEvent>, StoreError> {
        loop {
            if let Some(stored) = self.read.pop_front() {
                self.seen = stored.seq;
                return Ok(Some(stored));
            }
            self.outgoing_room = None;
            if !self.wait_for_news().await? {
                return Ok(None);
            }
            match self.pushed_events() {
                Some(events) => self.queue_events(&events),
                None => {
                    let page = self.read_page().await?;
                    self.read.extend(page);
                }
            }
        }
    }

    /// Begins to listen, so that what happens from now on need not be read from the log.
    ///
    /// # Errors
    /// Those of reading.
    pub(crate) async fn listen(&mut self) -> Result<(), StoreError> {
        self.watch().await.map(|_| ())
    }

    /// What came with the news, if that goes on where was read last.
    fn pushed_events(&mut self) -> Option<Arc<[StoredEvent]>> {
        self.watch.as_mut()?.events(self.seen)
    }

    /// What others were told too is copied, since readers change what they show.
    fn queue_events(&mut self, events: &[StoredEvent]) {
        let later = events.iter().filter(|stored| stored.seq > self.seen);
        self.read.extend(later.cloned());
    }

    /// Whether the log holds more than was given, as far as was told: then [`Follower::next`] does not wait for news.
    ///
    /// # Errors
    /// Those of reading.
    pub(crate) async fn has_more(&mut self) -> Result<bool, StoreError> {
        let (seen, is_read_ahead) = (self.seen, !self.read.is_empty());
        Ok(is_read_ahead || self.watch().await?.seq() > seen)
    }

    /// The same without asking the store: true also of one that was never asked for news.
    pub(crate) fn has_news(&self) -> bool {
        let watch = self.watch.as_ref();
        !self.read.is_empty() || watch.is_none_or(|watch| watch.seq() > self.seen)
    }

    /// The number of the last event that it gave.
    pub(crate) fn seen(&self) -> Seq {
        self.seen
    }

    /// The next events. How large they are is known once they are read: if there is no room for them, they
    /// are read again when there is.
    async fn read_page(&mut self) -> Result<Vec<StoredEvent>, StoreError> {
        let reading = match self.is_slow_reader {
            true => outgoing().reading(&self.task).await,
            false => None,
        };
        let page = self.read().await?;
        let size = page.iter().map(|stored| stored.event.size()).sum();
        self.page_size = match size {
            0..LARGE => PAGE.min(2 * self.page_size),
            _ => (self.page_size / 2).max(1),
        };
        if !self.is_slow_reader || size < LARGE {
            return Ok(page);
        }
        outgoing().remember(&self.task);
        self.outgoing_room = outgoing().room_now(size);
        if self.outgoing_room.is_some() {
            return Ok(page);
        }
        drop((page, reading));
        self.outgoing_room = outgoing().room(size).await;
        self.read().await
    }

    async fn read(&self) -> Result<Vec<StoredEvent>, StoreError> {
        let Self { caller, task, .. } = self;
        self.store
            .read(caller, task, self.seen, self.page_size)
            .await
    }

    /// Waits until the log holds more than was seen; false when there will be no more.
    async fn wait_for_news(&mut self) -> Result<bool, StoreError> {
        let seen = self.seen;
        Ok(self.watch().await?.after(seen).await.is_some())
    }

    async fn watch(&mut self) -> Result<&mut Watch, StoreError> {
        Ok(match &mut self.watch {
            Some(watch) => watch,
            none => {
                let watch = self.store.watch(&self.caller, &self.task).await?;
                none.insert(watch.with_events())
            }
        })
    }
}
