//! The files of the log.
//!
//! | bytes | |
//! |-|-|
//! | 7 | `a2a-log` |
//! | 1 | version of the log: 3, or 2 of an earlier program |
//! | 8 | the position of the segment's first byte, which is also its name |
//! | rest | frames; in the newest segment, zeros behind them |

use std::{io, path::PathBuf, sync::Arc};

use super::disk::{Disk, LogFile};
use crate::StoreError;

/// The endings of the names of segments, and of the file whose name is the log's beginning.
const SEGMENT: &str = ".log";
const BEGIN: &str = ".begin";

/// The bytes before a segment's first frame.
pub(super) const HEADER: u64 = 16;

/// The version of the log that this program writes, and the newest that it reads; `frame` and `codec` describe it.
/// Version 2 had no deletions and copies; version 1 had no log.
const VERSION: u8 = 3;
const OLDEST: u8 = 2;
const MAGIC: &[u8; 7] = b"a2a-log";

/// The bytes that are kept free for the index, which is written later and cannot refuse anything; on a small disk, a
/// sixteenth of it.
const RESERVE: u64 = 64 << 20;
const SMALL: u64 = 16;

/// The folder that the segments are in.
#[derive(Clone, Debug)]
pub(super) struct Segments {
    pub(super) disk: Arc<dyn Disk>,
    pub(super) folder: PathBuf,
}

impl Segments {
    /// The path of the segment that begins at `base`.
    pub(super) fn path(&self, base: u64) -> PathBuf {
        self.folder.join(format!("{base:016x}{SEGMENT}"))
    }

    /// The first positions of all segments, in order.
    pub(super) fn list(&self) -> Result<Vec<u64>, StoreError> {
        self.positions(SEGMENT)
    }

    /// The positions in names with this ending, in order.
    fn positions(&self, ending: &str) -> Result<Vec<u64>, StoreError> {
        let failed = |error| StoreError::io(format!("listing {}", self.folder.display()), error);
        let names = self.disk.names(&self.folder).map_err(failed)?;
        let base = |name: &str| u64::from_str_radix(name.strip_suffix(ending)?, 16).ok();
        let mut bases: Vec<u64> = names
            .iter()
            .filter_map(|name| base(name.to_str()?))
            .collect();
        bases.sort_unstable();
        Ok(bases)
    }

    /// Makes a segment; it and its name are durable when this returns.
    ///
    /// Errors: `Full`, after which it may be made again; `Io`.
    pub(super) fn create(&self, base: u64) -> Result<LogFile, StoreError> {
        let path = self.path(base);
        let doing = || format!("making {}", path.display());
        let make = || {
            let file = self.disk.create(&path)?;
            file.write_all_at(&header(base, VERSION), 0)?;
            Ok(file)
        };
        let file = make().map_err(|error| StoreError::io(doing(), error))?;
        let unsynced = |source| StoreError::Io {
            doing: doing(),
            source,
        };
        file.sync().map_err(unsynced)?;
        self.disk.sync_folder(&self.folder).map_err(unsynced)?;
        Ok(file)
    }

    /// Makes the names of all segments durable.
    pub(super) fn sync(&self) -> Result<(), StoreError> {
        let failed = |error| StoreError::io(format!("syncing {}", self.folder.display()), error);
        self.disk.sync_folder(&self.folder).map_err(failed)
    }

    /// Whether a segment is empty, without damaged bytes too.
    pub(super) fn is_empty(&self, base: u64) -> Result<bool, StoreError> {
        Ok(match self.open(base)? {
            Some(file) => {
                let failed =
                    |error| StoreError::io(format!("reading {}", self.path(base).display()), error);
                file.length().map_err(failed)? <= HEADER
            }
            None => true,
        })
    }

