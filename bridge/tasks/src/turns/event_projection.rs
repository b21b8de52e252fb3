//! Converts log entries to the items that streams and webhooks show, and computes a task as of an earlier event.

use std::sync::Arc;

use bridge_protocol::a2a::{StreamResponse, Task, TaskState, TaskStatus};

use bridge_translate::{events, question};

use crate::{
    caller::Caller,
    store::{Event, Seq, Snapshot, Store, StoreError, StoredEvent, backend::CachedTask},
};

/// The number of events that are read at a time.
const PAGE: usize = 256;

/// Converts the events of one task in order. The task is read when it is first needed, and then kept up to date.
#[derive(Debug)]
pub struct EventProjection {
    store: Arc<dyn Store>,
    caller: Caller,
    task: String,
    snapshot: Option<Snapshot>,
}

impl EventProjection {
    /// Creates the projection of a task's events for its caller.
    pub fn new(store: Arc<dyn Store>, caller: Caller, task: String) -> Self {
        Self {
            store,
            caller,
            task,
            snapshot: None,
        }
    }

    /// Records the next event. It must be called for every event, shown or not.
    pub fn observe(&mut self, stored: &StoredEvent) {
        if let Some(snapshot) = &mut self.snapshot {
            snapshot.apply(stored.clone());
        }
    }

    /// Returns the task that is needed to convert an event that was observed; `None` for most events.
    pub async fn needed_task(
        &mut self,
        seq: Seq,
        event: &Event,
    ) -> Result<Option<Arc<Task>>, StoreError> {
        match event {
            // Boxed because it is rarely needed.
            Event::Metadata {
                revised: Some(_), ..
            } => Box::pin(self.task(seq)).await.map(Some),
            Event::Status { status, .. } if is_with_others(status) => {
                Box::pin(self.task(seq)).await.map(Some)
            }
            Event::Metadata {
                metadata,
                revised: None,
            } if events::reported(metadata).is_some() => Box::pin(self.task(seq)).await.map(Some),
            Event::Metadata { revised: None, .. }
            | Event::Created(_)
            | Event::Message(_)
            | Event::Said(_)
            | Event::TurnQueued { .. }
            | Event::TurnStarted { .. }
            | Event::TurnEnded { .. }
            | Event::Status { .. }
            | Event::Artifact { .. } => Ok(None),
        }
    }

    /// Returns the stream item for an event, given the task if it is needed; `None` if streams do not show the event.
    pub fn project(
        &self,
        event: Event,
        context_id: &str,
        needed: Option<&Arc<Task>>,
    ) -> Option<StreamResponse> {
        let shown = needed.map(|task| question::joined(Arc::clone(task)));
        let unknown = || TaskStatus::new(TaskState::Unspecified);
        let status = shown.map_or_else(unknown, |task| task.status.clone());
        let event = match event {
            Event::Status {
                metadata,
                status: asked,
            } if is_with_others(&asked) => Event::Status {
                status: status.clone(),
                metadata,
            },
            other => other,
        };
        event.into_stream_response(self.task.clone(), context_id.to_owned(), &status)
    }

    /// Returns the task as of an observed event, in the form for its caller.
    pub async fn shown_task(&mut self, seq: Seq) -> Result<Arc<Task>, StoreError> {
        self.task(seq).await.map(question::joined)
    }

    /// Returns the task as of an event that was observed.
    async fn task(&mut self, seq: Seq) -> Result<Arc<Task>, StoreError> {
        let snapshot = match &mut self.snapshot {
            Some(snapshot) => snapshot,
            none => none.insert(snapshot_at(&*self.store, &self.caller, &self.task, seq).await?),
        };
        Ok(Arc::clone(&snapshot.task))
    }
}

/// Returns whether the status has a question that is shown with other messages.
fn is_with_others(status: &TaskStatus) -> bool {
    status.message.as_ref().is_some_and(question::has_others)
}

/// Returns the task as of an event: from the store if that is the task's last event, otherwise from the log.
pub async fn snapshot_at(
    store: &dyn Store,
    caller: &Caller,
    task: &str,
    seq: Seq,
) -> Result<Snapshot, StoreError> {
    let now = store.task(caller, task).await?;
    if now.seq == seq {
        return Ok(now);
    }
    let head = store.head(caller, task).await?;
    let mut replayed = CachedTask::empty(&head);
    while replayed.snapshot.seq < seq {
        let page = store
            .read(caller, task, replayed.snapshot.seq, PAGE)
            .await?;
        if page.is_empty() {
            break;
        }
        page.into_iter()
            .filter(|one| one.seq <= seq)
            .for_each(|one| replayed.add(one));
    }
    Ok(replayed.snapshot)
}
