//! Tasks that were found damaged: they are not continued, and those who run the bridge are told of each once.

use std::{
    collections::BTreeMap,
    sync::{Mutex, MutexGuard, PoisonError},
};

/// What is wrong with each of them.
#[derive(Debug, Default)]
pub(super) struct Quarantine(Mutex<BTreeMap<String, String>>);

impl Quarantine {
    pub(super) fn add(&self, task: &str, reason: &str) {
        let mut damaged = self.lock();
        if !damaged.contains_key(task) {
            tracing::error!(task, "a task is damaged, all others are served: {reason}");
            damaged.insert(task.to_owned(), reason.to_owned());
        }
    }

    pub(super) fn reason(&self, task: &str) -> Option<String> {
        self.lock().get(task).cloned()
    }

    pub(super) fn len(&self) -> usize {
        self.lock().len()
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<String, String>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
