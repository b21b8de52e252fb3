//! Changes a task on behalf of its agent, during a turn and afterwards.

use std::{
    collections::BTreeSet,
    sync::{
        Arc, Mutex, OnceLock,
        atomic::{AtomicUsize, Ordering},
    },
};

use bridge_program::lock;
use bridge_protocol::a2a::{Metadata, Task};
use tokio::task::AbortHandle;

use super::{Update, validity};
use crate::{
    clock,
    log_reader::LogReader,
    store::{Append, Event, Head, ListQuery, Store, StoreError, TurnState},
};

/// The number of attempts when others append to the same task.
const ATTEMPTS: usize = 64;

/// Permits changes of one task. It may be kept after the turn, for later messages of the agent.
#[derive(Clone, Debug)]
pub struct TaskHandle {
    store: Arc<dyn Store>,
    /// The task's head when the handle was created; its ids never change.
    task: Arc<Head>,
    known: Arc<Mutex<Arc<Head>>>,
    /// The known artifacts of the task.
    begun: Arc<Mutex<BTreeSet<String>>>,
    /// The output that the agent may still add in its turn; `None` outside of a turn.
    output: Option<Arc<OutputBudget>>,
}

/// Artifacts that are no longer known to have begun when this is dropped.
struct Forgotten<'h>(&'h Mutex<BTreeSet<String>>);

impl Drop for Forgotten<'_> {
    fn drop(&mut self) {
        lock(self.0).clear();
    }
}

/// The reason why a change was refused.
#[derive(Debug, thiserror::Error)]
#[expect(missing_docs, reason = "the messages say what the fields are")]
pub enum EmitError {
    /// The task has ended: it was completed or canceled, its turn took too long, or an operator deleted it.
    #[error("task {task} has ended")]
    Ended { task: String },
    /// The store failed.
    #[error("the task log failed: {0}")]
    Store(StoreError),
}

impl From<StoreError> for EmitError {
    fn from(error: StoreError) -> Self {
        match error {
            StoreError::Ended { task } | StoreError::NotFound { task } => Self::Ended { task },
            error => Self::Store(error),
        }
    }
}

impl TaskHandle {
    /// Creates a handle for the task with this head.
    pub fn new(store: Arc<dyn Store>, head: Arc<Head>) -> Self {
        Self {
            store,
            known: Arc::new(Mutex::new(Arc::clone(&head))),
            begun: Arc::default(),
            output: None,
            task: head,
        }
    }

    /// Limits the bytes that an agent may add with this handle.
    pub(crate) fn within(self, limit: usize) -> Self {
        Self { output: Some(Arc::new(OutputBudget::new(limit))), ..self }
    }

    /// Returns the rest of the output that the agent may add, if it is limited.
    pub(crate) fn output(&self) -> Option<&Arc<OutputBudget>> {
        self.output.as_ref()
    }

    /// Returns the task's id.
    pub fn task_id(&self) -> &str {
        &self.task.task
    }

    /// Returns the id of the task's context.
    pub fn context_id(&self) -> &str {
        &self.task.context_id
    }

    /// Logs changes, all or none. When this function returns, they are durable and visible to every reader.
    ///
    /// # Errors
    /// Returns [`EmitError::Ended`] if the task is in a terminal state, [`StoreError::Invalid`] if a change has an
    /// artifact without an id or a state that A2A does not have, and [`StoreError::TooLarge`] if the agent has exceeded
    /// its output limit; then the turn fails.
    pub async fn emit(&self, updates: Vec<Update>) -> Result<(), EmitError> {
        if updates.is_empty() {
            return Ok(());
        }
        validity::check(&updates).map_err(|error| {
            EmitError::Store(StoreError::Invalid {
                task: self.task_id().to_owned(),
                reason: error.to_string(),
            })
        })?;
        let mut events = self.events(updates);
        if let Some(output) = &self.output
            && let Err(error) = output.take(self.task_id(), &events)
        {
            // An agent that retries without end is stopped here too.
            tokio::task::yield_now().await;
            return Err(EmitError::Store(error));
        }
        // If it remains unknown whether the events are logged, only the log says which artifacts have begun.
        let forgotten = Forgotten(&self.begun);
        self.begin(&mut events).await?;
        self.append(|_| Some(events.clone())).await?;
        std::mem::forget(forgotten);
        Ok(())
    }

