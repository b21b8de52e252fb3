//! How an agent changes its task: while its turn runs, and afterwards.

use std::sync::Arc;

use super::Update;
use crate::{
    caller::Caller,
    clock,
    store::{Append, Event, Seq, Store, StoreError},
};

/// How often an append is tried again after somebody else's came first.
const ATTEMPTS: usize = 64;

/// The right to change one task. It may be kept for longer than the turn: a bot may have something to
/// say later.
#[derive(Clone, Debug)]
pub struct TaskHandle {
    store: Arc<dyn Store>,
    caller: Caller,
    task: String,
    context: String,
}

/// Why a change was refused.
#[derive(Debug, thiserror::Error)]
pub enum EmitError {
    /// The task has ended: it was completed, canceled, or its turn took too long.
    #[error("task {task} has ended")]
    Ended {
        /// The task.
        task: String,
    },
    /// The store failed.
    #[error("the task log failed: {0}")]
    Store(#[source] StoreError),
}

impl TaskHandle {
    pub(crate) fn new(
        store: Arc<dyn Store>,
        caller: Caller,
        task: String,
        context: String,
    ) -> Self {
        Self {
            store,
            caller,
            task,
            context,
        }
    }

    /// The task's id.
    pub fn task_id(&self) -> &str {
        &self.task
    }

    /// The id of the task's context.
    pub fn context_id(&self) -> &str {
        &self.context
    }

    /// Logs changes, all or none. They are durable, and shown to every reader, when this returns.
    ///
    /// # Errors
    /// [`EmitError::Ended`] if the task is terminal.
    pub async fn emit(&self, updates: Vec<Update>) -> Result<(), EmitError> {
        if updates.is_empty() {
            return Ok(());
        }
        let events = self.events(updates);
        self.append(|_| Some(events.clone())).await.map(|_| ())
    }

    pub(crate) fn events(&self, updates: Vec<Update>) -> Vec<Event> {
        let event = |update: Update| update.into_event(&self.task, &self.context);
        updates.into_iter().map(event).collect()
    }

    /// Appends what `events` makes of the task's head, again if somebody else's append came first.
    /// Nothing is appended if it makes nothing.
    pub(crate) async fn append(
        &self,
        events: impl Fn(&crate::store::Head) -> Option<Vec<Event>> + Send,
    ) -> Result<Option<Seq>, EmitError> {
        for _ in 0..ATTEMPTS {
            let head = self
                .store
                .head(&self.caller, &self.task)
                .await
                .map_err(EmitError::Store)?;
            let Some(events) = events(&head) else {
                return Ok(None);
            };
            let append = Append {
                task: self.task.clone(),
                expected: head.seq,
                time: clock::now(),
                events,
            };
            match self.store.append(&self.caller, append).await {
                Ok(seq) => return Ok(Some(seq)),
                Err(StoreError::Conflict { .. }) => {}
                Err(StoreError::Ended { task }) => return Err(EmitError::Ended { task }),
                Err(error) => return Err(EmitError::Store(error)),
            }
        }
        let head = self
            .store
            .head(&self.caller, &self.task)
            .await
            .map_err(EmitError::Store)?;
        Err(EmitError::Store(StoreError::Conflict {
            task: self.task.clone(),
            expected: head.seq,
            actual: head.seq,
        }))
    }
}
