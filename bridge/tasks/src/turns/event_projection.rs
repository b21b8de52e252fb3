//! Converts log entries to the items that streams and webhooks show, and computes a task as of an earlier event.

use std::sync::Arc;

use bridge_protocol::a2a::{StreamResponse, Task, TaskState, TaskStatus};
use bridge_translate::{events, question};

use super::Follower;
use crate::{
    caller::Caller,
    log_reader::LogReader,
    store::{Event, Result, Seq, Snapshot, Store, backend::CachedTask},
};

impl Follower {
    /// Returns the task that is needed to convert the event that [`next`](Self::next) has just returned; `None` for most
    /// events.
    ///
    /// # Errors
    /// Returns an error if the store cannot be read.
    pub async fn needed_task(&mut self, event: &Event) -> Result<Option<Arc<Task>>> {
        let is_needed = match event {
            Event::Metadata { revised: Some(_), .. } => true,
            Event::Metadata { metadata, revised: None } => events::reported(metadata).is_some(),
            Event::Status { status, .. } => is_with_others(status),
            _ => false,
        };
        match is_needed {
            // Boxed because it is rarely needed.
            true => Box::pin(self.current_task()).await.map(Some),
            false => Ok(None),
        }
    }

    /// Returns the stream item for an event, given the task if it is needed; `None` if streams do not show the event.
    pub fn project(
        &self,
        event: Event,
        context_id: &str,
        needed: Option<&Arc<Task>>,
    ) -> Option<StreamResponse> {
        let unknown = || TaskStatus::new(TaskState::Unspecified);
        let status = needed.map_or_else(unknown, |task| question::status(task));
        let event = match event {
            Event::Status { metadata, status: asked } if is_with_others(&asked) => {
                Event::Status { status: status.clone(), metadata }
            }
            other => other,
        };
        event.into_stream_response(self.task.to_string(), context_id.to_owned(), &status)
    }

    /// Returns the task as of the last event that was returned, in the form for its caller.
    ///
    /// # Errors
    /// Returns an error if the store cannot be read.
    pub async fn shown_task(&mut self) -> Result<Arc<Task>> {
        self.current_task().await.map(question::joined)
    }

    /// Returns the task as of the last event that was returned.
    async fn current_task(&mut self) -> Result<Arc<Task>> {
        let (store, caller) = (&*self.store, &self.caller);
        let snapshot = match &mut self.snapshot {
            Some(snapshot) => snapshot,
            none => match newest_snapshot(store, caller, &self.task, self.seen).await? {
                // The store has it in memory, and a copy that is kept up to date would cost as much as the task is long.
                Some(snapshot) => return Ok(snapshot.task),
                None => none.insert(replayed_snapshot(store, caller, &self.task, self.seen).await?),
            },
        };
        Ok(Arc::clone(&snapshot.task))
    }
}

/// Returns whether the status has a question that is shown with other messages.
fn is_with_others(status: &TaskStatus) -> bool {
    status.message.as_ref().is_some_and(question::has_others)
}

/// Returns the task as of an event: from the store if the task has not changed since, otherwise from the log.
///
/// # Errors
/// If the caller has no such task, or the store fails.
pub async fn snapshot_at(
    store: &dyn Store,
    caller: &Caller,
    task: &str,
    seq: Seq,
) -> Result<Snapshot> {
    match newest_snapshot(store, caller, task, seq).await? {
        Some(snapshot) => Ok(snapshot),
        None => replayed_snapshot(store, caller, task, seq).await,
    }
}

/// Returns the newest state of the task if it is also the state as of an event: a turn usually ends just after its last
/// change, and its end changes nothing else.
async fn newest_snapshot(
    store: &dyn Store,
    caller: &Caller,
    task: &str,
    seq: Seq,
) -> Result<Option<Snapshot>> {
    let now = store.task(caller, task).await?;
    if now.seq > seq {
        let mut later = LogReader::after(seq, store, caller, task);
        while let Some(stored) = later.next().await?.filter(|stored| stored.seq <= now.seq) {
            if stored.event.changes_task() {
                return Ok(None);
            }
        }
    }
    Ok(Some(Snapshot::new(now.task, now.agent, seq)))
}

/// Computes the task as of an event from the log.
async fn replayed_snapshot(
    store: &dyn Store,
    caller: &Caller,
    task: &str,
    seq: Seq,
) -> Result<Snapshot> {
    let head = store.head(caller, task).await?;
    let mut replayed = CachedTask::empty(&head);
    let mut log = LogReader::after(replayed.snapshot.seq, store, caller, task);
    while replayed.snapshot.seq < seq
        && let Some(stored) = log.next().await?
    {
        replayed.add(stored);
    }
    Ok(replayed.snapshot)
}

#[cfg(test)]
mod tests {
    use bridge_protocol::a2a::{Message, Part, Role};

    use super::*;
    use crate::store::{MemoryStore, testing::Sample};

    fn said(id: &str) -> Event {
        Event::Message(Message::new(id, Role::User, vec![Part::text(id)]))
    }

    #[tokio::test]
    async fn a_task_whose_turn_has_just_ended_is_not_computed_again() {
        let store = MemoryStore::new();
        let sample = Sample::new("t");
        sample.create(&store, 1).await;
        let seq = sample.then(&store, 2, said("m")).await;
        let then = store.task(&sample.caller, "t").await.unwrap().task;
        sample.then(&store, 3, Event::TurnEnded { turn: 1 }).await;
        let at = |seq| snapshot_at(&store, &sample.caller, "t", seq);
        let found = at(seq).await.unwrap();
        assert_eq!((found.seq, Arc::ptr_eq(&found.task, &then)), (seq, true));
        // A later change is left out.
        sample.then(&store, 4, said("later")).await;
        let found = at(seq).await.unwrap();
        assert_eq!((found.seq, &found.task), (seq, &then));
    }
}
