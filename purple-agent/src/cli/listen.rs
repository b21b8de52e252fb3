//! Serving a host until a signal comes.

use std::{error::Error, io, net::SocketAddr, time::Duration};

use axum::serve::ListenerExt as _;
use bridge::host::Host;
use tokio::{
    net::TcpListener,
    signal::unix::{SignalKind, signal},
    sync::watch,
    time::sleep,
};

/// How long open requests may go on after the program was asked to stop.
const DRAIN: Duration = Duration::from_secs(5);

/// Serves until Ctrl-C or SIGTERM; says where it listens as soon as it does.
pub(super) async fn listen(
    host: Host,
    address: SocketAddr,
    public_url: Option<&str>,
) -> Result<(), Box<dyn Error>> {
    let mut stop = stop_signal()?;
    let mut drained = stop.clone();
    let listener = TcpListener::bind(address)
        .await
        .map_err(|error| format!("cannot listen on {address}: {error}"))?;
    let own = format!("http://{}", listener.local_addr()?);
    let app = host.router(public_url.unwrap_or(&own)).await?;
    eprintln!("listening on {own}");
    let listener = listener.tap_io(|connection| {
        // Without it the kernel holds the events of a stream back.
        if let Err(error) = connection.set_nodelay(true) {
            tracing::debug!(%error, "a connection without TCP_NODELAY");
        }
    });
    let serving = axum::serve(listener, app).with_graceful_shutdown(async move {
        let _ = stop.wait_for(|stopped| *stopped).await;
    });
    tokio::select! {
        served = serving.into_future() => served?,
        () = async {
            let _ = drained.wait_for(|stopped| *stopped).await;
            sleep(DRAIN).await;
        } => {}
    }
    Ok(())
}

/// Becomes true when the program is asked to stop.
pub(super) fn stop_signal() -> io::Result<watch::Receiver<bool>> {
    let mut interrupt = signal(SignalKind::interrupt())?;
    let mut terminate = signal(SignalKind::terminate())?;
    let (sender, receiver) = watch::channel(false);
    tokio::spawn(async move {
        tokio::select! {
            _ = interrupt.recv() => {}
            _ = terminate.recv() => {}
        }
        sender.send_replace(true);
    });
    Ok(receiver)
}
