//! The local socket between a running bridge and its operator's commands: HTTP, for the bridge's own user.
//!
//! - `unix_socket`, or `named_pipe` on Windows: serves the socket, for the bridge's own user
//! - `client`: sends requests to a running bridge

mod client;
#[cfg(windows)]
mod named_pipe;
#[cfg(unix)]
mod unix_socket;

use std::{fs, path::PathBuf};

pub(super) use client::{AdminClient, AdminClientError, LIMIT, LONG_LIMIT};
#[cfg(windows)]
use named_pipe as socket;
#[cfg(unix)]
use unix_socket as socket;

/// A socket that is removed with the program.
#[derive(Debug)]
pub(super) struct AdminSocket {
    path: PathBuf,
}

impl Drop for AdminSocket {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.path);
    }
}

/// The name of the socket in the store's folder.
pub(super) const SOCKET: &str = "admin.sock";
