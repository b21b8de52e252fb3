//! The local socket between a running bridge and its operator's commands: HTTP, for the bridge's own user.
//!
//! - `socket`: serves the socket, for the bridge's own user
//! - `client`: sends requests to a running bridge

mod client;
mod socket;

pub(super) use client::{AdminClient, AdminClientError};
pub(super) use socket::{AdminSocket, SOCKET};
