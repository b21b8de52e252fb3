//! Opens a store by its settings: its lock, its format, and its state after a crash.

use std::{
    fs::{File, TryLockError},
    io,
    path::{Path, PathBuf},
    sync::Arc,
    time::{Duration, Instant},
};

use bridge_program::system;

use super::{
    backup,
    catch_up::catch_up,
    index::CurrentIndex,
    index_folder::{FOLDERS, LOCK_TIMEOUT, open_index, remove},
    log::{self, Disk},
    reader::Reader,
};
use crate::{Result, StoreError, private};

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

/// The folders of the index in earlier layouts, each of which had a second one with the suffix `-2`. They are removed, and
/// the index is rebuilt.
const FORMER_FOLDERS: [&str; 5] = ["index", "parts", "lists", "tables", "entries"];

/// Opens the store in a folder or creates it.
pub(super) fn open(settings: &SledSettings, disk: &Arc<dyn Disk>) -> Result<(Reader, log::Writer)> {
    let folder = &settings.folder;
    let failed = |error| cannot_make(folder, error);
    private::create_folder(folder).map_err(failed)?;
    check_layout(folder)?;
    let lock = Arc::new(lock(folder)?);
    let logs = folder.join("log");
    disk.make_folder(&logs).map_err(failed)?;
    disk.sync_folder(folder).map_err(failed)?;
    // An earlier program uses an index of its own, and may have removed segments of the log that the current index refers to. So
    // the current index is removed first.
    let former = FORMER_FOLDERS.iter().flat_map(|name| [name.to_string(), format!("{name}-2")]);
    let former: Vec<PathBuf> = former.map(|name| folder.join(name)).collect();
    if let Some(found) = former.iter().find(|former| former.exists()) {
        tracing::warn!(folder = %found.display(), "an index of an earlier layout is rebuilt from the log");
        FOLDERS.iter().try_for_each(|name| remove(&folder.join(name)))?;
        former.iter().try_for_each(|former| remove(former))?;
    }
    let opened = match open_all(settings, disk, &logs, &lock) {
        Err(Unopened::Index(error)) if !is_permanent(&error) => {
            tracing::warn!("the index is rebuilt from the log, which takes a while: {error}");
            FOLDERS.iter().try_for_each(|name| remove(&folder.join(name)))?;
            open_all(settings, disk, &logs, &lock)
        }
        opened => opened,
    };
    opened.map_err(|(Unopened::Index(error) | Unopened::Log(error))| error)
}

/// The part of a store that could not be opened.
enum Unopened {
    Index(StoreError),
    Log(StoreError),
}

/// Returns the error for a folder that cannot be made, with its whole path, since a bridge is often started in a folder in
/// which its user may not write.
fn cannot_make(folder: &Path, error: io::Error) -> StoreError {
    let whole = std::path::absolute(folder).unwrap_or_else(|_| folder.into());
    let advice = match error.kind() {
        io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => {
            " (name a folder in which the bridge's user may write)"
        }
        _ => "",
    };
    StoreError::io(format!("making {}{advice}", whole.display()), error)
}

/// Returns whether the index must not be rebuilt: it is not the cause of the error, so that a new one would fail in the same
/// way, or another process uses it.
fn is_permanent(error: &StoreError) -> bool {
    match error {
        StoreError::Full { .. } | StoreError::InUse { .. } | StoreError::Unavailable { .. } => true,
        StoreError::Io { error, .. } => error.kind() == io::ErrorKind::PermissionDenied,
        _ => false,
    }
}

fn open_all(
    settings: &SledSettings,
    disk: &Arc<dyn Disk>,
    logs: &Path,
    lock: &Arc<File>,
) -> Result<(Reader, log::Writer), Unopened> {
    let index = open_current_index(settings).map_err(Unopened::Index)?;
    let reader = Reader {
        log: log::open(disk.clone(), logs, index.get().end()).map_err(Unopened::Log)?,
        index,
        quarantine: Arc::default(),
        _lock: Arc::clone(lock),
    };
    // An index that was copied from elsewhere may refer to segments that were removed since.
    if reader.index().durable_end() > 0 && reader.index().end().at < reader.log.begin() {
        let error = StoreError::corrupt("the index", "it ends before the log begins");
        return Err(Unopened::Index(error));
    }
    let end = catch_up(&reader).map_err(|error| match error {
        StoreError::Rebuilding | StoreError::Corrupt { .. } => Unopened::Index(error),
        error => Unopened::Log(error),
    })?;
    let log = log::writer(&reader.log, end).map_err(Unopened::Log)?;
    Ok((reader, log))
}

fn open_current_index(settings: &SledSettings) -> Result<CurrentIndex> {
    let [usual, other] = FOLDERS.map(|name| settings.folder.join(name));
    // If both folders exist, the program ended while the index was being rebuilt.
    if usual.exists() && other.exists() {
        remove(&usual)?;
        remove(&other)?;
    }
    open_index(if other.exists() { &other } else { &usual }, settings)
}

/// Refuses the layout before the log was introduced, in which all data were in sled, and an unfinished copy, beside which
/// an empty store would be created.
fn check_layout(folder: &Path) -> Result<()> {
    let path = folder.into();
    if folder.join("db").exists() {
        let (found, known) = (1, 2);
        return Err(StoreError::Older { path, found, known });
    }
    if backup::is_unfinished(folder) { Err(StoreError::Unfinished { path }) } else { Ok(()) }
}

fn lock(folder: &Path) -> Result<File> {
    let path = folder.join("lock");
    let failed = |error: io::Error| {
        let foreign = match error.kind() {
            io::ErrorKind::PermissionDenied => " (it must belong to the user who runs the bridge)",
            _ => "",
        };
        StoreError::io(format!("locking {}{foreign}", path.display()), error)
    };
    let mut options = system::private_file();
    let options = options.write(true).create(true).truncate(false);
    let file = options.open(&path).map_err(failed)?;
    let begun = Instant::now();
    loop {
        match file.try_lock() {
            Ok(()) => return Ok(file),
            Err(TryLockError::WouldBlock) if begun.elapsed() < LOCK_TIMEOUT => {
                std::thread::sleep(Duration::from_millis(20));
            }
            Err(TryLockError::WouldBlock) => {
                let path = folder.into();
                return Err(StoreError::InUse { path });
            }
            Err(TryLockError::Error(error)) => return Err(failed(error)),
        }
    }
}
