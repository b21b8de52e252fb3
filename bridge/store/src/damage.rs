//! Damaged data on the disk: the known damaged tasks, and reports.

use std::{collections::BTreeMap, fmt, ops::Range, sync::Mutex};

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

/// The amount of damaged data, as far as it is known.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Damage {
    /// The number of tasks that were found damaged since the store was opened.
    pub tasks: usize,
    /// The number of bytes of the log that are missing or damaged.
    pub bytes: u64,
}

/// The result of checking a whole store.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StoreReport {
    /// The number of tasks.
    pub tasks: usize,
    /// The tasks that cannot be read.
    pub damaged: Vec<DamagedTask>,
    /// The ranges of the log that are missing or damaged.
    pub lost: Vec<Range<u64>>,
    /// The number of small records, such as push settings, that cannot be read.
    pub records: usize,
}

/// A task that cannot be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DamagedTask {
    /// The task's id.
    pub task: String,
    /// The reason why the task cannot be read.
    pub reason: String,
}

impl StoreReport {
    /// Returns whether nothing is damaged.
    pub fn is_intact(&self) -> bool {
        self.damaged.is_empty() && self.lost.is_empty() && self.records == 0
    }
}

impl fmt::Display for StoreReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for one in &self.damaged {
            writeln!(f, "damaged: task {}: {}", one.task, one.reason)?;
        }
        for Range { start, end } in &self.lost {
            writeln!(f, "lost: {} bytes of the log from position {start} on", end - start)?;
        }
        if self.records > 0 {
            writeln!(f, "damaged: {} small records", self.records)?;
        }
        write!(f, "{} tasks, {} of them damaged", self.tasks, self.damaged.len())
    }
}
