//! Copies of a store's folder, made while it is used or not, and folders made of them.
//!
//! The log only grows at its end, so any beginning of it is a store as it was at one moment. A copy has all that was
//! acknowledged before it was begun. What was being written at its end may be torn, which the next start cuts off as after
//! a crash. The index is not copied: it is made of the log.
//!
//! The newest segment is written to while it is read. It is copied from its end to its beginning: then all that stands before
//! what was read is read later, so that it is there too. In the other order, something later may be read behind the place
//! of something that was not there yet, and the copy would seem to be damaged.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs::{self, File},
    io,
    os::unix::fs::FileExt as _,
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
/// Segments may be removed before they are copied; then those that are left and new ones are copied, so often.
const TRIES: usize = 64;
/// So much of the newest segment is read at once.
const PIECE: usize = 16 << 10;

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
    private::create_folder(to).map_err(failed)?;
    let bytes = copy_log(from, to)?;
    copy_others(from, to).map_err(failed)?;
    // With this name it is a store.
    fs::rename(to.join(PARTIAL), to.join(LOG)).map_err(failed)?;
    private::sync_folder(to).map_err(failed)?;
    Ok(bytes)
}

/// Copies the log; answers with its size.
fn copy_log(from: &Path, to: &Path) -> Result<u64, StoreError> {
    let (from, partial) = (from.join(LOG), to.join(PARTIAL));
    let failed = |error| StoreError::io(format!("copying to {}", partial.display()), error);
    match fs::remove_dir_all(&partial) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(failed(error)),
        Ok(()) | Err(_) => {}
    }
    private::create_own_folder(&partial).map_err(failed)?;
    let mut whole = BTreeMap::new();
    for _ in 0..TRIES {
        let names = log::names(Arc::new(RealDisk::default()), &from)?;
        match copy_segments(&from, &partial, &names, &mut whole) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            copied => {
                let bytes = copied.map_err(failed)?;
                private::sync_folder(&partial).map_err(failed)?;
                return Ok(bytes);
            }
        }
    }
    let moved = "its files are removed faster than they can be copied";
    Err(failed(io::Error::other(moved)))
}

/// Copies the files of a log with these names, but for those in `whole`, and removes others from the copy. Answers with their
/// size. All but the newest come into `whole`: nothing is written to them any more.
fn copy_segments(
    from: &Path,
    to: &Path,
    names: &[PathBuf],
    whole: &mut BTreeMap<PathBuf, u64>,
) -> io::Result<u64> {
    // The newest segment comes last: what is behind it in time is left out.
    let Some((newest, others)) = names.split_last() else {
        return Ok(0);
    };
    for name in others {
        if !whole.contains_key(name) {
            let bytes = copy(&from.join(name), &to.join(name))?;
            whole.insert(name.clone(), bytes);
        }
    }
    let bytes = copy_growing(&from.join(newest), &to.join(newest))?;
    // There may be copies of what was removed meanwhile.
    let names: BTreeSet<&Path> = names.iter().map(PathBuf::as_path).collect();
    for entry in fs::read_dir(to)? {
        let entry = entry?;
        if !names.contains(Path::new(&entry.file_name())) {
            fs::remove_file(entry.path())?;
        }
    }
    let whole = others.iter().filter_map(|name| whole.get(name));
    Ok(bytes + whole.sum::<u64>())
}

/// Copies a file that may be written to meanwhile, at its end only; answers with its size.
fn copy_growing(from: &Path, to: &Path) -> io::Result<u64> {
    let (from, to) = (File::open(from)?, create(to)?);
    let length = from.metadata()?.len();
    let (mut piece, mut again) = (vec![0; PIECE], vec![0; PIECE]);
    for number in (0..length.div_ceil(PIECE as u64)).rev() {
        let at = number * PIECE as u64;
        let mut size = read(&from, &mut piece, at)?;
        // A piece that is the same twice is as it was at one moment: each byte is written once.
        loop {
            let size_again = read(&from, &mut again, at)?;
            if piece[..size] == again[..size_again] {
                break;
            }
            (size, piece, again) = (size_again, again, piece);
        }
        to.write_all_at(&piece[..size], at)?;
    }
    to.sync_all()?;
    Ok(length)
}

/// Reads what is there from a position on, at most a whole piece.
fn read(from: &File, piece: &mut [u8], at: u64) -> io::Result<usize> {
    let mut size = 0;
    while size < piece.len() {
        match from.read_at(&mut piece[size..], at + size as u64)? {
            0 => break,
            more => size += more,
        }
    }
    Ok(size)
}

/// Copies what stands beside the log, such as keys.
fn copy_others(from: &Path, to: &Path) -> io::Result<()> {
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        if entry.file_type()?.is_file() && entry.file_name() != LOCK {
            match copy(&entry.path(), &to.join(entry.file_name())) {
                // Something that was written under another name first.
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
    let mut options = private::file_options();
    options.write(true).create(true).truncate(true).open(path)
}
