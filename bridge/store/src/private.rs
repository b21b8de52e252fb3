//! Creates folders and files that only the user who runs the bridge can read. They contain conversations, and the secrets
//! of webhooks and bots.

use std::{
    fs::{self, DirBuilder, File, OpenOptions, Permissions},
    io,
    os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _, PermissionsExt as _},
    path::Path,
};

/// Creates a folder and its missing parents. Their names are durable when this returns. The permissions of an existing
/// folder are not changed.
pub(crate) fn create_folder(path: &Path) -> io::Result<()> {
    if path.exists() && !path.is_dir() {
        let reason = "it is a file: name a folder, which need not exist";
        return Err(io::Error::new(io::ErrorKind::NotADirectory, reason));
    }
    let is_missing = |path: &&Path| !path.as_os_str().is_empty() && !path.exists();
    let made: Vec<&Path> = path.ancestors().take_while(is_missing).collect();
    DirBuilder::new().recursive(true).mode(0o700).create(path)?;
    made.into_iter().try_for_each(sync_name)
}

/// Creates a folder that only contains data of a store. If it exists, its permissions for other users are removed.
pub(crate) fn create_own_folder(path: &Path) -> io::Result<()> {
    create_folder(path)?;
    let mode = fs::metadata(path)?.permissions().mode();
    if mode & 0o077 != 0
        && let Err(error) = fs::set_permissions(path, Permissions::from_mode(0o700))
    {
        let path = path.display();
        tracing::warn!(%path, %error, "other users can read a folder of the store: run chmod 700 on it");
    }
    Ok(())
}

/// Removes the permissions of other users from the files that sled has created in a folder. If this fails, the
/// permissions of the folder still protect them.
pub(crate) fn restrict(folder: &Path) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let is_folder = entry.file_type().is_ok_and(|kind| kind.is_dir());
        let mode = if is_folder { 0o700 } else { 0o600 };
        let is_open = entry
            .metadata()
            .is_ok_and(|known| known.permissions().mode() & 0o077 != 0);
        if is_open
            && let Err(error) = fs::set_permissions(entry.path(), Permissions::from_mode(mode))
        {
            tracing::debug!(%error, "the permissions of a file of the index could not be changed");
        }
    }
}

/// Makes the name of a file or folder durable.
pub(crate) fn sync_name(path: &Path) -> io::Result<()> {
    match path.parent() {
        Some(folder) if folder.as_os_str().is_empty() => sync_folder(Path::new(".")),
        Some(folder) => sync_folder(folder),
        None => Ok(()),
    }
}

/// Makes the names in a folder durable.
pub(crate) fn sync_folder(folder: &Path) -> io::Result<()> {
    File::open(folder)?.sync_all()
}

/// Returns the options with which files are created.
pub(crate) fn file_options() -> OpenOptions {
    let mut options = File::options();
    options.mode(0o600);
    options
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_in_the_place_of_a_folder_is_reported() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let error = create_folder(file.path()).unwrap_err().to_string();
        assert_eq!(error, "it is a file: name a folder, which need not exist");
    }
}
