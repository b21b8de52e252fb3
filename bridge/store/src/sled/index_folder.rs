//! The folder of the index: opened, made, removed.

use std::{
    fs, io,
    path::Path,
    time::{Duration, Instant},
};

use super::{
    SledSettings,
    index::{Index, IndexInUse, guarded},
};
use crate::{StoreError, private};

/// Small values stay out of sled's own blob files, which it never fsyncs.
const SEGMENT: usize = if cfg!(test) { 512 << 10 } else { 8 << 20 };

/// A bridge that was just stopped may need so long to let go of the folder.
pub(super) const PATIENCE: Duration = Duration::from_secs(1);

/// The two folders of which one has the index.
pub(super) const FOLDERS: [&str; 2] = ["entries", "entries-2"];

/// Opens the index in a folder, or makes it.
pub(super) fn open_index(folder: &Path, settings: &SledSettings) -> Result<IndexInUse, StoreError> {
    let failed = |error| StoreError::io(format!("opening {}", folder.display()), error);
    private::create_own_folder(folder).map_err(failed)?;
    let config = sled::Config::new()
        .path(folder)
        .cache_capacity(settings.page_cache)
        .segment_size(SEGMENT)
        .flush_every_ms(None);
    let index = guarded(|| Index::open(open_database(&config)?, folder.into(), settings))?;
    private::restrict(folder);
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
