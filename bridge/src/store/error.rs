//! What a store answers instead of doing what it was asked.

use std::{fmt::Display, io, path::PathBuf};

use super::Seq;

/// Why a store did not do what it was asked. Fragments that fit behind "the store failed: ".
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// There is no such task, or it belongs to another caller: nobody is told which.
    #[error("task {task} not found")]
    NotFound {
        /// The task.
        task: String,
    },
    /// The task has other events than the writer knew of. Read them and decide again.
    #[error("task {task} stands at event {actual}, not {expected}")]
    Conflict {
        /// The task.
        task: String,
        /// The last event that the writer knew of.
        expected: Seq,
        /// The last event that there is.
        actual: Seq,
    },
    /// The agent has got this message of this caller before.
    #[error("message {message_id} is event {seq} of task {task} already")]
    Duplicate {
        /// The message.
        message_id: String,
        /// The task that holds it.
        task: String,
        /// The event that holds it.
        seq: Seq,
    },
    /// The client has given this task id (A2A 0.1) before.
    #[error("the client's task {client_id} is task {task} already")]
    Taken {
        /// The id that the client chose.
        client_id: String,
        /// The task that has it.
        task: String,
    },
    /// The task is terminal: nothing can follow but the end of its turns.
    #[error("task {task} has ended")]
    Ended {
        /// The task.
        task: String,
    },
    /// The events cannot stand there.
    #[error("the events of task {task} make no sense: {reason}")]
    Invalid {
        /// The task.
        task: String,
        /// What is wrong with them.
        reason: String,
    },
    /// More than fits in one append, or one record.
    #[error("{what} has {size} bytes, expected at most {limit}")]
    TooLarge {
        /// What it belongs to.
        what: String,
        /// In bytes.
        size: usize,
        /// In bytes.
        limit: usize,
    },
    /// Not a page token of this store.
    #[error("{token:?} is no page token: expected the nextPageToken of the last page")]
    PageToken {
        /// What came instead.
        token: String,
    },
    /// What was kept cannot be read.
    #[error("{what} is corrupt: {reason}")]
    Corrupt {
        /// What, with its ids.
        what: String,
        /// What is wrong with it.
        reason: String,
    },
    /// What the disk has of the task is not what was written to it. Other tasks are as they were.
    #[error("task {task} is damaged on the disk: {reason}")]
    Damaged {
        /// The task.
        task: String,
        /// What is wrong with it.
        reason: String,
    },
    /// The index was damaged, and is made anew from the log: until then nothing is taken.
    #[error("the index of the task log is being made anew")]
    Rebuilding,
    /// Another process has the store open.
    #[error("{path} is in use: is another bridge using it?")]
    InUse {
        /// The store's folder.
        path: PathBuf,
    },
    /// A version from before the first release wrote the store.
    #[error(
        "{path} has format {found}, this program knows {known}: name another folder, or use the bridge that wrote it"
    )]
    Older {
        /// The store's folder.
        path: PathBuf,
        /// Its format.
        found: u32,
        /// The oldest that this program reads.
        known: u32,
    },
    /// A later version wrote the store.
    #[error("{path} has format {found}, this program knows {known}: use a newer bridge")]
    Newer {
        /// The store's folder.
        path: PathBuf,
        /// Its format.
        found: u32,
        /// The newest that this program reads.
        known: u32,
    },
    /// No room is left on the disk.
    #[error("no room is left on the disk for {doing}")]
    Full {
        /// What needed it.
        doing: String,
    },
    /// The operating system failed.
    #[error("{doing}: {source}")]
    Io {
        /// What was being done.
        doing: String,
        /// Why it failed.
        #[source]
        source: io::Error,
    },
    /// A commit failed before, so nobody knows what the disk holds: open the store again.
    #[error("the store takes no more events since a write failed: start the bridge again")]
    Closed,
}

impl StoreError {
    /// The same for every task that is not there and every task that is another caller's.
    pub(crate) fn not_found(task: &str) -> Self {
        Self::NotFound { task: task.into() }
    }

    pub(crate) fn corrupt(what: impl Into<String>, reason: &(impl Display + ?Sized)) -> Self {
        Self::Corrupt {
            what: what.into(),
            reason: reason.to_string(),
        }
    }

    /// Whether the same may succeed a while later.
    pub(crate) fn is_passing(&self) -> bool {
        matches!(self, Self::Full { .. } | Self::Rebuilding | Self::Io { .. })
    }

    /// Whether it is told of for all whom it concerns at once, where the store is measured: then each of them need not
    /// be told of.
    pub(crate) fn is_reported_by_store(&self) -> bool {
        matches!(self, Self::Full { .. } | Self::Rebuilding | Self::Closed)
    }

    /// The same for another of those whom one failure concerns.
    pub(crate) fn replicate(&self) -> Self {
        match self {
            Self::Full { doing } => Self::Full {
                doing: doing.clone(),
            },
            Self::Rebuilding => Self::Rebuilding,
            _ => Self::Closed,
        }
    }

    pub(crate) fn io(doing: impl Into<String>, source: io::Error) -> Self {
        let doing = doing.into();
        match source.kind() {
            io::ErrorKind::StorageFull
            | io::ErrorKind::QuotaExceeded
            | io::ErrorKind::FileTooLarge => Self::Full { doing },
            _ => Self::Io { doing, source },
        }
    }
}
