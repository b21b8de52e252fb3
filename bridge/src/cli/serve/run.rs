//! Until a signal comes.

use std::io;

use axum::Router;
use tokio::{
    net::TcpListener,
    signal::unix::{SignalKind, signal},
};

use super::{place::Encryption, reload::Reload};
use crate::{serve, serve_until, stop_signal};

/// Serves until a signal comes; then open requests get a moment to end.
pub(super) async fn run(
    listener: TcpListener,
    encryption: Encryption,
    app: Router,
    reload: Reload,
) -> io::Result<()> {
    let stop = stop_signal()?;
    reload_on_signal(reload)?;
    serve_until(stop, |stop| listen(listener, encryption, app, stop)).await
}

#[cfg(feature = "tls")]
async fn listen(
    listener: TcpListener,
    encryption: Encryption,
    app: Router,
    stop: impl Future<Output = ()> + Send + 'static,
) -> io::Result<()> {
    match encryption {
        None => serve(listener, app, stop).await,
        Some(certificate) => crate::tls::serve(listener, certificate, app, stop).await,
    }
}

#[cfg(not(feature = "tls"))]
async fn listen(
    listener: TcpListener,
    encryption: Encryption,
    app: Router,
    stop: impl Future<Output = ()> + Send + 'static,
) -> io::Result<()> {
    match encryption {
        None => serve(listener, app, stop).await,
        Some(never) => match never {},
    }
}

/// Reads the configuration again whenever the program is asked to.
fn reload_on_signal(mut reload: Reload) -> io::Result<()> {
    let mut hangup = signal(SignalKind::hangup())?;
    tokio::spawn(async move {
        while hangup.recv().await.is_some() {
            reload.again();
        }
    });
    Ok(())
}
