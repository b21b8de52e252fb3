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

    /// What streams show of an event that was taken note of.
    pub(crate) async fn project(
        &mut self,
        seq: Seq,
        event: Event,
        context_id: &str,
    ) -> Result<Option<StreamResponse>, StoreError> {
        let mut status = TaskStatus::new(TaskState::Unspecified);
        if let Event::Metadata {
            revised: Some(_), ..
        } = &event
        {
            status.clone_from(&self.task(seq).await?.status);
        }
        let (task, context_id) = (self.task.clone(), context_id.to_owned());
        Ok(event.into_stream_response(task, context_id, &status))
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
