//! Listens at an address and accepts connections.

use std::{io, net::SocketAddr, time::Duration};

use socket2::{SockRef, TcpKeepalive};
use tokio::net::{TcpListener, TcpSocket, TcpStream};

use crate::{LogInterval, system};

/// The number of connections that may wait to be accepted. The system may allow fewer.
const BACKLOG: u32 = 4_096;

/// The time after which TCP probes a silent client.
const KEEP_ALIVE: Duration = Duration::from_secs(60);

/// The interval of further probes.
const PROBE_INTERVAL: Duration = Duration::from_secs(15);

/// The least number of open files that the process keeps for itself: for its store and the servers that it calls.
pub const MIN_OWN_FILES: u64 = 64;

/// The error of an address at which the process cannot listen.
#[derive(Debug, thiserror::Error)]
#[error("cannot listen on {address}: {error}")]
pub struct ListenError {
    /// The address.
    pub address: SocketAddr,
    /// The error of the system, for example that the address is in use.
    pub error: io::Error,
}

/// Listens at an address; port 0 picks a free port. Raises the limit of open files to the highest allowed one, since each
/// connection is an open file.
///
/// # Errors
/// If the address is in use, does not belong to this machine, or needs another user.
pub async fn listen(address: SocketAddr) -> Result<TcpListener, ListenError> {
    system::raise_file_limit();
    bind(address).map_err(|error| ListenError { address, error })
}

fn bind(address: SocketAddr) -> io::Result<TcpListener> {
    let socket = match address {
        SocketAddr::V4(_) => TcpSocket::new_v4()?,
        SocketAddr::V6(_) => TcpSocket::new_v6()?,
    };
    // Without this, on Unix, a restarted program waits until the system has forgotten the last connections of the former one.
    socket.set_reuseaddr(system::REUSES_ADDRESSES)?;
    socket.bind(address)?;
    socket.listen(BACKLOG)
}

/// Returns the number of connections for each of several listeners that the limit of open files allows, at most `connections`.
/// Half of the files, at least 64, is kept for the process itself: each open request may need a connection to another server.
pub(super) fn max_connections(connections: usize, listeners: usize) -> usize {
    let Some(files) = system::file_limit() else {
        return connections;
    };
    let own = MIN_OWN_FILES.max(files / 2);
    let left = usize::try_from(files.saturating_sub(own)).unwrap_or(usize::MAX);
    connections.min(left / listeners.max(1)).max(1)
}

/// Logs the error of a connection that could not be accepted, at most once a minute: while the process has too many open files,
/// every try fails.
pub(super) fn log_accept_failure(interval: &LogInterval, error: &io::Error) {
    let Some(unlogged) = interval.note() else {
        return;
    };
    let advice = match system::is_lack_of_files(error) {
        true => format!(": {}", system::FILE_LIMIT_ADVICE),
        false => String::new(),
    };
    tracing::warn!(%error, unlogged, "a connection could not be accepted{advice} (this is logged once a minute)");
}

/// Sets the options of an accepted connection.
///
/// Without TCP_NODELAY the kernel delays each small event of a stream by some 40 ms, until the client has acknowledged the
/// one before. Without keep-alive the server never notices that the client of a silent stream is gone.
pub(super) fn set_options(connection: &TcpStream) {
    let socket = SockRef::from(connection);
    let alive = TcpKeepalive::new().with_time(KEEP_ALIVE).with_interval(PROBE_INTERVAL);
    let set = socket.set_tcp_nodelay(true).and_then(|()| socket.set_tcp_keepalive(&alive));
    if let Err(error) = set {
        tracing::debug!(%error, "a connection without TCP_NODELAY or keep-alive");
    }
}
