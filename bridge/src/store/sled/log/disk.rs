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
    faults: Faults,
}

impl Disk {
    pub(super) fn of(folder: &Path) -> Self {
        Self {
            folder: folder.into(),
            #[cfg(test)]
            faults: Faults::default(),
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
    pub(super) fn faults(&self) -> Faults {
        self.faults.clone()
    }
}

/// How many bytes may still be written; what is written when there are none fails as on a full disk.
#[cfg(test)]
#[derive(Clone, Debug)]
pub(in crate::store::sled) struct Faults(std::sync::Arc<std::sync::atomic::AtomicI64>);

#[cfg(test)]
impl Default for Faults {
    fn default() -> Self {
        Self(std::sync::Arc::new(i64::MAX.into()))
    }
}

/// Reads that do not come back for as long as a test wants, as those of a disk that hangs.
#[cfg(test)]
#[derive(Clone, Debug, Default)]
pub(in crate::store::sled) struct Hanging(
    std::sync::Arc<(std::sync::Mutex<(bool, usize)>, std::sync::Condvar)>,
);

#[cfg(test)]
impl Hanging {
    /// From now on reads hang, or no more.
    pub(in crate::store::sled) fn set(&self, hangs: bool) {
        self.0.0.lock().unwrap().0 = hangs;
        self.0.1.notify_all();
    }

    /// How many do.
    pub(in crate::store::sled) fn count(&self) -> usize {
        self.0.0.lock().unwrap().1
    }

    /// Fails the test if its own thread reads from the hanging disk.
    pub(super) fn pass(&self) {
        const TOO_LONG: std::time::Duration = std::time::Duration::from_secs(20);
        let mut state = self.0.0.lock().unwrap();
        state.1 += 1;
        let hangs = |state: &mut (bool, usize)| state.0;
        let (mut state, waited) = self.0.1.wait_timeout_while(state, TOO_LONG, hangs).unwrap();
        state.1 -= 1;
        assert!(!waited.timed_out(), "nobody let the read go on");
    }
}

#[cfg(test)]
impl Faults {
    /// From now on so many bytes fit.
    pub(in crate::store::sled) fn room(&self, bytes: i64) {
        self.0.store(bytes, std::sync::atomic::Ordering::SeqCst);
    }

    fn write(&self, bytes: usize) -> io::Result<()> {
        let bytes = i64::try_from(bytes).unwrap_or(i64::MAX);
        let left = self.0.fetch_sub(bytes, std::sync::atomic::Ordering::SeqCst) - bytes;
        match left < 0 {
            true => {
                self.room(0);
                Err(io::ErrorKind::StorageFull.into())
            }
            false => Ok(()),
        }
    }
}
