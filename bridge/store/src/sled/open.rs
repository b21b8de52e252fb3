//! Opening a store: locks, formats, and what a crash left behind.

use std::{
    fs::{File, TryLockError},
    io,
    path::Path,
    sync::Arc,
    time::{Duration, Instant},
};

use super::{
    SledSettings,
    follow::follow,
    index_folder::{FOLDERS, PATIENCE, open_index, remove},
    log::{self, Disk},
    reader::Reader,
};
use crate::{StoreError, private};

/// Where it was in earlier layouts; it is made anew from the log.
const FORMER: [&str; 8] = [
    "index", "index-2", "parts", "parts-2", "lists", "lists-2", "tables", "tables-2",
];

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
    private::create_folder(folder).map_err(failed)?;
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
    let mut options = private::file_options();
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
