//! Records the damaged tasks that were found.

use std::{collections::BTreeMap, sync::Mutex};

use bridge_program::lock;

/// The damaged tasks, with the reason for each. No events are appended to them. Each one is logged once.
#[derive(Debug, Default)]
pub struct Quarantine(Mutex<BTreeMap<String, String>>);

impl Quarantine {
    /// Adds a task. Returns the reason that was found first for it.
    pub fn add(&self, task: &str, reason: &str) -> String {
        let mut tasks = lock(&self.0);
        let known = tasks.entry(task.to_owned()).or_insert_with(|| {
            tracing::error!(task, "a task is damaged, all others are served: {reason}");
            reason.to_owned()
        });
        known.clone()
    }

    /// Removes a task that was deleted, or that can be read again.
    pub fn remove(&self, task: &str) {
        lock(&self.0).remove(task);
    }

    /// Returns the reason for which a task is damaged.
    pub fn reason(&self, task: &str) -> Option<String> {
        lock(&self.0).get(task).cloned()
    }

    /// Returns the number of damaged tasks.
    pub fn count(&self) -> usize {
        lock(&self.0).len()
    }
}