    /// Makes the first piece of an artifact replace and not append, whatever the executor has set, because readers
    /// refuse or drop a piece that is appended to nothing. May be called repeatedly.
    pub(crate) async fn begin(&self, events: &mut [Event]) -> Result<(), EmitError> {
        for event in events {
            if let Event::Artifact { artifact, append, .. } = event {
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
        // Another turn or another handle may have created the artifact.
        let Head { owner, task, .. } = &*self.task;
        let artifacts = &self.store.task(owner, task).await?.task.artifacts;
        Ok(artifacts.iter().any(|one| one.artifact_id == artifact))
    }

    /// Logs that an agent outside of this process has received the message of a turn. Only then does the turn stay
    /// open over a restart of the bridge.
    ///
    /// # Errors
    /// The errors of [`TaskHandle::emit`].
    pub async fn record_arrival(&self, turn: u64, reference: Metadata) -> Result<(), EmitError> {
        let arrived = |head: &Head| {
            let open = head.turns.iter().find(|one| one.turn == turn)?;
            match open.state {
                TurnState::Started { open_until, reference: None } => {
                    Some(vec![Event::TurnStarted {
                        turn,
                        open_until,
                        reference: Some(reference.clone()),
                    }])
                }
                TurnState::Queued | TurnState::Started { .. } => None,
            }
        };
        self.append(arrived).await.map(|_| ())
    }

    /// Returns the events for these updates of the task. Updates after the end of the task are left out, because
    /// nothing can follow the end: the store would refuse the end too.
    pub fn events(&self, mut updates: Vec<Update>) -> Vec<Event> {
        let end = updates.iter().position(Update::ends_task);
        if let Some(end) = end.filter(|end| end + 1 < updates.len()) {
            let dropped = updates.len() - end - 1;
            tracing::warn!(
                task = self.task_id(),
                dropped,
                "the agent continued after the end of its task"
            );
            updates.truncate(end + 1);
        }
        let event = |update: Update| update.into_event(self.task_id(), self.context_id());
        updates.into_iter().map(event).collect()
    }

    /// Returns the newest known head; others may have written since.
    pub fn known(&self) -> Arc<Head> {
        Arc::clone(&lock(&self.known))
    }

    /// Appends the events that the function returns for the task's head, retries if others have appended first, and
    /// returns the new head. If the function returns `None`, nothing is appended.
    ///
    /// # Errors
    /// If the task has ended, the store fails, or others append before each of several attempts.
    pub async fn append(
        &self,
        events: impl Fn(&Head) -> Option<Vec<Event>> + Send,
    ) -> Result<Option<Arc<Head>>, EmitError> {
        // Usually no other process writes, so the known head is tried before the head is read.
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
            let append =
                Append { task: head.task.clone(), expected: head.seq, time: clock::now(), events };
            match self.store.append(&head.owner, append).await {
                Ok(after) => {
                    *lock(&self.known) = Arc::clone(&after);
                    return Ok(Some(after));
                }
                Err(StoreError::Conflict { .. }) => head = self.read().await?,
                Err(error) => return Err(error.into()),
            }
        }
        Err(EmitError::Store(StoreError::Conflict {
            task: head.task.to_string(),
            expected: head.seq,
            actual: head.seq,
        }))
    }

    /// Returns a reader of all events of the task.
    pub(crate) fn log(&self) -> LogReader<'_> {
        LogReader::after(0, &*self.store, &self.task.owner, &self.task.task)
    }

    /// Returns the newest tasks of this caller in the task's context, except for the task itself, at most `limit`: those with
    /// the oldest status first.
    ///
    /// # Errors
    /// Returns [`EmitError::Store`] if they cannot be read.
    pub async fn earlier_tasks(&self, limit: usize) -> Result<Vec<Arc<Task>>, EmitError> {
        let Head { owner, agent, context_id, task, .. } = &*self.task;
        let query = ListQuery {
            context_id: Some(context_id.to_string()),
            // The number of all of them is not needed.
            known_total: Some(0),
            page_size: limit.saturating_add(1),
            ..ListQuery::of(&**agent)
        };
        let page = self.store.list(owner, &query).await.map_err(EmitError::Store)?;
        let others = page.tasks.into_iter().map(|one| one.task).filter(|one| *one.id != **task);
        let mut tasks: Vec<_> = others.take(limit).collect();
        tasks.reverse();
        Ok(tasks)
    }

    /// Reads the current head.
    ///
    /// # Errors
    /// [`EmitError::Ended`] if the task was deleted, [`EmitError::Store`] if it cannot be read.
    pub async fn read(&self) -> Result<Arc<Head>, EmitError> {
        Ok(self.store.head(&self.task.owner, &self.task.task).await?)
    }
}

/// The output that an agent may still add in one turn. An agent that never stops fills neither memory nor disk.
#[derive(Debug)]
pub(crate) struct OutputBudget {
    limit: usize,
    used: AtomicUsize,
    /// The agent's work, which ends when the limit is exceeded.
    working: OnceLock<AbortHandle>,
}

impl OutputBudget {
    /// Creates a budget of this many bytes.
    fn new(limit: usize) -> Self {
        Self { limit, used: AtomicUsize::new(0), working: OnceLock::new() }
    }

    /// Sets the work that ends when the agent exceeds the limit.
    pub(crate) fn watch(&self, working: AbortHandle) {
        let _ = self.working.set(working);
        if self.is_exceeded() {
            self.abort();
        }
    }

    /// Takes the size of these events from the budget. After events that did not fit, all others are refused too.
    pub(crate) fn take(&self, task: &str, events: &[Event]) -> Result<(), StoreError> {
        let bytes = events.iter().map(Event::size).sum::<usize>();
        let before = self.used.fetch_add(bytes, Ordering::SeqCst);
        let (size, limit) = (before.saturating_add(bytes), self.limit);
        if size <= limit {
            return Ok(());
        }
        self.abort();
        Err(StoreError::TooLarge {
            what: format!("the agent's output for one message of task {task}"),
            size,
            limit,
        })
    }

    /// Returns whether the agent has exceeded the limit.
    pub(crate) fn is_exceeded(&self) -> bool {
        self.used.load(Ordering::SeqCst) > self.limit
    }

    fn abort(&self) {
        if let Some(working) = self.working.get() {
            working.abort();
        }
    }
}
