//! The disk that the log is kept on: the few things that the log asks of a file system.
//!
//! A program has one kind, so that choosing among them costs nothing. Tests have another, which fails and loses power.

use std::{
    ffi::OsString,
    fs::{self, File},
    io,
    os::unix::fs::FileExt,
    path::Path,
};

use nix::sys::statvfs::statvfs;

use crate::store::sled::private;

/// A segment has so many bytes, roughly.
const SEGMENT: u64 = 64 << 20;

/// Where folders and files of the log are.
#[derive(Clone, Debug)]
pub(in crate::store::sled) enum Disk {
    /// The machine's file system.
    Real,
    #[cfg(test)]
    Simulated(super::SimulatedDisk),
}

/// An open file. A read or write by `FileExt` may come back short, unless it is one of all bytes.
#[derive(Debug)]
pub(super) enum LogFile {
    Real(File),
    #[cfg(test)]
    Simulated(super::simulated::SimulatedFile),
}

/// The bytes of a file system.
#[derive(Clone, Copy, Debug)]
pub(super) struct Space {
    pub(super) all: u64,
    pub(super) free: u64,
}

impl Disk {
    /// Makes a folder that nobody else can look into, if there is none.
    pub(in crate::store::sled) fn make_folder(&self, path: &Path) -> io::Result<()> {
        match self {
            Self::Real => private::own_folder(path),
            #[cfg(test)]
            Self::Simulated(disk) => disk.make_folder(path),
        }
    }

    /// Makes the names in a folder durable.
    pub(in crate::store::sled) fn sync_folder(&self, path: &Path) -> io::Result<()> {
        match self {
            Self::Real => private::sync_folder(path),
            #[cfg(test)]
            Self::Simulated(disk) => disk.sync_folder(path),
        }
    }

    /// The names in a folder, in no order.
    pub(super) fn names(&self, folder: &Path) -> io::Result<Vec<OsString>> {
        match self {
            Self::Real => fs::read_dir(folder)?
                .map(|entry| Ok(entry?.file_name()))
                .collect(),
            #[cfg(test)]
            Self::Simulated(disk) => disk.names(folder),
        }
    }

    /// Makes a file that is empty, or empties one.
    pub(super) fn create(&self, path: &Path) -> io::Result<LogFile> {
        match self {
            Self::Real => {
                let mut options = private::file();
                let options = options.read(true).write(true).create(true).truncate(true);
                options.open(path).map(LogFile::Real)
            }
            #[cfg(test)]
            Self::Simulated(disk) => disk.create(path).map(LogFile::Simulated),
        }
    }

    /// Opens a file to read and write it.
    pub(super) fn open(&self, path: &Path) -> io::Result<LogFile> {
        match self {
            Self::Real => {
                let file = File::options().read(true).write(true).open(path);
                file.map(LogFile::Real)
            }
            #[cfg(test)]
            Self::Simulated(disk) => disk.open(path).map(LogFile::Simulated),
        }
    }

    pub(super) fn remove(&self, path: &Path) -> io::Result<()> {
        match self {
            Self::Real => fs::remove_file(path),
            #[cfg(test)]
            Self::Simulated(disk) => disk.remove(path),
        }
    }

    /// How much room there is, if the system tells.
    pub(super) fn space(&self, folder: &Path) -> Option<Space> {
        match self {
            Self::Real => {
                let disk = statvfs(folder).ok()?;
                let [all, free] = [disk.blocks(), disk.blocks_available()]
                    .map(|blocks| blocks * disk.fragment_size());
                Some(Space { all, free })
            }
            #[cfg(test)]
            Self::Simulated(disk) => disk.space(),
        }
    }

    /// A segment that has so many bytes takes no further batch.
    pub(super) fn segment_limit(&self) -> u64 {
        match self {
            Self::Real => SEGMENT,
            #[cfg(test)]
            Self::Simulated(disk) => disk.segment_limit(),
        }
    }
}

impl LogFile {
    pub(super) fn len(&self) -> io::Result<u64> {
        match self {
            Self::Real(file) => Ok(file.metadata()?.len()),
            #[cfg(test)]
            Self::Simulated(file) => file.len(),
        }
    }

    pub(super) fn set_len(&self, length: u64) -> io::Result<()> {
        match self {
            Self::Real(file) => file.set_len(length),
            #[cfg(test)]
            Self::Simulated(file) => file.set_len(length),
        }
    }

    /// Makes its bytes durable. After an error nobody knows which of them are, and another try does not tell: the system
    /// takes for written what it has failed to write.
    pub(super) fn sync_data(&self) -> io::Result<()> {
        match self {
            Self::Real(file) => file.sync_data(),
            #[cfg(test)]
            Self::Simulated(file) => file.sync(),
        }
    }

    /// Makes its bytes and all that is known of it durable; see [`LogFile::sync_data`].
    pub(super) fn sync_all(&self) -> io::Result<()> {
        match self {
            Self::Real(file) => file.sync_all(),
            #[cfg(test)]
            Self::Simulated(file) => file.sync(),
        }
    }
}

impl FileExt for LogFile {
    fn read_at(&self, bytes: &mut [u8], offset: u64) -> io::Result<usize> {
        match self {
            Self::Real(file) => file.read_at(bytes, offset),
            #[cfg(test)]
            Self::Simulated(file) => file.read_at(bytes, offset),
        }
    }

    fn write_at(&self, bytes: &[u8], offset: u64) -> io::Result<usize> {
        match self {
            Self::Real(file) => file.write_at(bytes, offset),
            #[cfg(test)]
            Self::Simulated(file) => file.write_at(bytes, offset),
        }
    }
}
