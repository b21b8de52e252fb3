//! Linux and macOS.

use std::{
    fs::{self, DirBuilder, File, Metadata, OpenOptions, Permissions},
    io,
    os::unix::fs::{
        DirBuilderExt as _, MetadataExt as _, OpenOptionsExt as _, PermissionsExt as _,
    },
    path::Path,
};

pub use std::os::unix::fs::FileExt;

use nix::{
    errno::Errno,
    sys::{
        resource::{Resource, getrlimit, setrlimit},
        statvfs::statvfs,
    },
    unistd::geteuid,
};
use tokio::signal::unix::{Signal, SignalKind, signal};

use super::DiskSpace;

/// Listens for the signals that ask a program to stop: Ctrl-C and SIGTERM.
#[derive(Debug)]
pub struct StopSignals {
    interrupt: Signal,
    terminate: Signal,
}

impl StopSignals {
    /// Installs the handlers. It must be called within a tokio runtime.
    ///
    /// # Errors
    /// If the system does not allow it.
    pub fn listen() -> io::Result<Self> {
        Ok(Self {
            interrupt: signal(SignalKind::interrupt())?,
            terminate: signal(SignalKind::terminate())?,
        })
    }

    /// Waits for the next signal.
    pub async fn recv(&mut self) {
        tokio::select! {
            _ = self.interrupt.recv() => {}
            _ = self.terminate.recv() => {}
        }
    }
}

/// Listens for SIGHUP, which asks a server to read its configuration again, and would otherwise end it.
#[derive(Debug)]
pub struct ReloadSignals(Signal);

impl ReloadSignals {
    /// Installs the handler. It must be called within a tokio runtime.
    ///
    /// # Errors
    /// If the system does not allow it.
    pub fn listen() -> io::Result<Self> {
        signal(SignalKind::hangup()).map(Self)
    }

    /// Waits for the next signal; returns `None` if none can follow.
    pub async fn recv(&mut self) -> Option<()> {
        self.0.recv().await
    }
}

/// Returns the options for new files that only this user can read and write.
pub fn private_file() -> OpenOptions {
    let mut options = File::options();
    options.mode(0o600);
    options
}

/// Returns a builder of folders, with their missing parents, that only this user can use.
pub fn private_folder() -> DirBuilder {
    let mut folder = DirBuilder::new();
    folder.recursive(true).mode(0o700);
    folder
}

/// Returns the permissions of a file or folder if other users can read or write it.
pub fn shared_mode(file: &Metadata) -> Option<u32> {
    let mode = file.permissions().mode() & 0o777;
    (mode & 0o077 != 0).then_some(mode)
}

/// Returns the permissions of a file with a secret if users can read or write it who should not. A file that the operator
/// gives to this process by a group belongs to another user, mostly root; such a group may read it.
pub fn exposed_mode(file: &Metadata) -> Option<u32> {
    let allowed = allowed_mode(file.uid(), geteuid().as_raw());
    shared_mode(file).filter(|mode| mode & !allowed != 0)
}

/// Returns the permissions that a file with a secret may have, by the users who own it and read it.
fn allowed_mode(owner: u32, reader: u32) -> u32 {
    if owner == reader { 0o700 } else { 0o740 }
}

/// Removes the permissions of other users from a file or folder.
///
/// # Errors
/// If it belongs to another user.
pub fn make_private(path: &Path) -> io::Result<()> {
    let mode = if path.is_dir() { 0o700 } else { 0o600 };
    fs::set_permissions(path, Permissions::from_mode(mode))
}

/// Lets all users of the machine write a file, or create files in a folder.
///
/// # Errors
/// If it belongs to another user.
pub fn make_shared(path: &Path) -> io::Result<()> {
    let mode = if path.is_dir() { 0o1777 } else { 0o666 };
    fs::set_permissions(path, Permissions::from_mode(mode))
}

/// Makes the names in a folder durable. An empty path, the parent of a file name alone, is the working folder.
///
/// # Errors
/// If the disk fails.
pub fn sync_folder(folder: &Path) -> io::Result<()> {
    let is_empty = folder.as_os_str().is_empty();
    File::open(if is_empty { Path::new(".") } else { folder })?.sync_all()
}

/// Returns the bytes that a file takes on the disk.
pub fn bytes_on_disk(file: &Metadata) -> u64 {
    file.blocks() * 512
}

/// Returns the space of the file system with this folder.
pub fn disk_space(folder: &Path) -> Option<DiskSpace> {
    let disk = statvfs(folder).ok()?;
    let bytes = |blocks| disk.fragment_size() * blocks;
    Some(DiskSpace {
        total: bytes(widened(disk.blocks())),
        free: bytes(widened(disk.blocks_available())),
    })
}

/// Widens a number of blocks, which has 32 bits on macOS.
fn widened(blocks: impl Into<u64>) -> u64 {
    blocks.into()
}

/// Returns whether a file could not be opened because the process or the machine has too many open ones. Then nothing was done, and
/// the operation can be repeated.
pub fn is_lack_of_files(error: &io::Error) -> bool {
    let code = error.raw_os_error().map(Errno::from_raw);
    matches!(code, Some(Errno::EMFILE | Errno::ENFILE))
}

/// Raises the limit of open files to the highest allowed one. Programs are often started with a low one.
pub fn raise_file_limit() {
    let raised = getrlimit(Resource::RLIMIT_NOFILE).and_then(|(soft, hard)| match soft < hard {
        true => setrlimit(Resource::RLIMIT_NOFILE, hard, hard),
        false => Ok(()),
    });
    if let Err(error) = raised {
        tracing::debug!(%error, "the limit of open files stays as it is");
    }
}

/// Returns the limit of open files.
pub fn file_limit() -> Option<u64> {
    getrlimit(Resource::RLIMIT_NOFILE).ok().map(|(files, _)| files)
}

/// Whether a new listener needs SO_REUSEADDR to get the address of a program that has just ended.
pub const REUSES_ADDRESSES: bool = true;

/// The characters that separate the folder from the name in a path.
pub const SEPARATORS: &[char] = &['/'];

/// The name of Python's program.
pub const PYTHON: &str = "python3";

/// The folder in which a virtual environment of Python has its programs.
pub const PYTHON_PROGRAMS: &str = "bin";

/// Returns whether a folder can be part of a PATH.
pub fn can_be_in_path(folder: &Path) -> bool {
    !folder.as_os_str().as_encoded_bytes().contains(&b':')
}

/// Returns the file if it can be executed.
pub fn executable(file: &Path) -> Option<std::path::PathBuf> {
    let meta = file.metadata().ok()?;
    (meta.is_file() && meta.permissions().mode() & 0o111 != 0).then(|| file.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// systemd's `DynamicUser` and the secrets of Kubernetes give files of root to a group.
    #[test]
    fn a_group_may_read_the_secrets_of_another_user() {
        for (owner, mode, is_allowed) in [
            (1000, 0o600, true),
            (1000, 0o640, false),
            (0, 0o640, true),
            (0, 0o440, true),
            (0, 0o660, false),
            (0, 0o644, false),
        ] {
            assert_eq!(mode & !allowed_mode(owner, 1000) == 0, is_allowed, "{owner} {mode:o}");
        }
    }
}
