//! The files of the log.
//!
//! | bytes | |
//! |-|-|
//! | 7 | `a2a-log` |
//! | 1 | version of the log: 2 |
//! | 8 | the position of the segment's first byte, which is also its name |
//! | rest | frames; in the newest segment, zeros behind them |

use std::{
    fs::{self, File},
    io,
    os::unix::fs::FileExt as _,
    path::{Path, PathBuf},
};

use crate::store::{StoreError, sled::private};

/// The bytes before a segment's first frame.
pub(super) const HEADER: u64 = 16;

/// The version of what stands in the log that this program writes, and the newest that it reads: `frame`
/// and `codec` say what it is. There was a 1, without a log.
const VERSION: u8 = 2;
const MAGIC: &[u8; 7] = b"a2a-log";

/// Where the segment that begins at `base` is.
pub(super) fn path(folder: &Path, base: u64) -> PathBuf {
    folder.join(format!("{base:016x}.log"))
}

/// The first positions of all segments, in order.
pub(super) fn list(folder: &Path) -> Result<Vec<u64>, StoreError> {
    let failed = |error| StoreError::io(format!("listing {}", folder.display()), error);
    let mut bases = Vec::new();
    for entry in fs::read_dir(folder).map_err(failed)? {
        let name = entry.map_err(failed)?.file_name();
        let base = name.to_str().and_then(|name| name.strip_suffix(".log"));
        bases.extend(base.and_then(|base| u64::from_str_radix(base, 16).ok()));
    }
    bases.sort_unstable();
    Ok(bases)
}

/// Makes a segment; it and its name are durable when this returns.
pub(super) fn create(folder: &Path, base: u64) -> Result<File, StoreError> {
    let path = path(folder, base);
    let failed = |error| StoreError::io(format!("making {}", path.display()), error);
    let make = || {
        let mut options = private::file();
        let options = options.read(true).write(true).create(true).truncate(true);
        let file = options.open(&path)?;
        file.write_all_at(&header(base), 0)?;
        file.sync_all()?;
        sync_folder(folder)?;
        Ok(file)
    };
    make().map_err(failed)
}

/// Opens a segment; `None` if its making was cut off, so that nothing can stand in it. A header that has changed
/// since says nothing of the frames behind it, which have sums of their own.
///
/// Errors: `Newer`, `Io`; `Corrupt` if the file is gone.
pub(super) fn open(folder: &Path, base: u64) -> Result<Option<File>, StoreError> {
    let path = path(folder, base);
    let failed = |error: io::Error| match error.kind() {
        io::ErrorKind::NotFound => StoreError::corrupt(path.display().to_string(), "it is missing"),
        _ => StoreError::io(format!("opening {}", path.display()), error),
    };
    let file = File::options().read(true).write(true).open(&path);
    let file = file.map_err(failed)?;
    let mut found = [0; HEADER as usize];
    match file.read_exact_at(&mut found, 0) {
        Ok(()) if found == header(base) => Ok(Some(file)),
        Ok(()) if found == [0; HEADER as usize] => Ok(None),
        Ok(())
            if found.starts_with(MAGIC)
                && found[7] > VERSION
                && found[8..] == base.to_be_bytes() =>
        {
            Err(StoreError::Newer {
                path: folder.into(),
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

/// Removes a segment in which nothing can stand.
pub(super) fn remove(folder: &Path, base: u64) -> Result<(), StoreError> {
    let path = path(folder, base);
    let failed = |error| StoreError::io(format!("removing {}", path.display()), error);
    fs::remove_file(&path).map_err(failed)
}

fn header(base: u64) -> [u8; HEADER as usize] {
    let mut header = [0; HEADER as usize];
    header[..7].copy_from_slice(MAGIC);
    header[7] = VERSION;
    header[8..].copy_from_slice(&base.to_be_bytes());
    header
}

/// Makes the names in a folder durable.
pub(in crate::store::sled) fn sync_folder(folder: &Path) -> io::Result<()> {
    File::open(folder)?.sync_all()
}
