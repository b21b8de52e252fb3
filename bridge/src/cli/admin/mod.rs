//! The local socket between a running bridge and its operator's commands: HTTP, for the bridge's own user.
//!
//! - `unix_socket`, or `named_pipe` on Windows: serves the socket, for the bridge's own user
//! - `client`: sends requests to a running bridge

mod client;
#[cfg(windows)]
mod named_pipe;
#[cfg(unix)]
mod unix_socket;

pub(super) use client::{AdminClient, AdminClientError};
#[cfg(windows)]
use named_pipe as socket;
pub(super) use socket::AdminSocket;
#[cfg(unix)]
use unix_socket as socket;

/// The name of the socket in the store's folder.
pub(super) const SOCKET: &str = "admin.sock";
