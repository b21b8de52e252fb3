//! Serves a host until a signal arrives.

use std::{error::Error, net::SocketAddr};

use bridge::host::Host;
use bridge_program::{errln, serve, serve_until, stop_signal};

/// Serves until Ctrl-C or SIGTERM, and prints the address as soon as it accepts connections.
pub(super) async fn listen(
    host: Host,
    address: SocketAddr,
    public_url: Option<&str>,
) -> Result<(), Box<dyn Error>> {
    let stop = stop_signal()?;
    let listener = bridge_program::listen(address).await?;
    let own = format!("http://{}", listener.local_addr()?);
    let host = host.stopping(stop.clone());
    let app = host.router(public_url.unwrap_or(&own)).await?;
    errln!("listening on {own}");
    serve_until(stop, |stop| serve(listener, app, stop)).await?;
    Ok(())
}
