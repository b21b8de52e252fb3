//! The errors of stores.

use std::{
    fmt::Display,
    io,
    path::{Path, PathBuf},
};

use bridge_program::system;

use super::Seq;

/// The result of an operation on a store.
pub type Result<T, E = StoreError> = std::result::Result<T, E>;

/// The reason for which an operation on a store failed. The messages are fragments that can follow "the store failed: ".
#[derive(Debug, thiserror::Error)]
#[expect(missing_docs, reason = "the messages say what the fields are")]
pub enum StoreError {
    /// The task does not exist, or belongs to another caller. Callers cannot tell these cases apart.
    #[error("task {task} not found")]
    NotFound { task: String },
    /// The task has events that the writer did not know. The writer should read them and decide again.
    #[error("task {task} is at event {actual}, expected {expected}")]
    Conflict { task: String, expected: Seq, actual: Seq },
    /// The agent has received this message of this caller before.
    #[error("message {message_id} is event {seq} of task {task} already")]
    Duplicate { message_id: String, task: String, seq: Seq },
    /// The client has used this task id (A2A 0.1) before.
    #[error("the client's task {client_id} is task {task} already")]
    Taken { client_id: String, task: String },
    /// The task is in a terminal state: only the ends of its turns can follow.
    #[error("task {task} has ended")]
    Ended { task: String },
    /// The task has not ended, so it cannot be deleted.
    #[error("task {task} has not ended: cancel it first")]
    Open { task: String },
    /// The events cannot follow the earlier ones.
    #[error("the events of task {task} are not valid: {reason}")]
    Invalid { task: String, reason: String },
    /// An append or a record is too large.
    #[error("{what} has {size} bytes, expected at most {limit}")]
    TooLarge {
        /// The append or record, with its ids.
        what: String,
        size: usize,
        limit: usize,
    },
    /// The page token does not belong to this list.
    #[error("{token:?} is not a page token: expected the nextPageToken of the last page")]
    PageToken { token: String },
    /// Stored data cannot be read.
    #[error("{what} is corrupt: {reason}")]
    Corrupt { what: String, reason: String },
    /// The task's data on the disk is damaged. Other tasks are not affected.
    #[error("task {task} is damaged on the disk: {reason}")]
    Damaged { task: String, reason: String },
    /// The index was damaged and is being rebuilt from the log. Nothing can be written meanwhile.
    #[error("the index of the task log is being rebuilt")]
    Rebuilding,
    /// Another process has the store open.
    #[error("{path} is in use: is another bridge using it? Stop it first, or name another folder")]
    InUse { path: PathBuf },
    /// A backup or restore into the folder was interrupted, so that the folder has only a part of a store.
    #[error(
        "{path} has an unfinished copy of a store: repeat bridge store backup or restore, or remove the folder"
    )]
    Unfinished { path: PathBuf },
    /// The store was written by a version before the first release.
    #[error(
        "{path} has format {found}, this program knows {known}: name another folder, or use the bridge that wrote it"
    )]
    Older { path: PathBuf, found: u32, known: u32 },
    /// The store was written by a later version.
    #[error("{path} has format {found}, this program knows {known}: use a newer bridge")]
    Newer { path: PathBuf, found: u32, known: u32 },
    /// The disk is full.
    #[error("no room is left on the disk for {doing}")]
    Full { doing: String },
    /// The database cannot be reached or cannot be written at present, the process has too many open files, or the program
    /// ends.
    #[error("the store is not available: {reason}")]
    Unavailable {
        /// The reason, without secrets.
        reason: String,
    },
    /// The program cannot use this database.
    #[error("{what}, expected {expected}")]
    Unsupported { what: String, expected: String },
    /// An operation of the operating system failed.
    #[error("{doing}: {error}")]
    Io { doing: String, error: io::Error },
    /// An earlier commit failed, so the content of the disk is unknown: the store must be opened again.
    #[error("the store accepts no more events since a write failed: restart the bridge")]
    Closed,
}

impl StoreError {
    /// Returns the error for a task that does not exist or belongs to another caller.
    pub fn not_found(task: &str) -> Self {
        Self::NotFound { task: task.into() }
    }

    /// Returns the error for data that cannot be read: `what` it is, and the reason.
    pub fn corrupt(what: impl Into<String>, reason: &(impl Display + ?Sized)) -> Self {
        Self::Corrupt { what: what.into(), reason: reason.to_string() }
    }

    /// Checks that `what` has at most `limit` bytes.
    ///
    /// # Errors
    /// `TooLarge`.
    pub fn check_size(size: usize, limit: usize, what: impl FnOnce() -> String) -> Result<()> {
        match size <= limit {
            true => Ok(()),
            false => Err(Self::TooLarge { what: what(), size, limit }),
        }
    }

    /// Returns whether the same operation may succeed later.
    pub fn is_temporary(&self) -> bool {
        matches!(
            self,
            Self::Full { .. } | Self::Rebuilding | Self::Io { .. } | Self::Unavailable { .. }
        )
    }

    /// Returns whether the program logs this error once for all operations that it affects, so that callers need not log it.
    pub fn is_reported_by_store(&self) -> bool {
        matches!(
            self,
            Self::Full { .. } | Self::Rebuilding | Self::Closed | Self::Unavailable { .. }
        )
    }

    /// Copies the error for another operation that the same failure affects.
    pub fn replicate(&self) -> Self {
        match self {
            Self::Full { doing } => Self::Full { doing: doing.clone() },
            Self::Rebuilding => Self::Rebuilding,
            Self::Unavailable { reason } => Self::Unavailable { reason: reason.clone() },
            _ => Self::Closed,
        }
    }

    /// Returns the error for a failed operation of the operating system. `doing` describes it as in "reading FILE".
    pub fn io(doing: impl Into<String>, error: io::Error) -> Self {
        let doing = doing.into();
        match error.kind() {
            io::ErrorKind::StorageFull
            | io::ErrorKind::QuotaExceeded
            | io::ErrorKind::FileTooLarge => Self::Full { doing },
            _ if system::is_lack_of_files(&error) => {
                let advice = system::FILE_LIMIT_ADVICE;
                Self::Unavailable { reason: format!("{doing}: {error}: {advice}") }
            }
            _ => Self::Io { doing, error },
        }
    }

    /// Adds the folder to an error of the operating system whose operation does not name it.
    pub(crate) fn within(self, folder: &Path) -> Self {
        let within = |doing| format!("{doing} in {}", folder.display());
        match self {
            Self::Full { doing } => Self::Full { doing: within(doing) },
            Self::Io { doing, error } => Self::Io { doing: within(doing), error },
            other => other,
        }
    }
}
