//! The file system below the log: writing to it, and how much room it has. Tests make both fail here.

use std::{
    fs::File,
    io,
    os::unix::fs::FileExt as _,
    path::{Path, PathBuf},
};

use nix::sys::statvfs::statvfs;

use crate::store::StoreError;

/// So many bytes are left to the index, which is written later and cannot refuse anything; on a small disk, a
/// sixteenth of it.
const RESERVE: u64 = 64 << 20;
const SMALL: u64 = 16;

/// The file system that the log is on.
#[derive(Debug)]
pub(super) struct Disk {
    folder: PathBuf,
    #[cfg(test)]
    faults: super::Faults,
}

impl Disk {
    pub(super) fn of(folder: &Path) -> Self {
        Self {
            folder: folder.into(),
            #[cfg(test)]
            faults: super::Faults::default(),
        }
    }

    pub(super) fn write(&self, file: &File, bytes: &[u8], offset: u64) -> io::Result<()> {
        #[cfg(test)]
        self.faults.write(bytes.len())?;
        file.write_all_at(bytes, offset)
    }

    /// Whether there is more room than what is kept for the index.
    ///
    /// Errors: `Full`.
    pub(super) fn check_reserve(&self) -> Result<(), StoreError> {
        // Where the system does not tell, the writes themselves do.
        let Ok(disk) = statvfs(&self.folder) else {
            return Ok(());
        };
        let (all, free) = (disk.blocks(), disk.blocks_available());
        let [all, free] = [all, free].map(|blocks| blocks * disk.fragment_size());
        match free < RESERVE.min(all / SMALL) {
            true => Err(StoreError::Full {
                doing: "the index".into(),
            }),
            false => Ok(()),
        }
    }

    #[cfg(test)]
    pub(super) fn faults(&self) -> super::Faults {
        self.faults.clone()
    }
}
