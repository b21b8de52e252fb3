//! Replaces a file.

use std::{fs, io, path::Path};

/// Replaces a file atomically, and creates its folder: if the disk is full, the old file stays. A device, pipe or link
/// is written in place.
pub(crate) fn replace_file(path: &Path, content: &[u8]) -> io::Result<()> {
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder)?;
    }
    if fs::symlink_metadata(path).is_ok_and(|there| !there.is_file()) {
        return fs::write(path, content);
    }
    let mut new = path.to_owned().into_os_string();
    new.push(".new");
    let written = fs::write(&new, content).and_then(|()| fs::rename(&new, path));
    if written.is_err() {
        let _ = fs::remove_file(&new);
    }
    written
}