    /// Opens a segment; `None` if a crash interrupted its creation, so that nothing can be in it. A damaged header does not
    /// matter for the frames behind it, which have sums of their own.
    ///
    /// Errors: `Newer`, `Io`; `Corrupt` if the file is gone.
    pub(super) fn open(&self, base: u64) -> Result<Option<LogFile>, StoreError> {
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
            Ok(()) if (OLDEST..=VERSION).any(|version| found == header(base, version)) => {
                Ok(Some(file))
            }
            // The header is durable before anything is written behind it.
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
                tracing::error!(path = %path.display(), "the header of a segment of the log is broken");
                Ok(Some(file))
            }
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Ok(None),
            Err(error) => Err(failed(error)),
        }
    }

    /// Whether an earlier program has made this file. That program could not read the records of this one.
    pub(super) fn is_earlier(&self, file: &LogFile) -> bool {
        let mut found = [0; HEADER as usize];
        file.read_exact_at(&mut found, 0).is_ok()
            && found.starts_with(MAGIC)
            && (OLDEST..VERSION).contains(&found[7])
    }

    /// The beginning of the log: the segments before it were removed, since they were not needed any more.
    pub(super) fn begin(&self) -> Result<u64, StoreError> {
        Ok(self.begins()?.last().copied().unwrap_or(0))
    }

    fn begins(&self) -> Result<Vec<u64>, StoreError> {
        self.positions(BEGIN)
    }

    /// The names of all valid files, in order.
    pub(super) fn names(&self) -> Result<Vec<PathBuf>, StoreError> {
        // Another process may give room back: it tells where the log begins before it removes what is before that.
        let (mut begin, mut all) = (self.begin()?, self.list()?);
        loop {
            let before = std::mem::replace(&mut begin, self.begin()?);
            if before == begin {
                break;
            }
            all = self.list()?;
        }
        let bases = all.into_iter().filter(|base| *base >= begin);
        let mut names: Vec<PathBuf> = bases
            .map(|base| format!("{base:016x}{SEGMENT}").into())
            .collect();
        if begin > 0 {
            names.insert(0, format!("{begin:016x}{BEGIN}").into());
        }
        Ok(names)
    }

    /// Sets the beginning of the log durably. It is the name of a file, so that a crash leaves it whole or absent.
    pub(super) fn set_begin(&self, base: u64) -> Result<(), StoreError> {
        let path = self.folder.join(format!("{base:016x}{BEGIN}"));
        let failed = |error| StoreError::io(format!("making {}", path.display()), error);
        self.disk.create(&path).map_err(failed)?;
        self.sync()
    }

    /// Removes all segments before the beginning of the log.
    pub(super) fn remove_before_begin(&self) -> Result<(), StoreError> {
        let (begins, begin) = (self.begins()?, self.begin()?);
        for base in self.list()?.into_iter().filter(|base| *base < begin) {
            self.remove(base)?;
        }
        for former in begins.into_iter().filter(|former| *former < begin) {
            let path = self.folder.join(format!("{former:016x}{BEGIN}"));
            let failed = |error| StoreError::io(format!("removing {}", path.display()), error);
            self.disk.remove(&path).map_err(failed)?;
        }
        Ok(())
    }

    /// Removes an empty segment.
    pub(super) fn remove(&self, base: u64) -> Result<(), StoreError> {
        let path = self.path(base);
        let failed = |error| StoreError::io(format!("removing {}", path.display()), error);
        self.disk.remove(&path).map_err(failed)
    }

    /// Whether the free space is more than the reserve for the index.
    ///
    /// Errors: `Full`.
    pub(super) fn check_reserve(&self, is_freeing: bool) -> Result<(), StoreError> {
        // If the system does not tell the free space, the writes find out.
        match self.disk.space(&self.folder) {
            Some(space) if space.free < kept(space.all) >> u32::from(is_freeing) => {
                Err(StoreError::Full {
                    doing: "the index".into(),
                })
            }
            Some(_) | None => Ok(()),
        }
    }
}

/// The reserve for the index on a disk of so many bytes.
fn kept(all: u64) -> u64 {
    RESERVE.min(all / SMALL)
}

fn header(base: u64, version: u8) -> [u8; HEADER as usize] {
    let mut header = [0; HEADER as usize];
    header[..7].copy_from_slice(MAGIC);
    header[7] = version;
    header[8..].copy_from_slice(&base.to_be_bytes());
    header
}
