//! Opens, creates and removes the folder of the index.

use std::{
    fs, io,
    path::Path,
    time::{Duration, Instant},
};

use super::{
    SledSettings,
    index::{CurrentIndex, Index, guarded},
};
use crate::{Result, StoreError, private};

/// The segment size of sled. Values that are small beside it are not stored in blob files, which sled never fsyncs.
const SEGMENT: usize = if cfg!(test) { 512 << 10 } else { 8 << 20 };

/// The time for which the lock of a folder is awaited, for a process that is just ending.
pub(super) const LOCK_TIMEOUT: Duration = Duration::from_secs(1);

/// The two folders of the index, one of which is used at a time.
pub(super) const FOLDERS: [&str; 2] = ["keys", "keys-2"];

/// Opens the index in a folder, or creates it.
pub(super) fn open_index(folder: &Path, settings: &SledSettings) -> Result<CurrentIndex> {
    let failed = |error| StoreError::io(format!("opening {}", folder.display()), error);
    private::create_own_folder(folder).map_err(failed)?;
    let config = sled::Config::new()
        .path(folder)
        .cache_capacity(settings.page_cache)
        .segment_size(SEGMENT)
        .flush_every_ms(None);
    let database = || open_database(&config, &settings.folder);
    let index = guarded(|| Index::open(database()?, folder.into(), settings));
    let index = index.map_err(|error| error.within(folder))?;
    private::restrict(folder);
    CurrentIndex::start(index)
}

/// Opens a database. Threads of sled may hold the lock of a closed database for a moment. Another process can only hold it
/// if somebody has removed the file `lock` of the store's folder while that process was using the store.
fn open_database(config: &sled::Config, store: &Path) -> Result<sled::Db> {
    let begun = Instant::now();
    loop {
        match config.open() {
            Err(sled::Error::Io(error)) if is_locked(&error) => {
                if begun.elapsed() >= LOCK_TIMEOUT {
                    return Err(StoreError::InUse { path: store.into() });
                }
                std::thread::sleep(Duration::from_millis(20));
            }
            opened => return Ok(opened?),
        }
    }
}

/// Returns whether the database is locked. sled has no kind of error for this, only a message.
fn is_locked(error: &io::Error) -> bool {
    error.to_string().contains("could not acquire lock")
}

/// Removes a folder, if it exists.
pub(super) fn remove(folder: &Path) -> Result<()> {
    match fs::remove_dir_all(folder) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            Err(StoreError::io(format!("removing {}", folder.display()), error))
        }
        Ok(()) | Err(_) => Ok(()),
    }
}
