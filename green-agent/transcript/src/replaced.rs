//! Replaces files as a whole.

use std::{
    fs::{self, File},
    io::{self, Write as _},
    path::Path,
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
    // A file named `.new` beside a snapshot would be one that waits for its review.
    let mut partial = path.to_owned().into_os_string();
    partial.push(".partial");
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
