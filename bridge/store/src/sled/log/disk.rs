//! The operations of a file system that the log needs. Tests use a simulated disk that fails and loses power.

use std::{
    ffi::OsString,
    fmt::Debug,
    fs::{self, File},
    io,
    path::Path,
    sync::Arc,
};

use bridge_program::system::{self, DiskSpace, FileExt};

use crate::private;

/// The size in bytes from which a segment takes no further batch.
const SEGMENT_BYTES: u64 = 64 << 20;

/// A file system with the folders and files of the log.
pub(in crate::sled) trait Disk: Debug + Send + Sync {
    /// Creates a folder that no other user can read, if it does not exist.
    fn make_folder(&self, path: &Path) -> io::Result<()>;
    /// Makes the names in a folder durable.
    fn sync_folder(&self, path: &Path) -> io::Result<()>;
    /// Returns the names in a folder, in any order.
    fn names(&self, folder: &Path) -> io::Result<Vec<OsString>>;
    /// Creates an empty file, or truncates an existing one.
    fn create(&self, path: &Path) -> io::Result<LogFile>;
    /// Opens a file for reading and writing.
    fn open(&self, path: &Path) -> io::Result<LogFile>;
    fn remove(&self, path: &Path) -> io::Result<()>;
    /// Returns the size and the free space of the file system, if they are known.
    fn space(&self, folder: &Path) -> Option<DiskSpace>;
    /// Returns the size in bytes from which a segment takes no further batch.
    fn segment_limit(&self) -> u64 {
        SEGMENT_BYTES
    }
}

/// An open file. A call of `read_at` or `write_at` may process only some of the bytes.
pub(in crate::sled) trait DiskFile: FileExt + Debug + Send + Sync {
    fn length(&self) -> io::Result<u64>;
    fn set_length(&self, length: u64) -> io::Result<()>;
    /// Makes the bytes durable. After an error it is unknown which bytes are durable. It must not be repeated: the system
    /// marks bytes as written even if it has failed to write them.
    fn sync_bytes(&self) -> io::Result<()>;
    /// Makes the bytes and the metadata durable, see [`DiskFile::sync_bytes`].
    fn sync(&self) -> io::Result<()>;
}

pub(in crate::sled) type LogFile = Arc<dyn DiskFile>;

/// The file system of the machine.
#[derive(Debug)]
pub(in crate::sled) struct RealDisk {
    pub(in crate::sled) segment_limit: u64,
}

impl Default for RealDisk {
    fn default() -> Self {
        Self { segment_limit: SEGMENT_BYTES }
    }
}

impl Disk for RealDisk {
    fn make_folder(&self, path: &Path) -> io::Result<()> {
        private::create_own_folder(path)
    }

    fn sync_folder(&self, path: &Path) -> io::Result<()> {
        system::sync_folder(path)
    }

    fn names(&self, folder: &Path) -> io::Result<Vec<OsString>> {
        let names = fs::read_dir(folder)?;
        names.map(|entry| Ok(entry?.file_name())).collect()
    }

    fn create(&self, path: &Path) -> io::Result<LogFile> {
        let mut options = system::private_file();
        let options = options.read(true).write(true).create(true).truncate(true);
        Ok(Arc::new(options.open(path)?))
    }

    fn open(&self, path: &Path) -> io::Result<LogFile> {
        let file = File::options().read(true).write(true).open(path)?;
        Ok(Arc::new(file))
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        fs::remove_file(path)
    }

    fn space(&self, folder: &Path) -> Option<DiskSpace> {
        system::disk_space(folder)
    }

    fn segment_limit(&self) -> u64 {
        self.segment_limit
    }
}

impl DiskFile for File {
    fn length(&self) -> io::Result<u64> {
        Ok(self.metadata()?.len())
    }

    fn set_length(&self, length: u64) -> io::Result<()> {
        self.set_len(length)
    }

    fn sync_bytes(&self) -> io::Result<()> {
        self.sync_data()
    }

    fn sync(&self) -> io::Result<()> {
        self.sync_all()
    }
}
