//! Events that are too large for the database, a file each, named by the SHA-256 of what is in it.
//!
//! sled keeps large values in files that it never fsyncs. So they do not get there: a file is complete
//! and durable before the event that names it is appended. A file that no event came to name, because
//! the append was refused or the process died, is removed when the store is opened again.

use std::{
    fs::{self, File},
    io::{self, Write as _},
    path::{Path, PathBuf},
    sync::atomic::{AtomicU64, Ordering},
};

use sha2::{Digest as _, Sha256};

use super::codec::Hash;
use crate::store::StoreError;

/// The folder of those files.
#[derive(Debug)]
pub(super) struct ContentFiles {
    folder: PathBuf,
    written: AtomicU64,
}

impl ContentFiles {
    /// Opens the folder, or makes it.
    pub(super) fn open(folder: PathBuf) -> Result<Self, StoreError> {
        let failed = |error| StoreError::io(format!("making {}", folder.display()), error);
        fs::create_dir_all(&folder).map_err(failed)?;
        Ok(Self {
            folder,
            written: AtomicU64::new(0),
        })
    }

    /// Keeps `content`; its file is durable when this returns.
    pub(super) fn write(&self, content: &[u8]) -> Result<Hash, StoreError> {
        let hash = Sha256::digest(content).into();
        let path = self.path(&hash);
        let failed = |error| StoreError::io(format!("writing {}", path.display()), error);
        self.write_durably(&path, content).map_err(failed)?;
        Ok(hash)
    }

    /// What was kept under this name, if it is still what it was.
    pub(super) fn read(&self, hash: &Hash) -> Result<Vec<u8>, StoreError> {
        let path = self.path(hash);
        let failed = |error| StoreError::io(format!("reading {}", path.display()), error);
        let content = fs::read(&path).map_err(failed)?;
        match Hash::from(Sha256::digest(&content)) == *hash {
            true => Ok(content),
            false => Err(StoreError::corrupt(
                path.display().to_string(),
                "its content has another hash",
            )),
        }
    }

    /// Removes all files whose name is not `named`. Only right while nobody writes.
    pub(super) fn sweep(
        &self,
        named: impl Fn(&str) -> Result<bool, StoreError>,
    ) -> Result<(), StoreError> {
        let failed = |error| StoreError::io(format!("clearing {}", self.folder.display()), error);
        for entry in fs::read_dir(&self.folder).map_err(failed)? {
            let path = entry.map_err(failed)?.path();
            let name = path.file_name().and_then(|name| name.to_str());
            if !named(name.unwrap_or_default())? {
                fs::remove_file(&path).map_err(failed)?;
            }
        }
        Ok(())
    }

    /// The name appears only when all of the content is on the disk.
    fn write_durably(&self, path: &Path, content: &[u8]) -> io::Result<()> {
        let draft = self.written.fetch_add(1, Ordering::Relaxed);
        let draft = path.with_extension(format!("{draft}.draft"));
        let mut file = File::create(&draft)?;
        file.write_all(content)?;
        file.sync_all()?;
        fs::rename(&draft, path)?;
        sync_folder(&self.folder)
    }

    fn path(&self, hash: &Hash) -> PathBuf {
        self.folder.join(name(hash))
    }
}

/// A file's name: its hash, in hexadecimal.
pub(super) fn name(hash: &Hash) -> String {
    hash.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Makes the names in a folder durable.
pub(super) fn sync_folder(folder: &Path) -> io::Result<()> {
    File::open(folder)?.sync_all()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn content_comes_back_as_it_was_or_not_at_all() {
        let folder = tempfile::tempdir().unwrap();
        let files = ContentFiles::open(folder.path().join("content")).unwrap();
        let hash = files.write(b"large").unwrap();
        assert_eq!(files.write(b"large").unwrap(), hash);
        assert_eq!(files.read(&hash).unwrap(), b"large");
        fs::write(files.path(&hash), b"larger").unwrap();
        let error = files.read(&hash).unwrap_err().to_string();
        assert!(error.ends_with("is corrupt: its content has another hash"));
    }

    #[test]
    fn files_that_nothing_names_are_swept() {
        let folder = tempfile::tempdir().unwrap();
        let files = ContentFiles::open(folder.path().join("content")).unwrap();
        let [kept, left] = [b"kept", b"left"].map(|content| files.write(content).unwrap());
        fs::write(files.path(&left).with_extension("7.draft"), b"").unwrap();
        files.sweep(|file| Ok(file == name(&kept))).unwrap();
        assert!(files.read(&kept).is_ok());
        assert_eq!(fs::read_dir(&files.folder).unwrap().count(), 1);
    }
}
