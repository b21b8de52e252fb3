//! What the disk did not keep.

use std::{fmt, ops::Range};

use crate::caller::Caller;

/// How much is damaged, as far as it is known.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Damage {
    /// Tasks that were found damaged since the store was opened.
    pub tasks: usize,
    /// Bytes of the log that are missing or broken.
    pub bytes: u64,
}

/// What a look at all of a store has found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StoreReport {
    /// How many tasks there are.
    pub tasks: usize,
    /// Those that cannot be read.
    pub damaged: Vec<DamagedTask>,
    /// The positions of the log that are missing or broken.
    pub lost: Vec<Range<u64>>,
    /// How many small records, such as push settings, cannot be read.
    pub records: usize,
}

/// A task that cannot be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DamagedTask {
    /// The task.
    pub task: String,
    /// To whom it belongs.
    pub owner: Caller,
    /// What is wrong with it.
    pub reason: String,
}

impl StoreReport {
    /// Whether nothing is damaged.
    pub fn is_whole(&self) -> bool {
        self.damaged.is_empty() && self.lost.is_empty() && self.records == 0
    }
}

impl fmt::Display for StoreReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for one in &self.damaged {
            writeln!(f, "damaged: task {}: {}", one.task, one.reason)?;
        }
        for Range { start, end } in &self.lost {
            writeln!(
                f,
                "lost: {} bytes of the log from position {start} on",
                end - start
            )?;
        }
        if self.records > 0 {
            writeln!(f, "damaged: {} small records", self.records)?;
        }
        write!(
            f,
            "{} tasks, {} of them damaged",
            self.tasks,
            self.damaged.len()
        )
    }
}
