//! Until a signal comes.

use std::{io, time::Duration};

use axum::Router;
use tokio::{
    net::TcpListener,
    signal::unix::{SignalKind, signal},
    sync::watch,
    time::sleep,
};

use super::{place::Encryption, reload::Reload};
use crate::serve;

/// How long open requests may go on after the program was asked to stop.
const DRAIN: Duration = Duration::from_secs(5);

/// Serves until a signal comes; then open requests get a moment to end.
pub(super) async fn run(
    listener: TcpListener,
    encryption: Encryption,
    app: Router,
    reload: Reload,
) -> io::Result<()> {
    let mut stop = stop_signal()?;
    let mut drained = stop.clone();
    reload_on_signal(reload)?;
    let serving = listen(listener, encryption, app, async move {
        let _ = stop.wait_for(|stopped| *stopped).await;
    });
    tokio::select! {
        served = serving => served,
        () = async {
            let _ = drained.wait_for(|stopped| *stopped).await;
            sleep(DRAIN).await;
        } => Ok(()),
    }
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

fn stop_signal() -> io::Result<watch::Receiver<bool>> {
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
