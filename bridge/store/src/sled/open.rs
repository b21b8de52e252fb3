//! Opening a store: locks, formats, and what a crash left behind.

use std::{
    fs::{self, File, TryLockError},
    io,
    path::{Path, PathBuf},
    sync::Arc,
    time::{Duration, Instant},
};

use super::{
    follow::follow,
    index::{Index, IndexInUse, guarded},
    log::{self, Disk},
    reader::Reader,
};
use crate::{StoreError, private};

/// Small values stay out of sled's own blob files, which it never fsyncs.
const SEGMENT: usize = if cfg!(test) { 512 << 10 } else { 8 << 20 };

/// A bridge that was just stopped may need so long to let go of the folder.
const PATIENCE: Duration = Duration::from_secs(1);

/// The two folders of which one has the index.
pub(super) const FOLDERS: [&str; 2] = ["entries", "entries-2"];

/// Where it was in earlier layouts; it is made anew from the log.
const FORMER: [&str; 8] = [
    "index", "index-2", "parts", "parts-2", "lists", "lists-2", "tables", "tables-2",
];

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

/// What an open store consists of.
#[derive(Debug)]
pub(super) struct Opened {
    pub(super) reader: Reader,
    pub(super) log: log::Writer,
}

/// Opens the folder's store or makes it.
pub(super) fn open(settings: &SledSettings, disk: &Arc<dyn Disk>) -> Result<Opened, StoreError> {
    let folder = &settings.folder;
    let failed = |error| StoreError::io(format!("making {}", folder.display()), error);
    private::folder(folder).map_err(failed)?;
    check_layout(folder)?;
    let lock = Arc::new(lock(folder)?);
    let logs = folder.join("log");
    disk.make_folder(&logs).map_err(failed)?;
    disk.sync_folder(folder).map_err(failed)?;
    for former in FORMER
        .map(|name| folder.join(name))
        .iter()
        .filter(|former| former.exists())
    {
        tracing::warn!(folder = %former.display(), "an index of an earlier layout is made anew from the log");
        remove(former)?;
    }
    match open_all(settings, disk, &logs, &lock) {
        Err(error) if !is_hopeless(&error) => {
            tracing::warn!("the index is made anew from the log, which takes a while: {error}");
            FOLDERS
                .iter()
                .try_for_each(|name| remove(&folder.join(name)))?;
            open_all(settings, disk, &logs, &lock)
        }
        opened => opened,
    }
}

/// Whether another index would fail in the same way: it is not the index that is wrong.
fn is_hopeless(error: &StoreError) -> bool {
    match error {
        StoreError::Full { .. } | StoreError::Newer { .. } => true,
        StoreError::Io { source, .. } => source.kind() == io::ErrorKind::PermissionDenied,
        _ => false,
    }
}

fn open_all(
    settings: &SledSettings,
    disk: &Arc<dyn Disk>,
    logs: &Path,
    lock: &Arc<File>,
) -> Result<Opened, StoreError> {
    let [usual, other] = FOLDERS.map(|name| settings.folder.join(name));
    // Of two none was complete when the program ended.
    if usual.exists() && other.exists() {
        remove(&usual)?;
        remove(&other)?;
    }
    let index = open_index(if other.exists() { &other } else { &usual }, settings)?;
    let reader = Reader {
        log: log::open(disk.clone(), logs, index.now().end())?,
        index,
        quarantine: Arc::default(),
        _lock: Arc::clone(lock),
    };
    // An index that was put there from elsewhere may lead to what was removed since.
    if reader.index().durable_end() > 0 && reader.index().end().at < reader.log.begin() {
        return Err(StoreError::corrupt(
            "the index",
            "it ends before the log begins",
        ));
    }
    let log = log::writer(&reader.log, follow(&reader)?)?;
    Ok(Opened { reader, log })
}

/// What stood in a folder before the log was a file of its own: all of it in sled.
fn check_layout(folder: &Path) -> Result<(), StoreError> {
    match folder.join("db").exists() {
        true => Err(StoreError::Older {
            path: folder.into(),
            found: 1,
            known: 2,
        }),
        false => Ok(()),
    }
}

fn lock(folder: &Path) -> Result<File, StoreError> {
    let path = folder.join("lock");
    let failed = |error| StoreError::io(format!("locking {}", path.display()), error);
    let mut options = private::file();
    let options = options.write(true).create(true).truncate(false);
    let file = options.open(&path).map_err(failed)?;
    let begun = Instant::now();
    loop {
        match file.try_lock() {
            Ok(()) => return Ok(file),
            Err(TryLockError::WouldBlock) if begun.elapsed() < PATIENCE => {
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

/// Opens the index in a folder, or makes it.
pub(super) fn open_index(folder: &Path, settings: &SledSettings) -> Result<IndexInUse, StoreError> {
    let failed = |error| StoreError::io(format!("opening {}", folder.display()), error);
    private::own_folder(folder).map_err(failed)?;
    let config = sled::Config::new()
        .path(folder)
        .cache_capacity(settings.page_cache)
        .segment_size(SEGMENT)
        .flush_every_ms(None);
    let index = guarded(|| Index::open(open_database(&config)?, folder.into(), settings))?;
    private::close(folder);
    IndexInUse::start(index)
}

/// Threads of sled's may hold the database for a moment after the last one has closed it. It can be nobody
/// else: the folder is locked by us.
fn open_database(config: &sled::Config) -> Result<sled::Db, StoreError> {
    let begun = Instant::now();
    loop {
        match config.open() {
            Err(sled::Error::Io(error)) if is_held(&error) && begun.elapsed() < PATIENCE => {
                std::thread::sleep(Duration::from_millis(20));
            }
            opened => return Ok(opened?),
        }
    }
}

/// sled has no kind of error for it, only words.
fn is_held(error: &io::Error) -> bool {
    error.to_string().contains("could not acquire lock")
}

/// Removes a folder, if there is one.
pub(super) fn remove(folder: &Path) -> Result<(), StoreError> {
    match fs::remove_dir_all(folder) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(StoreError::io(
            format!("removing {}", folder.display()),
            error,
        )),
        Ok(()) | Err(_) => Ok(()),
    }
}
