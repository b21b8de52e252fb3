//! Where the store is and what memory it may take.

use std::path::PathBuf;

/// Where the store is and what memory it may take.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SledSettings {
    /// The folder, which is made if need be.
    pub folder: PathBuf,
    /// The bytes that sled keeps of the index.
    pub page_cache: u64,
    /// The bytes that tasks may take, about, which are kept ready to be shown.
    pub task_cache: usize,
    /// The bytes of the index's filters in memory, about: 6 for each task. Tasks that are too old for them are found
    /// more slowly.
    pub filters: usize,
    /// So many ids of callers' messages are remembered at least, the newest.
    pub message_ids: u64,
}

impl SledSettings {
    /// The settings that suit most: 64 MiB of the index, 64 MiB of tasks, 128 MiB of filters, four million messages.
    pub fn in_folder(folder: impl Into<PathBuf>) -> Self {
        Self {
            folder: folder.into(),
            page_cache: 64 << 20,
            task_cache: 64 << 20,
            filters: 128 << 20,
            message_ids: 4_000_000,
        }
    }
}
