//! The listening sockets of hops that outlive a recorder.

use std::{
    collections::{BTreeMap, btree_map::Entry},
    io,
    net::{Ipv4Addr, TcpListener},
};

use green_agent_transcript::Hop;

/// The listening sockets of hops. Recorders that are started one after the other with the same sockets have
/// the same addresses, so that agents which were told these addresses reach each of them.
#[derive(Debug, Default)]
pub struct HopListeners(BTreeMap<Hop, TcpListener>);

impl HopListeners {
    /// Closes the socket of a hop: the next recorder listens for it at another address.
    pub fn close(&mut self, hop: &Hop) {
        self.0.remove(hop);
    }

    /// Returns a socket that listens for a hop on 127.0.0.1. Its queue is empty: callers that connected while there was
    /// no recorder are disconnected, because their calls belong to an earlier trial.
    pub(super) fn listener(&mut self, hop: &Hop) -> io::Result<tokio::net::TcpListener> {
        let standing = match self.0.entry(hop.clone()) {
            Entry::Occupied(entry) => {
                let standing = entry.into_mut();
                while standing.accept().is_ok() {}
                standing
            }
            Entry::Vacant(entry) => {
                let new = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
                new.set_nonblocking(true)?;
                entry.insert(new)
            }
        };
        tokio::net::TcpListener::from_std(standing.try_clone()?)
    }
}
