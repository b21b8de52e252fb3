//! Listens at an address and accepts connections.

use std::{io, net::SocketAddr, time::Duration};

use nix::sys::resource::{Resource, getrlimit, setrlimit};
use socket2::{SockRef, TcpKeepalive};
use tokio::net::{TcpListener, TcpSocket, TcpStream};

/// How many clients may wait to be accepted; the system may allow fewer.
const BACKLOG: u32 = 4_096;

/// After how long a silent client is asked whether it is there.
const IDLE: Duration = Duration::from_secs(60);

/// How often it is asked again, until the kernel gives it up.
const PROBE: Duration = Duration::from_secs(15);

/// How many open files the process needs for other things than clients, at least: its store, and those it
/// calls itself.
const OWN_FILES: u64 = 64;

/// A place where nobody can listen: it is taken, not this machine's, or not this user's.
#[derive(Debug, thiserror::Error)]
#[error("cannot listen on {address}: {source}")]
pub struct ListenError {
    /// Where that was to be.
    pub address: SocketAddr,
    /// Why not.
    pub source: io::Error,
}

/// Listens; port 0 picks a free one. Lets the process open as many files as it may, for each connection is one.
///
/// # Errors
/// If that is not possible there.
pub async fn listen(address: SocketAddr) -> Result<TcpListener, ListenError> {
    raise_descriptors();
    bind(address).map_err(|source| ListenError { address, source })
}

fn bind(address: SocketAddr) -> io::Result<TcpListener> {
    let socket = match address {
        SocketAddr::V4(_) => TcpSocket::new_v4()?,
        SocketAddr::V6(_) => TcpSocket::new_v6()?,
    };
    // A program that starts again need not wait until the last connections of the one before are forgotten.
    socket.set_reuseaddr(true)?;
    socket.bind(address)?;
    socket.listen(BACKLOG)
}

fn raise_descriptors() {
    let raised = getrlimit(Resource::RLIMIT_NOFILE).and_then(|(soft, hard)| match soft < hard {
        true => setrlimit(Resource::RLIMIT_NOFILE, hard, hard),
        false => Ok(()),
    });
    if let Err(error) = raised {
        tracing::debug!(%error, "the limit of open files stays as it is");
    }
}

/// How many connections there may be with the files that the process may open: a quarter of those are kept for
/// its own, or some few at least.
pub(super) fn room(connections: usize) -> usize {
    let Ok((files, _)) = getrlimit(Resource::RLIMIT_NOFILE) else {
        return connections;
    };
    let own = OWN_FILES.max(files / 4).min(4 * OWN_FILES);
    let left = usize::try_from(files.saturating_sub(own)).unwrap_or(usize::MAX);
    connections.min(left).max(1)
}

/// Sets a connection up that was accepted.
///
/// Without TCP_NODELAY the kernel holds the small events of a stream back until the client has acknowledged
/// the one before, some 40 ms. Without keep-alive a client that is gone without a word, on a stream that has
/// nothing to say, is never missed.
pub(super) fn hurry(connection: &TcpStream) {
    let socket = SockRef::from(connection);
    let alive = TcpKeepalive::new().with_time(IDLE).with_interval(PROBE);
    let set = socket
        .set_tcp_nodelay(true)
        .and_then(|()| socket.set_tcp_keepalive(&alive));
    if let Err(error) = set {
        tracing::debug!(%error, "a connection without TCP_NODELAY or keep-alive");
    }
}
