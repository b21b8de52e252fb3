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

/// The size and the free space of a file system, in bytes.
#[derive(Clone, Copy, Debug)]
pub struct DiskSpace {
    /// The size.
    pub total: u64,
    /// The space that this user can use.
    pub free: u64,
}
