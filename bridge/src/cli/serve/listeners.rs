//! Opens the listeners of the program, and explains why one cannot be opened.

use std::{
    fmt,
    io::{self, ErrorKind},
    net::{Ipv4Addr, SocketAddr},
};

use tokio::net::TcpListener;

use super::addresses;
use crate::config::Config;

/// The port at which sample bots listen by default, and so does the bridge.
const USUAL_PORT: u16 = 3978;

/// The peers that a listener is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::cli) enum ListenerKind {
    Clients,
    Grpc,
    Bots,
}

/// The error for an address at which the program cannot listen.
#[derive(Debug)]
pub(in crate::cli) struct ListenError {
    kind: ListenerKind,
    address: SocketAddr,
    source: io::Error,
}

impl std::error::Error for ListenError {}

impl fmt::Display for ListenError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { kind, address, source } = self;
        let (what, flag) = match kind {
            ListenerKind::Clients => ("", "--listen"),
            ListenerKind::Grpc => ("for gRPC ", "--grpc-listen"),
            ListenerKind::Bots => ("for bots ", "--callback-listen"),
        };
        write!(f, "cannot listen {what}on {address}: {source}")?;
        if source.kind() == ErrorKind::PermissionDenied {
            let port = address.port();
            write!(
                f,
                "; port {port} is reserved: choose one from 1024 with {flag}, or grant the capability CAP_NET_BIND_SERVICE"
            )?;
        }
        if source.kind() == ErrorKind::AddrNotAvailable {
            write!(
                f,
                "; this machine does not have this address: choose one of its own with {flag}"
            )?;
            if address.ip() == Ipv4Addr::LOCALHOST {
                write!(f, ", such as [::1]:{} if it has IPv6 only", address.port())?;
            }
        }
        if source.kind() == ErrorKind::AddrInUse {
            write!(f, "; another program listens there: choose another address with {flag}")?;
            if address.port() == USUAL_PORT {
                write!(f, " (samples of bots use port {USUAL_PORT}, too)")?;
            }
        }
        Ok(())
    }
}

/// Listens for clients.
pub(super) async fn listen(config: &Config) -> Result<TcpListener, ListenError> {
    open(ListenerKind::Clients, addresses::listen(config)).await
}

/// Listens for gRPC, if it has a separate address.
pub(super) async fn listen_for_grpc(config: &Config) -> Result<Option<TcpListener>, ListenError> {
    match addresses::grpc_listen(config) {
        Some(address) => open(ListenerKind::Grpc, address).await.map(Some),
        None => Ok(None),
    }
}

async fn open(kind: ListenerKind, address: SocketAddr) -> Result<TcpListener, ListenError> {
    let listener = bridge_program::listen(address).await;
    listener.map_err(|error| ListenError { kind, address, source: error.error })
}

/// Listens for bots in addition to the main listener. If the expected port is in use, any free one is taken.
pub(super) async fn listen_for_bots(
    config: &Config,
    listening: SocketAddr,
) -> Result<Option<TcpListener>, ListenError> {
    let Some(address) = addresses::callback_listen(config, listening) else {
        return Ok(None);
    };
    let bound = match TcpListener::bind(address).await {
        Err(error) if config.callback_listen.is_none() => {
            tracing::warn!(%address, %error, "the port for bots is in use, so another one is used: calls of bots about \
                 earlier conversations do not arrive");
            TcpListener::bind((address.ip(), 0)).await
        }
        bound => bound,
    };
    let failed = |source| ListenError { kind: ListenerKind::Bots, address, source };
    bound.map(Some).map_err(failed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_that_cannot_be_had_is_explained() {
        for (address, kind, expected) in [
            ("127.0.0.1:443", ErrorKind::PermissionDenied, "from 1024 with --listen"),
            ("10.0.0.1:1", ErrorKind::AddrNotAvailable, "choose one of its own with --listen"),
            ("127.0.0.1:9", ErrorKind::AddrNotAvailable, "such as [::1]:9 if it has IPv6 only"),
        ] {
            let (kind, source) = (ListenerKind::Clients, kind.into());
            let text = ListenError { kind, address: address.parse().unwrap(), source }.to_string();
            assert!(text.contains(expected), "{text}");
        }
    }
}
