//! Windows. The permissions of a new file or folder are those of the folder that contains it: in a user's profile only that
//! user, administrators and the system can read it.

use std::{
    fs::{DirBuilder, File, Metadata, OpenOptions},
    future::pending,
    io,
    os::windows::fs::FileExt as _,
    path::{Path, PathBuf},
};

use tokio::signal::windows::{
    CtrlBreak, CtrlC, CtrlClose, CtrlShutdown, ctrl_break, ctrl_c, ctrl_close, ctrl_shutdown,
};

use super::DiskSpace;

/// ERROR_TOO_MANY_OPEN_FILES and WSAEMFILE.
const TOO_MANY_FILES: [i32; 2] = [4, 10024];

/// Listens for what asks a program to stop: Ctrl-C, Ctrl-Break, the end of its console, and the end of the system.
#[derive(Debug)]
pub struct StopSignals {
    interrupt: CtrlC,
    interrupt_now: CtrlBreak,
    close: CtrlClose,
    shutdown: CtrlShutdown,
}

impl StopSignals {
    /// Installs the handlers. It must be called within a tokio runtime.
    ///
    /// # Errors
    /// If the system does not allow it.
    pub fn listen() -> io::Result<Self> {
        Ok(Self {
            interrupt: ctrl_c()?,
            interrupt_now: ctrl_break()?,
            close: ctrl_close()?,
            shutdown: ctrl_shutdown()?,
        })
    }

    /// Waits for the next one.
    pub async fn recv(&mut self) {
        tokio::select! {
            _ = self.interrupt.recv() => {}
            _ = self.interrupt_now.recv() => {}
            _ = self.close.recv() => {}
            _ = self.shutdown.recv() => {}
        }
    }
}

/// Never asks for anything: Windows has no SIGHUP.
#[derive(Debug)]
pub struct ReloadSignals;

impl ReloadSignals {
    /// Does nothing.
    ///
    /// # Errors
    /// Never.
    pub fn listen() -> io::Result<Self> {
        Ok(Self)
    }

    /// Waits forever.
    pub async fn recv(&mut self) -> Option<()> {
        pending().await
    }
}

/// Reads and writes at positions of a file.
pub trait FileExt {
    /// Reads some bytes at a position; returns their number, and 0 at the end of the file.
    ///
    /// # Errors
    /// If the file cannot be read.
    fn read_at(&self, bytes: &mut [u8], position: u64) -> io::Result<usize>;

    /// Writes some of the bytes at a position; returns their number.
    ///
    /// # Errors
    /// If the file cannot be written.
    fn write_at(&self, bytes: &[u8], position: u64) -> io::Result<usize>;

    /// Fills the buffer with the bytes at a position.
    fn read_exact_at(&self, mut bytes: &mut [u8], mut position: u64) -> io::Result<()> {
        while !bytes.is_empty() {
            match self.read_at(bytes, position) {
                Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
                Ok(count) => (bytes, position) = (&mut bytes[count..], position + count as u64),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// Writes all the bytes at a position.
    fn write_all_at(&self, mut bytes: &[u8], mut position: u64) -> io::Result<()> {
        while !bytes.is_empty() {
            match self.write_at(bytes, position) {
                Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
                Ok(count) => (bytes, position) = (&bytes[count..], position + count as u64),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }
}

impl FileExt for File {
    fn read_at(&self, bytes: &mut [u8], position: u64) -> io::Result<usize> {
        self.seek_read(bytes, position)
    }

    fn write_at(&self, bytes: &[u8], position: u64) -> io::Result<usize> {
        self.seek_write(bytes, position)
    }
}

/// Returns the options for new files. They have the permissions of their folder.
pub fn private_file() -> OpenOptions {
    File::options()
}

/// Returns a builder of folders, with their missing parents. They have the permissions of the folder above.
pub fn private_folder() -> DirBuilder {
    let mut folder = DirBuilder::new();
    folder.recursive(true);
    folder
}

/// Returns `None`: access control lists are not read.
pub fn shared_mode(_: &Metadata) -> Option<u32> {
    None
}

/// Returns `None`: the folder decides.
pub fn exposed_mode(_: &Metadata) -> Option<u32> {
    None
}

/// Does nothing: the folder decides.
///
/// # Errors
/// Never.
pub fn make_private(_: &Path) -> io::Result<()> {
    Ok(())
}

/// Does nothing: the folder decides.
///
/// # Errors
/// Never.
pub fn make_shared(_: &Path) -> io::Result<()> {
    Ok(())
}

/// Does nothing: NTFS keeps names in a journal, and folders cannot be synced.
///
/// # Errors
/// Never.
pub fn sync_folder(_: &Path) -> io::Result<()> {
    Ok(())
}

/// Returns the length of a file.
pub fn bytes_on_disk(file: &Metadata) -> u64 {
    file.len()
}

/// Returns `None`: the standard library does not know it.
pub fn disk_space(_: &Path) -> Option<DiskSpace> {
    None
}

/// Returns whether a file could not be opened because the process has too many open ones. Then nothing was done, and
/// the operation can be repeated.
pub fn is_lack_of_files(error: &io::Error) -> bool {
    error.raw_os_error().is_some_and(|code| TOO_MANY_FILES.contains(&code))
}

/// Does nothing: the number of open files and connections has no limit that could be raised.
pub fn raise_file_limit() {}

/// Returns `None`: there is no limit.
pub fn file_limit() -> Option<u64> {
    None
}

/// Whether a new listener needs SO_REUSEADDR to get the address of a program that has just ended. Here the option would let
/// other programs take the address of a running one.
pub const REUSES_ADDRESSES: bool = false;

/// The characters that separate the folder from the name in a path.
pub const SEPARATORS: &[char] = &['/', '\\'];

/// The name of Python's program.
pub const PYTHON: &str = "python";

/// The folder in which a virtual environment of Python has its programs.
pub const PYTHON_PROGRAMS: &str = "Scripts";

/// Returns whether a folder can be part of a PATH.
pub fn can_be_in_path(folder: &Path) -> bool {
    !folder.as_os_str().as_encoded_bytes().contains(&b'"')
}

/// Returns the file if it can be executed: its name, or its name with one of these endings. Other endings in PATHEXT are those
/// of scripts for interpreters that only a shell starts.
pub fn executable(file: &Path) -> Option<PathBuf> {
    const ENDINGS: [&str; 4] = ["exe", "com", "bat", "cmd"];
    let ending = file.extension().and_then(|ending| ending.to_str());
    if ending.is_some_and(|ending| ENDINGS.contains(&ending.to_ascii_lowercase().as_str())) {
        return file.is_file().then(|| file.to_owned());
    }
    let files = ENDINGS.map(|ending| {
        let mut name = file.as_os_str().to_owned();
        name.push(".");
        name.push(ending);
        PathBuf::from(name)
    });
    files.into_iter().find(|file| file.is_file())
}
