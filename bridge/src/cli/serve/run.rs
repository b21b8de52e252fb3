//! Serves until a signal arrives.

use std::{
    future::pending,
    io,
    sync::{Arc, Mutex},
    time::Duration,
};

use axum::Router;
use futures_util::{FutureExt as _, future::try_join_all};
use tokio::{
    net::TcpListener,
    runtime::Handle,
    sync::{oneshot, watch},
    time::sleep,
};

use super::{Result, addresses::Encryption, reload::Reload};
use crate::store::{Store, StoreError};
use bridge_program::{
    App, Limits, PlainTcp, lock, serve_until, serve_within, system::ReloadSignals,
};

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

impl Listeners {
    /// Serves until a signal arrives, then gives open requests a moment to end.
    pub(super) async fn run(self, app: Router, stop: watch::Receiver<bool>) -> io::Result<()> {
        let Self { listener, grpc, encryption, limits, callbacks } = self;
        let grpc = grpc.map(|listener| (listener, encryption.clone(), alone(app.clone())));
        let callbacks = callbacks.map(|(listener, app)| (listener, None, app));
        let all = [Some((listener, encryption, app)), grpc, callbacks];
        let all: Vec<_> = all.into_iter().flatten().collect();
        let limits = limits.for_each_of(all.len());
        let served = all.into_iter().map(|(listener, encryption, app)| {
            serve_until(stop.clone(), move |stop| listen(limits, listener, encryption, app, stop))
        });
        try_join_all(served).await.map(drop)
    }
}

/// The error when other processes on the store have taken over from this one.
#[derive(Debug, thiserror::Error)]
#[error("other bridges have taken over the work of this one: restart it")]
pub(in crate::cli) struct LeaseLost;

/// The pause between two checks whether the store has failed.
const CHECK_EVERY: Duration = Duration::from_secs(5);

/// Serves until the service ends, or until the store can only be used again by another start. The service of one of several
/// processes on the store also ends when the others have taken over.
pub(super) async fn run_on(
    store: &dyn Store,
    serving: impl Future<Output = io::Result<()>>,
) -> Result<()> {
    let Some(leases) = store.leases() else {
        return tokio::select! {
            served = serving => Ok(served?),
            () = failed(store) => Err(StoreError::Closed.into()),
        };
    };
    serving.await?;
    if leases.lost().now_or_never().is_some() {
        return Err(LeaseLost.into());
    }
    leases.leave().await;
    Ok(())
}

/// Waits until the store takes nothing more, because the disk has failed to write something.
async fn failed(store: &dyn Store) {
    while !matches!(store.ready().await, Err(StoreError::Closed)) {
        sleep(CHECK_EVERY).await;
    }
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

/// Rejects excess requests in the form of their binding, except those of bots.
fn with_rejections(app: Router) -> App {
    App::from(app).with_rejections(crate::server::reject).with_reserve(crate::server::is_reserved)
}

/// Reads the configuration again on every SIGHUP, including one that arrived earlier.
pub(super) fn reload_on(mut hangups: ReloadSignals, reload: Reload) {
    let reload = Arc::new(Mutex::new(reload));
    tokio::spawn(async move {
        while hangups.recv().await.is_some() {
            read_again(reload.clone()).await;
        }
    });
}

/// Reads the configuration again in a separate thread: a file on a hanging disk delays neither requests nor the end of
/// the program, and after a panic the next one starts anew.
async fn read_again(reload: Arc<Mutex<Reload>>) {
    let runtime = Handle::current();
    let (done, is_done) = oneshot::channel();
    std::thread::spawn(move || {
        let _entered = runtime.enter();
        lock(&reload).again();
        // The program may have ended.
        let _ = done.send(());
    });
    let slow = async {
        sleep(SLOW_RELOAD).await;
        tracing::warn!(
            "reading the configuration takes longer than {SLOW_RELOAD:?}; the previous one stays in use meanwhile"
        );
        pending::<()>().await;
    };
    tokio::select! {
        done = is_done => if done.is_err() {
            tracing::error!("reading the configuration failed; the previous one stays in use");
        },
        () = slow => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::{Faults, SimulatedDisk, SledSettings, SledStore, testing::Sample};

    #[tokio::test(start_paused = true)]
    async fn a_store_that_takes_nothing_more_ends_the_program() {
        let (folder, disk) = (tempfile::tempdir().unwrap(), SimulatedDisk::new(1));
        let settings = SledSettings::in_folder(folder.path());
        let store = SledStore::open_simulated(&settings, &disk).unwrap();
        let served = async {
            sleep(10 * CHECK_EVERY).await;
            Ok(())
        };
        run_on(&store, served).await.unwrap();
        let sample = Sample::new("t");
        disk.set_faults(Faults { sync: 100, ..Faults::default() });
        let append = sample.append(0, 1, vec![sample.created()]);
        store.append(&sample.caller, append).await.unwrap_err();
        disk.set_faults(Faults::default());
        let error = run_on(&store, pending()).await.unwrap_err();
        assert!(error.is::<StoreError>(), "{error}");
        drop(store);
        // What could not be written before can be written after another start.
        let store = SledStore::open_simulated(&settings, &disk).unwrap();
        sample.create(&store, 1).await;
    }
}
