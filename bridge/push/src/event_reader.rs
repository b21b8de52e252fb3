//! Reads a task's log for one setting, and converts each event to the notification that is delivered.

use std::sync::Arc;

use bridge_protocol::{a2a::StreamResponse, dialect::Version};

use crate::{
    caller::Caller,
    store::{Event, Head, Result, Seq, Store, StoredEvent},
    turns::Follower,
};

/// One event in the form in which it is delivered.
#[derive(Clone, Debug)]
pub(super) struct Notification {
    /// The task's id, as its owner knows it.
    pub(super) task: String,
    /// The event's number in the log.
    pub(super) seq: Seq,
    /// The content.
    pub(super) response: StreamResponse,
    /// Whether the task ends with this event.
    pub(super) is_last: bool,
    /// The span of the last turn's message.
    pub(super) traceparent: Option<Arc<str>>,
}

/// Reads the events of a task, starting at a position in its log.
#[derive(Debug)]
pub(super) struct EventReader {
    follower: Follower,
    head: Arc<Head>,
    version: Version,
    traceparent: Option<Arc<str>>,
}

impl EventReader {
    /// Opens a reader of the events after `seen`, for a client that uses this version.
    pub(super) async fn open(
        store: &Arc<dyn Store>,
        caller: &Caller,
        task: &str,
        seen: Seq,
        version: Version,
    ) -> Result<Self> {
        let head = store.head(caller, task).await?;
        Ok(Self {
            follower: Follower::new(store.clone(), caller.clone(), task.to_owned(), seen),
            traceparent: head.traceparent.clone(),
            head,
            version,
        })
    }

    /// Returns the next event in the log; `None` if there is no further one yet, or the store is closed.
    pub(super) async fn next(&mut self) -> Result<Option<Notification>> {
        while self.follower.has_more().await? {
            let Some(stored) = self.follower.next().await? else {
                break;
            };
            if let Some(notification) = self.notification(stored).await? {
                return Ok(Some(notification));
            }
        }
        Ok(None)
    }

    /// Returns the number of the last event that was read.
    pub(super) fn seen(&self) -> Seq {
        self.follower.seen()
    }

    /// Returns whether the log is known to hold events that were not read yet.
    pub(super) fn has_news(&self) -> bool {
        self.follower.has_news()
    }

    async fn notification(&mut self, stored: StoredEvent) -> Result<Option<Notification>> {
        let StoredEvent { seq, event, .. } = stored;
        if let Event::TurnQueued { traceparent, .. } = &event {
            self.traceparent.clone_from(traceparent);
        }
        let is_last = matches!(&event, Event::Status { status, .. } if status.state.is_terminal());
        let needed = self.follower.needed_task(&event).await?;
        let context = &self.head.context_id;
        let Some(response) = self.follower.project(event, context, needed.as_ref()) else {
            return Ok(None);
        };
        let (task, response) = match self.version {
            Version::V1_0 => (self.head.task.to_string(), response),
            Version::V0_3 | Version::V0_1 => self.last_task().await?,
        };
        Ok(Some(Notification {
            task,
            seq,
            response,
            is_last,
            traceparent: self.traceparent.clone(),
        }))
    }

    /// Returns the task after the last event, under the id that its owner chose for it (A2A 0.1).
    async fn last_task(&mut self) -> Result<(String, StreamResponse)> {
        let mut task = Arc::unwrap_or_clone(self.follower.shown_task().await?);
        if let (Version::V0_1, Some(own)) = (self.version, &self.head.client_id) {
            task.id = own.to_string();
        }
        Ok((task.id.clone(), StreamResponse::Task(task)))
    }
}
