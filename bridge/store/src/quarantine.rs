//! Records the damaged tasks that were found.

use std::{
    collections::BTreeMap,
    sync::{Mutex, MutexGuard, PoisonError},
};

/// The damaged tasks, with the reason for each. No events are appended to them. Each one is logged once.
#[derive(Debug, Default)]
pub struct Quarantine(Mutex<BTreeMap<String, String>>);

impl Quarantine {
    /// Adds a task. Returns the reason that was found first for it.
    pub fn add(&self, task: &str, reason: &str) -> String {
        let mut tasks = self.lock();
        let known = tasks.entry(task.to_owned()).or_insert_with(|| {
            tracing::error!(task, "a task is damaged, all others are served: {reason}");
            reason.to_owned()
        });
        known.clone()
    }

    /// Removes a task that was deleted.
    pub fn remove(&self, task: &str) {
        self.lock().remove(task);
    }

    /// Returns the reason for which a task is damaged.
    pub fn reason(&self, task: &str) -> Option<String> {
        self.lock().get(task).cloned()
    }

    /// Returns the number of damaged tasks.
    pub fn count(&self) -> usize {
        self.lock().len()
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<String, String>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
