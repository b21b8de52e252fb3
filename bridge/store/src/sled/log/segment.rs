//! The segments: the files of the log.
//!
//! | bytes | |
//! |-|-|
//! | 7 | `a2a-log` |
//! | 1 | version of the log: 3, or 2 in older segments |
//! | 8 | the position of the segment's first byte, which is also its name |
//! | rest | frames; in the newest segment, zeros after them |

use std::{io, path::PathBuf, sync::Arc};

use bridge_program::system;

use super::disk::{Disk, LogFile};
use crate::{Result, StoreError};

/// The extensions of segments, and of the files whose names are the log's beginning and its newest segment.
const SEGMENT_EXTENSION: &str = ".log";
const BEGIN_EXTENSION: &str = ".begin";
const NEWEST_EXTENSION: &str = ".newest";

/// The size of a segment's header in bytes.
pub(super) const HEADER: u64 = 16;

/// The version of the log that this program writes, and the oldest that it reads. `frame` and `codec` describe it.
/// Version 2 had no deletions and copies; version 1 had no log.
const VERSION: u8 = 3;
const OLDEST_VERSION: u8 = 2;
const MAGIC: &[u8; 7] = b"a2a-log";

/// The bytes that are kept free for the index, which is written after the log; on a small disk, a sixteenth of it.
const MAX_RESERVE: u64 = 64 << 20;
const RESERVE_DIVISOR: u64 = 16;

/// The folder with the segments.
#[derive(Clone, Debug)]
pub(super) struct Segments {
    pub(super) disk: Arc<dyn Disk>,
    pub(super) folder: PathBuf,
}

impl Segments {
    /// Returns the path of the segment that begins at `base`.
    pub(super) fn path(&self, base: u64) -> PathBuf {
        self.named(base, SEGMENT_EXTENSION)
    }

    fn named(&self, base: u64, extension: &str) -> PathBuf {
        self.folder.join(format!("{base:016x}{extension}"))
    }

    /// Returns the first positions of all segments, in order.
    pub(super) fn list(&self) -> Result<Vec<u64>> {
        self.positions(SEGMENT_EXTENSION)
    }

    /// Returns the positions in file names with this extension, in order.
    fn positions(&self, extension: &str) -> Result<Vec<u64>> {
        let failed = |error| StoreError::io(format!("listing {}", self.folder.display()), error);
        let names = self.disk.names(&self.folder).map_err(failed)?;
        let base = |name: &str| u64::from_str_radix(name.strip_suffix(extension)?, 16).ok();
        let mut bases: Vec<u64> = names.iter().filter_map(|name| base(name.to_str()?)).collect();
        bases.sort_unstable();
        Ok(bases)
    }

    /// Creates a segment. Its header and its name are durable when this returns, and it is recorded as the newest.
    ///
    /// Errors: `Full` and `Unavailable`, after which it can be repeated; `Io`.
    pub(super) fn create(&self, base: u64) -> Result<LogFile> {
        let path = self.path(base);
        let doing = || format!("making {}", path.display());
        let make = || {
            let file = self.disk.create(&path)?;
            file.write_all_at(&header(base, VERSION), 0)?;
            Ok(file)
        };
        let file = make().map_err(|error| StoreError::io(doing(), error))?;
        let unsynced = |error| match system::is_lack_of_files(&error) {
            true => StoreError::io(doing(), error),
            false => StoreError::Io { doing: doing(), error },
        };
        file.sync().map_err(unsynced)?;
        self.disk.sync_folder(&self.folder).map_err(unsynced)?;
        self.set_newest(base)?;
        Ok(file)
    }

    /// Returns the newest segment according to the record of it. Folders of older programs have none.
    pub(super) fn newest(&self) -> Result<Option<u64>> {
        Ok(self.positions(NEWEST_EXTENSION)?.last().copied())
    }

    /// Records the newest segment durably, so that it is missed when it is lost. The segment's own name must be durable.
    pub(super) fn set_newest(&self, base: u64) -> Result<()> {
        let recorded = self.positions(NEWEST_EXTENSION)?;
        if !recorded.contains(&base) {
            self.create_name(base, NEWEST_EXTENSION)?;
        }
        self.remove_names(recorded.into_iter().filter(|one| *one != base), NEWEST_EXTENSION)
    }

    /// Removes the record that a segment is the newest durably, before the segment is removed because it is empty.
    pub(super) fn forget_newest(&self, base: u64) -> Result<()> {
        match self.positions(NEWEST_EXTENSION)?.contains(&base) {
            true => {
                self.remove_names([base], NEWEST_EXTENSION)?;
                self.sync()
            }
            false => Ok(()),
        }
    }

    /// Creates an empty file, of which only the name matters, durably.
    fn create_name(&self, base: u64, extension: &str) -> Result<()> {
        let path = self.named(base, extension);
        let failed = |error| StoreError::io(format!("making {}", path.display()), error);
        self.disk.create(&path).map_err(failed)?;
        self.sync()
    }

    /// Removes such files.
    fn remove_names(&self, bases: impl IntoIterator<Item = u64>, extension: &str) -> Result<()> {
        for base in bases {
            let path = self.named(base, extension);
            let failed = |error| StoreError::io(format!("removing {}", path.display()), error);
            self.disk.remove(&path).map_err(failed)?;
        }
        Ok(())
    }

