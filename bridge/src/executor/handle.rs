//! How an agent changes its task: while its turn runs, and afterwards.

use std::{
    collections::BTreeSet,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use bridge_protocol::a2a::Metadata;

use super::Update;
use crate::{
    clock,
    store::{Append, Event, Head, Seq, Store, StoreError, StoredEvent, TurnState},
};

/// How often an append is tried again after somebody else's came first.
const ATTEMPTS: usize = 64;

/// The right to change one task. It may be kept for longer than the turn: a bot may have something to
/// say later.
#[derive(Clone, Debug)]
pub struct TaskHandle {
    store: Arc<dyn Store>,
    /// The task when the handle was made, of which the ids never change.
    task: Arc<Head>,
    known: Arc<Mutex<Arc<Head>>>,
    /// The artifacts of which this handle knows that the task has them.
    begun: Arc<Mutex<BTreeSet<String>>>,
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
    /// For the task with this head.
    pub(crate) fn new(store: Arc<dyn Store>, head: Arc<Head>) -> Self {
        Self {
            store,
            known: Arc::new(Mutex::new(Arc::clone(&head))),
            begun: Arc::default(),
            task: head,
        }
    }

    /// The task's id.
    pub fn task_id(&self) -> &str {
        &self.task.task
    }

    /// The id of the task's context.
    pub fn context_id(&self) -> &str {
        &self.task.context_id
    }

    /// Logs changes, all or none. They are durable, and shown to every reader, when this returns.
    ///
    /// # Errors
    /// [`EmitError::Ended`] if the task is terminal.
    pub async fn emit(&self, updates: Vec<Update>) -> Result<(), EmitError> {
        if updates.is_empty() {
            return Ok(());
        }
        let mut events = self.events(updates);
        self.begin(&mut events).await?;
        self.append(|_| Some(events.clone())).await.map(|_| ())
    }

    /// Makes changes as they are to be logged: the first piece of an artifact begins it, whatever its executor
    /// says. Readers refuse or drop a piece that is added to nothing. It may be done again.
    pub(crate) async fn begin(&self, events: &mut [Event]) -> Result<(), EmitError> {
        for event in events {
            if let Event::Artifact {
                artifact, append, ..
            } = event
            {
                *append = *append && self.has_begun(&artifact.artifact_id).await?;
                lock(&self.begun).insert(artifact.artifact_id.clone());
            }
        }
        Ok(())
    }

    async fn has_begun(&self, artifact: &str) -> Result<bool, EmitError> {
        if lock(&self.begun).contains(artifact) {
            return Ok(true);
        }
        // Another turn, or another handle, may have begun it.
        let Head { owner, task, .. } = &*self.task;
        let found = self.store.task(owner, task).await;
        let artifacts = &found.map_err(EmitError::Store)?.task.artifacts;
        Ok(artifacts.iter().any(|one| one.artifact_id == artifact))
    }

    /// Logs that an agent outside of this process is known to have the message of a turn: only then is the turn left
    /// open when the bridge is restarted.
    ///
    /// # Errors
    /// Those of [`TaskHandle::emit`].
    pub async fn record_arrival(&self, turn: u64, reference: Metadata) -> Result<(), EmitError> {
        let arrived = |head: &Head| {
            let open = head.turns.iter().find(|one| one.turn == turn)?;
            match open.state {
                TurnState::Started {
                    open_until,
                    reference: None,
                } => Some(vec![Event::TurnStarted {
                    turn,
                    open_until,
                    reference: Some(reference.clone()),
                }]),
                TurnState::Queued | TurnState::Started { .. } => None,
            }
        };
        self.append(arrived).await.map(|_| ())
    }

    pub(crate) fn events(&self, updates: Vec<Update>) -> Vec<Event> {
        let event = |update: Update| update.into_event(self.task_id(), self.context_id());
        updates.into_iter().map(event).collect()
    }

    /// The newest head that this handle knows of; others may have written since.
    pub(crate) fn known(&self) -> Arc<Head> {
        Arc::clone(&lock(&self.known))
    }

    /// Appends what `events` makes of the task's head, again if somebody else's append came first, and
    /// answers with the head after it. Nothing is appended if it makes nothing.
    pub(crate) async fn append(
        &self,
        events: impl Fn(&Head) -> Option<Vec<Event>> + Send,
    ) -> Result<Option<Arc<Head>>, EmitError> {
        // Mostly nobody else writes, so what is known is tried before the head is read.
        let mut head = self.known();
        for _ in 0..ATTEMPTS {
            let Some(events) = events(&head) else {
                let newest = self.read().await?;
                if newest.seq == head.seq {
                    return Ok(None);
                }
                head = newest;
                continue;
            };
            let append = Append {
                task: head.task.clone(),
                expected: head.seq,
                time: clock::now(),
                events,
            };
            match self.store.append(&head.owner, append).await {
                Ok(after) => {
                    *lock(&self.known) = Arc::clone(&after);
                    return Ok(Some(after));
                }
                Err(StoreError::Conflict { .. }) => head = self.read().await?,
                Err(StoreError::Ended { task }) => return Err(EmitError::Ended { task }),
                Err(error) => return Err(EmitError::Store(error)),
            }
        }
        Err(EmitError::Store(StoreError::Conflict {
            task: head.task.clone(),
            expected: head.seq,
            actual: head.seq,
        }))
    }

    /// The events after `after`, oldest first, at most `limit`.
    pub(crate) async fn log(
        &self,
        after: Seq,
        limit: usize,
    ) -> Result<Vec<StoredEvent>, StoreError> {
        let Head { owner, task, .. } = &*self.task;
        self.store.read(owner, task, after, limit).await
    }

    /// The head as it stands.
    pub(crate) async fn read(&self) -> Result<Arc<Head>, EmitError> {
        let head = self.store.head(&self.task.owner, &self.task.task).await;
        head.map_err(EmitError::Store)
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
