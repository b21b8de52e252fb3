//! Serving a host until a signal comes.

use std::{error::Error, net::SocketAddr};

use bridge::{host::Host, serve, serve_until, stop_signal};
use tokio::net::TcpListener;

/// Serves until Ctrl-C or SIGTERM; says where it listens as soon as it does.
pub(super) async fn listen(
    host: Host,
    address: SocketAddr,
    public_url: Option<&str>,
) -> Result<(), Box<dyn Error>> {
    let stop = stop_signal()?;
    let listener = TcpListener::bind(address)
        .await
        .map_err(|error| format!("cannot listen on {address}: {error}"))?;
    let own = format!("http://{}", listener.local_addr()?);
    let host = host.stopping(stop.clone());
    let app = host.router(public_url.unwrap_or(&own)).await?;
    eprintln!("listening on {own}");
    serve_until(stop, |stop| serve(listener, app, stop)).await?;
    Ok(())
}
