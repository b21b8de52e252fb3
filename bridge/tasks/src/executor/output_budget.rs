//! Limits what an agent may add to its task in one turn: an agent that never stops talking fills neither memory nor disk.

use std::sync::{
    OnceLock,
    atomic::{AtomicUsize, Ordering},
};

use tokio::task::AbortHandle;

use crate::store::{Event, StoreError};

/// What an agent may still say to one message.
#[derive(Debug)]
pub(crate) struct OutputBudget {
    limit: usize,
    used: AtomicUsize,
    /// The agent's work, which ends when it says too much.
    working: OnceLock<AbortHandle>,
}

impl OutputBudget {
    /// A budget of so many bytes.
    pub(crate) fn new(limit: usize) -> Self {
        Self {
            limit,
            used: AtomicUsize::new(0),
            working: OnceLock::new(),
        }
    }

    /// Names the work that ends when the agent says too much.
    pub(crate) fn watch(&self, working: AbortHandle) {
        let _ = self.working.set(working);
        if self.is_exceeded() {
            self.abort();
        }
    }

    /// Takes room for events of this task. After something that did not fit nothing does.
    ///
    /// # Errors
    /// `TooLarge`.
    pub(crate) fn take(&self, task: &str, events: &[Event]) -> Result<(), StoreError> {
        let bytes = events.iter().map(Event::size).sum::<usize>();
        let before = self.used.fetch_add(bytes, Ordering::SeqCst);
        let (size, limit) = (before.saturating_add(bytes), self.limit);
        if size <= limit {
            return Ok(());
        }
        self.abort();
        Err(StoreError::TooLarge {
            what: format!("what the agent of task {task} says to one message"),
            size,
            limit,
        })
    }

    /// Whether the agent has said too much.
    pub(crate) fn is_exceeded(&self) -> bool {
        self.used.load(Ordering::SeqCst) > self.limit
    }

    fn abort(&self) {
        if let Some(working) = self.working.get() {
            working.abort();
        }
    }
}
