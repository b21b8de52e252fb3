//! Creates folders and files that only the user who runs the bridge can read. They contain conversations, and the secrets
//! of webhooks and bots.

use std::{fs, io, path::Path};

use bridge_program::system;

/// Creates a folder and its missing parents. Their names are durable when this returns. The permissions of an existing
/// folder are not changed.
pub(crate) fn create_folder(path: &Path) -> io::Result<()> {
    if path.exists() && !path.is_dir() {
        let reason = "it is a file: name a folder, which need not exist";
        return Err(io::Error::new(io::ErrorKind::NotADirectory, reason));
    }
    let is_missing = |path: &&Path| !path.as_os_str().is_empty() && !path.exists();
    let made: Vec<&Path> = path.ancestors().take_while(is_missing).collect();
    system::private_folder().create(path)?;
    made.into_iter().try_for_each(sync_name)
}

/// Creates a folder that only contains data of a store. If it exists, its permissions for other users are removed.
pub(crate) fn create_own_folder(path: &Path) -> io::Result<()> {
    create_folder(path)?;
    if system::shared_mode(&fs::metadata(path)?).is_some()
        && let Err(error) = system::make_private(path)
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
        let known = entry.metadata();
        if known.is_ok_and(|known| system::shared_mode(&known).is_some())
            && let Err(error) = system::make_private(&entry.path())
        {
            tracing::debug!(%error, "the permissions of a file of the index could not be changed");
        }
    }
}

/// Makes the name of a file or folder durable.
pub(crate) fn sync_name(path: &Path) -> io::Result<()> {
    path.parent().map_or(Ok(()), system::sync_folder)
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
