//! What those who read a task's log are shown of it, and the task as it stood.

use std::sync::Arc;

use bridge_protocol::a2a::{StreamResponse, Task, TaskState, TaskStatus};

use crate::{
    caller::Caller,
    store::{Event, Seq, Snapshot, Store, StoreError, StoredEvent},
};

/// How many events of a log are read at a time.
const PAGE: usize = 256;

/// Shows events one after the other. The task as it stands is kept from when it is first needed.
#[derive(Debug)]
pub(crate) struct EventProjection {
    store: Arc<dyn Store>,
    caller: Caller,
    task: String,
    snapshot: Option<Snapshot>,
}

impl EventProjection {
    pub(crate) fn new(store: Arc<dyn Store>, caller: Caller, task: String) -> Self {
        Self {
            store,
            caller,
            task,
            snapshot: None,
        }
    }

    /// Takes note of the next event. Whoever reads on calls it for each, shown or not.
    pub(crate) fn observe(&mut self, stored: &StoredEvent) {
        if let Some(snapshot) = &mut self.snapshot {
            snapshot.apply(stored.clone());
        }
    }

    /// The task that an event which was taken note of is shown with: most are shown without.
    pub(crate) async fn needed_task(
        &mut self,
        seq: Seq,
        event: &Event,
    ) -> Result<Option<Arc<Task>>, StoreError> {
        match event {
            // On the heap, for it is rare.
            Event::Metadata {
                revised: Some(_), ..
            } => Box::pin(self.task(seq)).await.map(Some),
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

    /// What streams show of an event, with the task that it needs.
    pub(crate) fn project(
        &self,
        event: Event,
        context_id: &str,
        needed: Option<&Task>,
    ) -> Option<StreamResponse> {
        let unknown = || TaskStatus::new(TaskState::Unspecified);
        let status = needed.map_or_else(unknown, |task| task.status.clone());
        event.into_stream_response(self.task.clone(), context_id.to_owned(), &status)
    }

    /// The task after an event that was taken note of.
    pub(crate) async fn task(&mut self, seq: Seq) -> Result<Arc<Task>, StoreError> {
        let snapshot = match &mut self.snapshot {
            Some(snapshot) => snapshot,
            none => none.insert(snapshot_at(&*self.store, &self.caller, &self.task, seq).await?),
        };
        Ok(Arc::clone(&snapshot.task))
    }
}

/// The task as it stood after an event: what the store shows now, if that is just it, or else the log applied
/// up to there.
pub(crate) async fn snapshot_at(
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
    let mut snapshot = Snapshot::empty(&head);
    while snapshot.seq < seq {
        let page = store.read(caller, task, snapshot.seq, PAGE).await?;
        if page.is_empty() {
            break;
        }
        page.into_iter()
            .filter(|one| one.seq <= seq)
            .for_each(|one| snapshot.apply(one));
    }
    Ok(snapshot)
}
