//! Folders and files for nobody but the user who runs the bridge: what people say stands in them, and what
//! webhooks and bots are shown.

use std::{
    fs::{self, DirBuilder, File, OpenOptions, Permissions},
    io,
    os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _, PermissionsExt as _},
    path::Path,
};

/// Makes a folder, and those above it, where there is none. One that is there is its owner's to open or close.
pub(super) fn folder(path: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(path)
}

/// Makes a folder that nobody but a store has anything in; one that others can look into is closed. The files
/// in it that sled makes have whatever permissions it gives them, so that it is the folder that counts.
pub(super) fn own_folder(path: &Path) -> io::Result<()> {
    folder(path)?;
    let mode = fs::metadata(path)?.permissions().mode();
    if mode & 0o077 != 0
        && let Err(error) = fs::set_permissions(path, Permissions::from_mode(0o700))
    {
        let path = path.display();
        tracing::warn!(%path, %error, "others can look into a folder of the store: run chmod 700 on it");
    }
    Ok(())
}

/// How files are made.
pub(super) fn file() -> OpenOptions {
    let mut options = File::options();
    options.mode(0o600);
    options
}
