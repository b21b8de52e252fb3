//! Copies of a store's folder, made while it is used or not, and folders made of them.
//!
//! The log only grows at its end, so any beginning of it is a store as it was at one moment. A copy has all that was
//! acknowledged before it was begun. What was being written at its end may be torn, which the next start cuts off as after
//! a crash. The index is not copied: it is made of the log.

use std::{
    fs::{self, File},
    io,
    path::{Path, PathBuf},
    sync::Arc,
};

use super::log::{self, RealDisk};
use crate::{StoreError, private};

/// Files beside the log that are no part of the store's content.
const LOCK: &str = "lock";
const LOG: &str = "log";
/// The log of a folder in the making.
const PARTIAL: &str = "log.partial";
/// Segments may be removed while they are copied; then the copy is begun again, so often.
const TRIES: usize = 8;

/// Copies a store, which may be in use by another process or this one, to a folder that holds none.
///
/// # Errors
/// If there is no store, the folder holds one already, or something cannot be read or written.
pub fn copy_store(from: &Path, to: &Path) -> Result<u64, StoreError> {
    let failed = |error| {
        StoreError::io(
            format!("copying {} to {}", from.display(), to.display()),
            error,
        )
    };
    if !from.join(LOG).is_dir() {
        return Err(failed(io::Error::new(
            io::ErrorKind::NotFound,
            "it holds no store",
        )));
    }
    if to.join(LOG).exists() {
        let error = io::Error::new(io::ErrorKind::AlreadyExists, "there is a store already");
        return Err(failed(error));
    }
    private::folder(to).map_err(failed)?;
    for _ in 0..TRIES {
        match copy_log(from, to) {
            Err(StoreError::Io { source, .. }) if source.kind() == io::ErrorKind::NotFound => {}
            copied => {
                let bytes = copied?;
                copy_others(from, to).map_err(failed)?;
                // With this name it is a store.
                fs::rename(to.join(PARTIAL), to.join(LOG)).map_err(failed)?;
                private::sync_folder(to).map_err(failed)?;
                return Ok(bytes);
            }
        }
    }
    let moved = "its files are removed faster than they can be copied";
    Err(failed(io::Error::other(moved)))
}

/// Copies the log; answers with its size.
fn copy_log(from: &Path, to: &Path) -> Result<u64, StoreError> {
    let partial = to.join(PARTIAL);
    let failed = |error| StoreError::io(format!("copying to {}", partial.display()), error);
    match fs::remove_dir_all(&partial) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(failed(error)),
        Ok(()) | Err(_) => {}
    }
    private::own_folder(&partial).map_err(failed)?;
    let mut bytes = 0;
    // The newest segment comes last: what is behind it in time is left out.
    for name in log::names(Arc::new(RealDisk), &from.join(LOG))? {
        bytes += copy(&from.join(LOG).join(&name), &partial.join(&name)).map_err(failed)?;
    }
    private::sync_folder(&partial).map_err(failed)?;
    Ok(bytes)
}

/// Copies what stands beside the log, such as keys.
fn copy_others(from: &Path, to: &Path) -> io::Result<()> {
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        if entry.file_type()?.is_file() && entry.file_name() != LOCK {
            copy(&entry.path(), &to.join(entry.file_name()))?;
        }
    }
    Ok(())
}

fn copy(from: &Path, to: &PathBuf) -> io::Result<u64> {
    let mut options = private::file();
    let mut copy = options.write(true).create(true).truncate(true).open(to)?;
    let bytes = io::copy(&mut File::open(from)?, &mut copy)?;
    copy.sync_all()?;
    Ok(bytes)
}
