//! Serves until a signal arrives.

use std::{error::Error, future::pending, io, sync::Arc, time::Duration};

use axum::Router;
use tokio::{
    net::TcpListener,
    runtime::Handle,
    signal::unix::{Signal, SignalKind, signal},
    sync::{oneshot, watch},
    time::sleep,
};

use super::{addresses::Encryption, reload::Reload};
use crate::store::Leases;
use bridge_program::{App, Limits, PlainTcp, serve_until, serve_within};

/// The time that a reload may take before it is logged.
const SLOW_RELOAD: Duration = Duration::from_secs(10);

/// The listeners of the program.
pub(super) struct Listeners {
    /// The main listener.
    pub(super) listener: TcpListener,
    /// The additional listener for gRPC.
    pub(super) grpc: Option<TcpListener>,
    /// The TLS certificate for both.
    pub(super) encryption: Encryption,
    /// The limits of connections and requests.
    pub(super) limits: Limits,
    /// The listener for calls of bots on this machine, with its routes.
    pub(super) callbacks: Option<(TcpListener, Router)>,
}

/// Serves until a signal arrives, then gives open requests a moment to end.
pub(super) async fn run(
    doors: Listeners,
    app: Router,
    stop: watch::Receiver<bool>,
) -> io::Result<()> {
    let Listeners {
        listener,
        grpc,
        encryption,
        limits,
        callbacks,
    } = doors;
    let beside = (encryption.clone(), app.clone(), stop.clone());
    let grpc = async move {
        let (encryption, app, stop) = beside;
        let Some(grpc) = grpc else {
            return Ok(());
        };
        let app = alone(app);
        serve_until(stop, |stop| listen(limits, grpc, encryption, app, stop)).await
    };
    let beside = stop.clone();
    let callbacks = async move {
        let Some((listener, app)) = callbacks else {
            return Ok(());
        };
        serve_until(beside, |stop| listen(limits, listener, None, app, stop)).await
    };
    let all = serve_until(stop, |stop| listen(limits, listener, encryption, app, stop));
    tokio::try_join!(all, grpc, callbacks).map(|_| ())
}

/// The error when other processes on the store have taken over from this one.
#[derive(Debug, thiserror::Error)]
#[error("other bridges have taken over the work of this one: restart it")]
pub(in crate::cli) struct LeaseLost;

/// Serves as one of several processes on a store, until the service ends or the others take over.
pub(super) async fn run_shared(
    leases: Option<Arc<dyn Leases>>,
    serving: impl Future<Output = io::Result<()>>,
) -> Result<(), Box<dyn Error>> {
    let Some(leases) = leases else {
        return Ok(serving.await?);
    };
    tokio::select! {
        served = serving => served?,
        () = leases.lost() => {
            return Err(LeaseLost.into());
        }
    }
    leases.leave().await;
    Ok(())
}

/// Returns the app as served at the gRPC port.
#[cfg(feature = "grpc")]
fn alone(app: Router) -> Router {
    crate::server::grpc::alone(app)
}

#[cfg(not(feature = "grpc"))]
fn alone(app: Router) -> Router {
    app
}

/// Serves one listener.
pub(in crate::cli) async fn listen(
    limits: Limits,
    listener: TcpListener,
    encryption: Encryption,
    app: Router,
    stop: impl Future<Output = ()> + Send + 'static,
) -> io::Result<()> {
    let app = with_rejections(app);
    match encryption {
        None => serve_within(limits, listener, PlainTcp, app, stop).await,
        #[cfg(feature = "tls")]
        Some(certificate) => crate::tls::serve(limits, listener, certificate, app, stop).await,
        #[cfg(not(feature = "tls"))]
        Some(never) => match never {},
    }
}

/// Rejects excess requests in the form of their binding.
fn with_rejections(app: Router) -> App {
    App::from(app).with_rejections(crate::server::reject)
}

/// Listens for SIGHUP, which would otherwise end the program.
///
/// # Errors
/// If the system does not allow it.
pub(super) fn hangups() -> io::Result<Signal> {
    signal(SignalKind::hangup())
}

/// Reads the configuration again on every SIGHUP, including one that arrived earlier.
pub(super) fn reload_on(mut hangups: Signal, mut reload: Reload) {
    tokio::spawn(async move {
        while hangups.recv().await.is_some() {
            reload = match read_again(reload).await {
                Some(reload) => reload,
                None => return,
            };
        }
    });
}

/// Reads the configuration again in a separate thread: a file on a hanging disk delays neither requests nor the end of
/// the program. Returns `None` if it panicked.
async fn read_again(mut reload: Reload) -> Option<Reload> {
    let runtime = Handle::current();
    let (done, is_done) = oneshot::channel();
    std::thread::spawn(move || {
        let _entered = runtime.enter();
        reload.again();
        // The program may have ended.
        let _ = done.send(reload);
    });
    let slow = async {
        sleep(SLOW_RELOAD).await;
        tracing::warn!(
            "reading the configuration takes longer than {SLOW_RELOAD:?}; the previous one stays in use meanwhile"
        );
        pending().await
    };
    tokio::select! {
        reload = is_done => {
            let broken = |_: &_| tracing::error!("reading the configuration failed; the previous one stays in use");
            reload.inspect_err(broken).ok()
        }
        never = slow => never,
    }
}
