//! Replaces a file.

use std::{fs, io, path::Path};

/// Replaces a file whole, and makes its folder: a full disk leaves the old one. A device, pipe or link is written to as it
/// stands.
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
