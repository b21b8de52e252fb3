//! Replaces files as a whole.

use std::{
    fs::{self, File},
    io::{self, Write as _},
    path::{Path, PathBuf},
};

/// Replaces a file atomically, and creates its folder: if the disk is full, the old file stays. A device, pipe or link
/// is written in place.
///
/// # Errors
/// If the file cannot be written.
pub fn replace_file(path: &Path, content: &[u8]) -> io::Result<()> {
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder)?;
    }
    if fs::symlink_metadata(path).is_ok_and(|there| !there.is_file()) {
        return fs::write(path, content);
    }
    let partial = partial(path);
    let written = File::create(&partial).and_then(|mut file| {
        file.write_all(content)?;
        file.sync_data()?;
        fs::rename(&partial, path)
    });
    if written.is_err() {
        let _ = fs::remove_file(&partial);
    }
    written
}

/// Checks that [`replace_file`] could write a file now, and creates its folder. The file stays as it is.
///
/// # Errors
/// If the file is a folder, or its folder cannot be written to.
pub fn check_replaceable(path: &Path) -> io::Result<()> {
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder)?;
    }
    match fs::metadata(path) {
        Ok(there) if there.is_dir() => Err(io::ErrorKind::IsADirectory.into()),
        // A device or pipe: opening it might wait for its reader.
        Ok(there) if !there.is_file() => Ok(()),
        _ => {
            let partial = partial(path);
            File::create(&partial).and_then(|_| fs::remove_file(&partial))
        }
    }
}

/// Returns the path of a file that is not written to its end. A file named `.new` beside a snapshot would be one that waits for its review.
fn partial(path: &Path) -> PathBuf {
    let mut partial = path.to_owned().into_os_string();
    partial.push(".partial");
    partial.into()
}
