//! Limits the output of an agent in one turn: an agent that never stops fills neither memory nor disk.

use std::sync::{
    OnceLock,
    atomic::{AtomicUsize, Ordering},
};

use tokio::task::AbortHandle;

use crate::store::{Event, Result, StoreError};

/// The output that an agent may still add in one turn.
#[derive(Debug)]
pub(crate) struct OutputBudget {
    limit: usize,
    used: AtomicUsize,
    /// The agent's work, which ends when the limit is exceeded.
    working: OnceLock<AbortHandle>,
}

impl OutputBudget {
    /// Creates a budget of this many bytes.
    pub(crate) fn new(limit: usize) -> Self {
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
    pub(crate) fn take(&self, task: &str, events: &[Event]) -> Result<()> {
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
