//! Serves over HTTP until the work is done, or until Ctrl-C or SIGTERM.

use std::{future::Future, io, net::SocketAddr};

use axum::Router;
use bridge_program::{serve, serve_until};
use tokio::{net::TcpListener, sync::watch, try_join};

use crate::server::ServerSettings;

/// Waits until the program is asked to stop.
pub(super) async fn stopped(mut stop: watch::Receiver<bool>) {
    // The sender lives as long as the program, so this wait cannot fail.
    let _ = stop.wait_for(|stopped| *stopped).await;
}

/// Returns server settings that also accept the listen address as the `Host`.
pub(super) fn settings(address: SocketAddr) -> ServerSettings {
    let mut settings = ServerSettings::default();
    settings.allowed_hosts.push(address.ip().to_string());
    settings
}

/// Serves until `end` completes. Open requests then get a short time to be answered, because the last result is
/// among them.
pub(super) async fn serve_to_the_end<T>(
    listener: TcpListener,
    app: Router,
    ended: impl Future<Output = io::Result<T>>,
) -> io::Result<T> {
    let (over, stop) = watch::channel(false);
    let ended = async {
        let outcome = ended.await?;
        over.send_replace(true);
        Ok(outcome)
    };
    let serving = serve_until(stop, |stop| serve(listener, app, stop));
    let (outcome, ()) = try_join!(ended, serving)?;
    Ok(outcome)
}
