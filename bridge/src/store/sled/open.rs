//! Opening the database: locks, formats, and what a crash left behind.

use std::{
    fs::File,
    io,
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

use super::{
    content::{ContentFiles, sync_folder},
    error::sled_error,
    keys,
};
use crate::store::StoreError;

/// The newest format that this program reads and the one that it writes; `keys` and `codec` say what it
/// is.
const FORMAT: u32 = 1;

/// Small values stay out of sled's own blob files, which it never fsyncs.
const SEGMENT: usize = 8 << 20;

/// A bridge that was just stopped may need so long to let go of the database.
const PATIENCE: Duration = Duration::from_secs(1);

/// Where the database is and what memory it may take.
#[derive(Clone, Debug)]
pub struct SledSettings {
    /// The folder, which is made if need be.
    pub folder: PathBuf,
    /// The bytes that sled keeps of the database.
    pub page_cache: u64,
    /// The bytes of events, as they are in the log, whose tasks are kept ready to be shown.
    pub task_cache: usize,
}

impl SledSettings {
    /// The settings that suit most: 128 MiB of pages, 32 MiB of tasks.
    pub fn in_folder(folder: impl Into<PathBuf>) -> Self {
        Self {
            folder: folder.into(),
            page_cache: 128 << 20,
            task_cache: 32 << 20,
        }
    }
}

/// What an open database consists of.
#[derive(Debug)]
pub(super) struct Opened {
    pub(super) db: sled::Db,
    /// The file that sled writes to.
    pub(super) file: File,
    pub(super) content: ContentFiles,
}

/// Opens the database or makes it.
pub(super) fn open(settings: &SledSettings) -> Result<Opened, StoreError> {
    let folder = &settings.folder;
    let db = open_sled(settings)?;
    check_format(&db, folder)?;
    let failed = |error| StoreError::io(format!("opening {}", folder.display()), error);
    let file = make_durable(&db, folder).map_err(failed)?;
    let content = ContentFiles::open(folder.join("content"))?;
    content.sweep(|name| {
        db.contains_key(keys::content(name))
            .map_err(sled_error("reading"))
    })?;
    Ok(Opened { db, file, content })
}

fn open_sled(settings: &SledSettings) -> Result<sled::Db, StoreError> {
    let config = sled::Config::new()
        .path(&settings.folder)
        .cache_capacity(settings.page_cache)
        .segment_size(SEGMENT);
    let begun = Instant::now();
    loop {
        match config.open() {
            Err(sled::Error::Io(error)) if is_lock(&error) => {
                if begun.elapsed() > PATIENCE {
                    let path = settings.folder.clone();
                    return Err(StoreError::InUse { path });
                }
                std::thread::sleep(Duration::from_millis(20));
            }
            opened => return opened.map_err(sled_error("opening")),
        }
    }
}

/// sled tells it only by the text of its error.
fn is_lock(error: &io::Error) -> bool {
    error.to_string().starts_with("could not acquire lock")
}

fn check_format(db: &sled::Db, folder: &Path) -> Result<(), StoreError> {
    let Some(bytes) = db.get(keys::FORMAT).map_err(sled_error("reading"))? else {
        let written = db.insert(keys::FORMAT, &FORMAT.to_be_bytes());
        return written.map(|_| ()).map_err(sled_error("writing to"));
    };
    match <[u8; 4]>::try_from(&*bytes).map(u32::from_be_bytes) {
        Ok(FORMAT) => Ok(()),
        Ok(found) if found > FORMAT => Err(StoreError::Newer {
            path: folder.into(),
            found,
            known: FORMAT,
        }),
        Ok(_) | Err(_) => Err(StoreError::corrupt(
            folder.display().to_string(),
            "its format's number is none",
        )),
    }
}

/// Has a new database survive a power cut: sled fsyncs neither its settings nor the names of its files.
fn make_durable(db: &sled::Db, folder: &Path) -> io::Result<File> {
    db.flush().map_err(io::Error::other)?;
    let file = File::open(folder.join("db"))?;
    file.sync_all()?;
    File::open(folder.join("conf"))?.sync_all()?;
    sync_folder(folder)?;
    Ok(file)
}
