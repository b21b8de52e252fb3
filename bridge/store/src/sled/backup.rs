//! Copies the folder of a store, which may be in use, and restores such copies.
//!
//! The log only grows at its end, so each prefix of it is the store as it was at one time. A copy has all data that were
//! acknowledged before the copy began. A batch at its end may be torn; the next start cuts it off as after a crash. The
//! index is not copied: it is rebuilt from the log.
//!
//! The newest segment may be written while it is copied. It is copied from its end to its beginning: so for all bytes in
//! the copy, all bytes before them were already written. In the other order, the copy could have a later record after a gap
//! where an earlier record was not yet written, and would count as damaged.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs::{self, File},
    io,
    path::{Path, PathBuf},
    sync::Arc,
};

use bridge_program::system::{self, FileExt as _};

use super::{
    index_folder::FOLDERS,
    log::{self, RealDisk},
};
use crate::{Result, StoreError, private};

/// The files of a running bridge, which are not copied: the lock, and the name of its pipe for the operator's commands, a file on
/// Windows only.
const OF_THE_PROCESS: [&str; 2] = ["lock", "admin.sock"];
/// The folder of the log.
const LOG: &str = "log";
/// The folder of the log while the copy is incomplete.
const PARTIAL: &str = "log.partial";
/// The number of attempts. An attempt fails if a segment is removed before it was copied; the next attempt copies the
/// remaining and new segments.
const MAX_ATTEMPTS: usize = 64;
/// The size of the blocks in which the newest segment is copied.
const BLOCK: usize = 16 << 10;

/// Copies a store, which may be in use by any process, to a folder without a store. Returns the size of the log.
///
/// # Errors
/// If there is no store, the folder has a store already, or a file cannot be read or written.
pub fn copy_store(from: &Path, to: &Path) -> Result<u64> {
    let failed =
        |error| StoreError::io(format!("copying {} to {}", from.display(), to.display()), error);
    if is_unfinished(from) {
        return Err(StoreError::Unfinished { path: from.into() });
    }
    if !from.join(LOG).is_dir() {
        return Err(failed(io::Error::new(io::ErrorKind::NotFound, "it holds no store")));
    }
    // An index that is left from another log would be taken for that of the copy.
    if [LOG].iter().chain(&FOLDERS).any(|name| to.join(name).exists()) {
        let reason = "there is a store already, or its index: name another folder";
        return Err(failed(io::Error::new(io::ErrorKind::AlreadyExists, reason)));
    }
    private::create_folder(to).map_err(failed)?;
    let bytes = copy_log(from, to)?;
    copy_others(from, to).map_err(failed)?;
    // The folder is a store once the log has this name.
    fs::rename(to.join(PARTIAL), to.join(LOG)).map_err(failed)?;
    system::sync_folder(to).map_err(failed)?;
    Ok(bytes)
}

/// Returns whether a copy to the folder has begun and was not completed.
pub(super) fn is_unfinished(folder: &Path) -> bool {
    folder.join(PARTIAL).exists() && !folder.join(LOG).exists()
}

/// Copies the log. Returns its size.
fn copy_log(from: &Path, to: &Path) -> Result<u64> {
    let (from, partial) = (from.join(LOG), to.join(PARTIAL));
    let failed = |error| StoreError::io(format!("copying to {}", partial.display()), error);
    match fs::remove_dir_all(&partial) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(failed(error)),
        Ok(()) | Err(_) => {}
    }
    private::create_own_folder(&partial).map_err(failed)?;
    let mut copied = BTreeMap::new();
    for _ in 0..MAX_ATTEMPTS {
        let names = log::names(Arc::new(RealDisk::default()), &from)?;
        match copy_segments(&from, &partial, &names, &mut copied) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            copied => {
                let bytes = copied.map_err(failed)?;
                system::sync_folder(&partial).map_err(failed)?;
                return Ok(bytes);
            }
        }
    }
    let moved = "its files are removed faster than they can be copied";
    Err(failed(io::Error::other(moved)))
}

/// Copies the files of a log with these names, except those in `copied`, and removes all others from the copy. Returns
/// their size. All files but the newest are added to `copied`, since they no longer change.
fn copy_segments(
    from: &Path,
    to: &Path,
    names: &[PathBuf],
    copied: &mut BTreeMap<PathBuf, u64>,
) -> io::Result<u64> {
    // The newest segment is copied last. Segments that are created later are left out.
    let Some((newest, others)) = names.split_last() else {
        return Ok(0);
    };
    for name in others {
        if !copied.contains_key(name) {
            let bytes = copy(&from.join(name), &to.join(name))?;
            copied.insert(name.clone(), bytes);
        }
    }
    let bytes = copy_growing(&from.join(newest), &to.join(newest))?;
    // An earlier attempt may have copied files that were removed since.
    let names: BTreeSet<&Path> = names.iter().map(PathBuf::as_path).collect();
    for entry in fs::read_dir(to)? {
        let entry = entry?;
        if !names.contains(Path::new(&entry.file_name())) {
            fs::remove_file(entry.path())?;
        }
    }
    let copied = others.iter().filter_map(|name| copied.get(name));
    Ok(bytes + copied.sum::<u64>())
}

/// Copies a file to whose end data may be written meanwhile. Returns its size.
fn copy_growing(from: &Path, to: &Path) -> io::Result<u64> {
    let (from, to) = (File::open(from)?, create(to)?);
    let length = from.metadata()?.len();
    let (mut block, mut again) = (vec![0; BLOCK], vec![0; BLOCK]);
    for number in (0..length.div_ceil(BLOCK as u64)).rev() {
        let at = number * BLOCK as u64;
        let mut size = read(&from, &mut block, at)?;
        // Each byte is written once, so a block that is the same twice is consistent.
        loop {
            let size_again = read(&from, &mut again, at)?;
            if block[..size] == again[..size_again] {
                break;
            }
            (size, block, again) = (size_again, again, block);
        }
        to.write_all_at(&block[..size], at)?;
    }
    to.sync_all()?;
    Ok(length)
}

/// Reads from a position up to the end of the file, at most the size of the buffer.
fn read(from: &File, block: &mut [u8], at: u64) -> io::Result<usize> {
    let mut size = 0;
    while size < block.len() {
        match from.read_at(&mut block[size..], at + size as u64)? {
            0 => break,
            more => size += more,
        }
    }
    Ok(size)
}

/// Copies the other files of the folder, such as keys.
fn copy_others(from: &Path, to: &Path) -> io::Result<()> {
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let name = entry.file_name();
        if entry.file_type()?.is_file() && !OF_THE_PROCESS.iter().any(|own| name == *own) {
            match copy(&entry.path(), &to.join(name)) {
                // A temporary file was renamed meanwhile.
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                copied => drop(copied?),
            }
        }
    }
    Ok(())
}

fn copy(from: &Path, to: &Path) -> io::Result<u64> {
    let (mut from, mut to) = (File::open(from)?, create(to)?);
    let bytes = io::copy(&mut from, &mut to)?;
    to.sync_all()?;
    Ok(bytes)
}

fn create(path: &Path) -> io::Result<File> {
    let mut options = system::private_file();
    options.write(true).create(true).truncate(true).open(path)
}
