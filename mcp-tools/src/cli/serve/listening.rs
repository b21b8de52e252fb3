//! Serving over HTTP until something is over, or until Ctrl-C or SIGTERM.

use std::{future::Future, io, net::SocketAddr, time::Duration};

use axum::{Router, serve::ListenerExt as _};
use tokio::{
    net::TcpListener,
    signal::unix::{Signal, SignalKind, signal},
    sync::oneshot,
    time::timeout,
};

use crate::server::ServerSettings;

/// How long open requests may go on after the end; the last result is among them.
const DRAIN: Duration = Duration::from_secs(5);

/// Listens, or says where that is not possible.
pub(super) async fn listen(address: SocketAddr) -> Result<(TcpListener, SocketAddr), String> {
    let listener = TcpListener::bind(address).await;
    let bound = listener.and_then(|listener| Ok((listener.local_addr()?, listener)));
    let bound = bound.map(|(address, listener)| (listener, address));
    bound.map_err(|error| format!("cannot listen on {address}: {error}"))
}

/// It may also be reached by the address that it was told to listen on.
pub(super) fn settings(address: SocketAddr) -> ServerSettings {
    let mut settings = ServerSettings::default();
    settings.allowed_hosts.push(address.ip().to_string());
    settings
}

/// Ctrl-C and SIGTERM, from now on.
pub(super) struct Stop {
    interrupt: Signal,
    terminate: Signal,
}

impl Stop {
    pub(super) fn heard() -> io::Result<Self> {
        Ok(Self {
            interrupt: signal(SignalKind::interrupt())?,
            terminate: signal(SignalKind::terminate())?,
        })
    }

    pub(super) async fn comes(&mut self) {
        tokio::select! {
            _ = self.interrupt.recv() => {}
            _ = self.terminate.recv() => {}
        }
    }
}

/// Serves until the end; then open requests get a moment to be answered.
pub(super) async fn serve<T>(
    listener: TcpListener,
    app: Router,
    ended: impl Future<Output = io::Result<T>>,
) -> io::Result<T> {
    let (stop, stopped) = oneshot::channel::<()>();
    let listener = listener.tap_io(|connection| {
        // Without it the kernel holds the events of a stream back.
        if let Err(error) = connection.set_nodelay(true) {
            tracing::debug!(%error, "a connection without TCP_NODELAY");
        }
    });
    let serving = axum::serve(listener, app).with_graceful_shutdown(async {
        // Dropped or sent, it means the same.
        let _ = stopped.await;
    });
    let mut serving = tokio::spawn(serving.into_future());
    let outcome = tokio::select! {
        outcome = ended => outcome?,
        broken = &mut serving => return Err(io::Error::other(format!("serving ended: {broken:?}"))),
    };
    drop(stop);
    if timeout(DRAIN, &mut serving).await.is_err() {
        serving.abort();
    }
    Ok(outcome)
}
