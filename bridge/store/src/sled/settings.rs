//! The settings of a store on disk.

use std::path::PathBuf;

/// The folder and the memory limits of a store on disk.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SledSettings {
    /// The folder. It is created if it does not exist.
    pub folder: PathBuf,
    /// The size of sled's page cache for the index, in bytes.
    pub page_cache: u64,
    /// The approximate size of the cache of tasks, in bytes.
    pub task_cache: usize,
    /// The approximate size of the index's filters in memory, in bytes. A task takes 8 bytes. Older tasks that exceed the
    /// limit are found more slowly.
    pub filters: usize,
    /// The number of the newest message ids of callers that are kept at least.
    pub message_ids: u64,
}

impl SledSettings {
    /// Returns the default settings: 64 MiB page cache, 64 MiB of tasks, 128 MiB of filters, four million message ids.
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