    /// Makes the names of all segments durable.
    pub(super) fn sync(&self) -> Result<()> {
        let failed = |error| StoreError::io(format!("syncing {}", self.folder.display()), error);
        self.disk.sync_folder(&self.folder).map_err(failed)
    }

    /// Returns whether a segment has no bytes after its header.
    pub(super) fn is_empty(&self, base: u64) -> Result<bool> {
        Ok(match self.open(base)? {
            Some(file) => {
                let failed =
                    |error| StoreError::io(format!("reading {}", self.path(base).display()), error);
                file.length().map_err(failed)? <= HEADER
            }
            None => true,
        })
    }

    /// Opens a segment. Returns `None` if a crash interrupted its creation, so that it cannot have any frames. A damaged
    /// header is only reported, since the frames have their own checksums.
    ///
    /// Errors: `Newer`, `Io`; `Corrupt` if the file is gone.
    pub(super) fn open(&self, base: u64) -> Result<Option<LogFile>> {
        let path = self.path(base);
        let failed = |error: io::Error| match error.kind() {
            io::ErrorKind::NotFound => {
                StoreError::corrupt(path.display().to_string(), "it is missing")
            }
            _ => StoreError::io(format!("opening {}", path.display()), error),
        };
        let file = self.disk.open(&path).map_err(failed)?;
        let mut found = [0; HEADER as usize];
        match file.read_exact_at(&mut found, 0) {
            Ok(()) if (OLDEST_VERSION..=VERSION).any(|version| found == header(base, version)) => {
                Ok(Some(file))
            }
            // The header is durable before any frame is written.
            Ok(()) if found == [0; HEADER as usize] && file.length().map_err(failed)? <= HEADER => {
                Ok(None)
            }
            Ok(())
                if found.starts_with(MAGIC)
                    && found[7] > VERSION
                    && found[8..] == base.to_be_bytes() =>
            {
                Err(StoreError::Newer {
                    path: self.folder.clone(),
                    found: found[7].into(),
                    known: VERSION.into(),
                })
            }
            Ok(()) => {
                tracing::error!(path = %path.display(), "the header of a segment of the log is damaged");
                Ok(Some(file))
            }
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Ok(None),
            Err(error) => Err(failed(error)),
        }
    }

    /// Returns whether an older program has created this file. That program could not read the records of this one.
    pub(super) fn is_older_version(&self, file: &LogFile) -> bool {
        let mut found = [0; HEADER as usize];
        file.read_exact_at(&mut found, 0).is_ok()
            && found.starts_with(MAGIC)
            && (OLDEST_VERSION..VERSION).contains(&found[7])
    }

    /// Returns the beginning of the log. The segments before it were removed.
    pub(super) fn begin(&self) -> Result<u64> {
        Ok(self.begins()?.last().copied().unwrap_or(0))
    }

    fn begins(&self) -> Result<Vec<u64>> {
        self.positions(BEGIN_EXTENSION)
    }

    /// Returns the names of all valid files, in order.
    pub(super) fn names(&self) -> Result<Vec<PathBuf>> {
        // Another process may compact the log: it sets the beginning before it removes segments.
        let (mut begin, mut bases) = (self.begin()?, self.list()?);
        loop {
            let before = std::mem::replace(&mut begin, self.begin()?);
            if before == begin {
                break;
            }
            bases = self.list()?;
        }
        let bases = bases.into_iter().filter(|base| *base >= begin);
        let mut names: Vec<PathBuf> =
            bases.map(|base| format!("{base:016x}{SEGMENT_EXTENSION}").into()).collect();
        if begin > 0 {
            names.insert(0, format!("{begin:016x}{BEGIN_EXTENSION}").into());
        }
        Ok(names)
    }

    /// Sets the beginning of the log durably. It is the name of a file, so a crash leaves either the old or the new one.
    pub(super) fn set_begin(&self, base: u64) -> Result<()> {
        self.create_name(base, BEGIN_EXTENSION)
    }

    /// Removes all segments before the beginning of the log.
    pub(super) fn remove_before_begin(&self) -> Result<()> {
        let (begins, begin) = (self.begins()?, self.begin()?);
        for base in self.list()?.into_iter().filter(|base| *base < begin) {
            self.remove(base)?;
        }
        self.remove_names(begins.into_iter().filter(|former| *former < begin), BEGIN_EXTENSION)
    }

    /// Removes an empty segment.
    pub(super) fn remove(&self, base: u64) -> Result<()> {
        self.remove_names([base], SEGMENT_EXTENSION)
    }

    /// Checks that the free space is more than the reserve for the index.
    ///
    /// Errors: `Full`.
    pub(super) fn check_reserve(&self, is_freeing: bool) -> Result<()> {
        // If the free space is unknown, a write fails when the disk is full.
        match self.disk.space(&self.folder) {
            Some(space) if space.free < reserve(space.total) >> u32::from(is_freeing) => {
                Err(StoreError::Full {
                    doing: format!("the index beside {}", self.folder.display()),
                })
            }
            Some(_) | None => Ok(()),
        }
    }
}

/// Returns the reserve for the index on a disk of `total` bytes.
fn reserve(total: u64) -> u64 {
    MAX_RESERVE.min(total / RESERVE_DIVISOR)
}

fn header(base: u64, version: u8) -> [u8; HEADER as usize] {
    let mut header = [0; HEADER as usize];
    header[..7].copy_from_slice(MAGIC);
    header[7] = version;
    header[8..].copy_from_slice(&base.to_be_bytes());
    header
}
