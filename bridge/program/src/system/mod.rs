//! What differs between operating systems: signals, limits, and files that other users must not read.
//!
//! `unix` and `windows` have the same items. Nothing else asks for the operating system, except the supervisor.

#[cfg(unix)]
mod unix;
#[cfg(windows)]
mod windows;

#[cfg(unix)]
pub use unix::*;
#[cfg(windows)]
pub use windows::*;

/// The advice for operators whose process has too many open files.
pub const FILE_LIMIT_ADVICE: &str =
    "raise the limit of open files (ulimit -n, LimitNOFILE of systemd)";

/// Returns whether an error was caused by too many open files, at any depth.
pub fn is_from_lack_of_files(error: &(dyn std::error::Error + 'static)) -> bool {
    let mut causes =
        crate::causes(error).filter_map(|cause| cause.downcast_ref::<std::io::Error>());
    causes.any(is_lack_of_files)
}

/// The size and the free space of a file system, in bytes.
#[derive(Clone, Copy, Debug)]
pub struct DiskSpace {
    /// The size.
    pub total: u64,
    /// The space that this user can use.
    pub free: u64,
}
