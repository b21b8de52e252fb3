//! Serves an app on a listener, so that slow, silent and excess clients affect only themselves.
//!
//! - `limits`: what connections and requests may use
//! - `listen`: listens, and sets the options of connections
//! - `connections`: limits the number of connections and closes idle ones
//! - `acceptor`: prepares a connection for HTTP, for example with TLS
//! - `http_connection`: speaks HTTP/1 or HTTP/2 on a connection
//! - `monitored_io`, `connection_monitor`: observe a connection and enforce its time limits
//! - `service`: answers one request
//! - `in_flight`: the request as its handler sees it
//! - `request_limits`: limits the number of requests and the bytes of their bodies
//! - `request_body`, `response_body`: enforce the limits of bodies
//! - `idle_stream`: sends event streams without the buffers of hyper
//! - `large_responses`: limits the memory of large responses
//! - `rejection`: the reasons for which a request is refused
//! - `early_response`: responds to a head that was not read to its end

mod acceptor;
mod connection_monitor;
mod connections;
mod early_response;
mod http_connection;
mod idle_stream;
mod in_flight;
mod large_responses;
mod limits;
mod listen;
mod monitored_io;
mod rejection;
mod request_body;
mod request_limits;
mod response_body;
mod service;
#[cfg(test)]
mod tests;

use std::{io, net::SocketAddr, pin::Pin, sync::Arc, time::Duration};

use axum::http::Extensions;
use tokio::{
    net::{TcpListener, TcpStream},
    sync::watch,
    time::{sleep, timeout},
};

pub use acceptor::{Acceptor, Io, PlainTcp};
pub use in_flight::{BodyError, InFlight};
pub use large_responses::{
    COUNTED_RESPONSE, LARGE_RESPONSE, LargeResponses, ResponseMemory, ResponsePermit,
    large_responses, read_response,
};
pub use limits::Limits;
pub use listen::{ListenError, MIN_OWN_FILES, listen};
pub use rejection::Rejection;
pub use request_limits::network;
pub use service::App;

use crate::LogInterval;
use connection_monitor::ConnectionMonitor;
use connections::Connections;
use http_connection::HttpConnection;
use idle_stream::StreamSlot;
use monitored_io::MonitoredIo;
use request_limits::RequestLimits;
use service::ConnectionService;

/// The time for a connection to close after it was told to.
const CLOSING: Duration = Duration::from_secs(1);

/// The time for which a connection is read before it is closed.
const LAST_READ: Duration = Duration::from_millis(10);

/// The pause after a connection could not be accepted, for example because the process has too many open files.
const ACCEPT_PAUSE: Duration = Duration::from_millis(20);

/// Serves with the default [`Limits`] until the future `stop` is ready, and then until the open requests have ended.
/// Drop the returned future to stop without waiting for them. Pass `std::future::pending()` to serve for ever.
/// [`axum::extract::ConnectInfo`] gives handlers the client's address.
///
/// # Errors
/// None at present.
pub async fn serve(
    listener: TcpListener,
    app: impl Into<App>,
    stop: impl Future<Output = ()> + Send + 'static,
) -> io::Result<()> {
    serve_within(Limits::default(), listener, PlainTcp, app, stop).await
}

/// Serves like [`serve`], within other limits and with an [`Acceptor`].
///
/// # Errors
/// None at present.
pub async fn serve_within(
    limits: Limits,
    listener: TcpListener,
    acceptor: impl Acceptor,
    app: impl Into<App>,
    stop: impl Future<Output = ()> + Send + 'static,
) -> io::Result<()> {
    let acceptor = Arc::new(acceptor);
    serve_boxed(limits, listener, acceptor, app.into(), Box::pin(stop)).await
}

type Boxed<T> = Pin<Box<dyn Future<Output = T> + Send>>;

/// Serves. This function is not generic and returns a box, so that the server and HTTP are compiled once and not for each crate
/// that serves.
fn serve_boxed(
    limits: Limits,
    listener: TcpListener,
    acceptor: Arc<dyn Acceptor>,
    app: App,
    stop: Boxed<()>,
) -> Boxed<io::Result<()>> {
    Box::pin(async move { accept(limits, listener, acceptor, app, stop).await })
}

async fn accept(
    limits: Limits,
    listener: TcpListener,
    acceptor: Arc<dyn Acceptor>,
    app: App,
    mut stop: Boxed<()>,
) -> io::Result<()> {
    let (stopping, stopped) = watch::channel(false);
    let (open, mut closed) = watch::channel(());
    let limits = limits.for_each_of(1);
    let server = Server {
        limits,
        app,
        acceptor,
        request_limits: Arc::new(RequestLimits::new(&limits)),
        reserved_limits: Arc::new(RequestLimits::new(&limits)),
        connections: Arc::new(Connections::new(limits.connections)),
        accept_failures: Arc::default(),
        stopped,
    };
    loop {
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            () = &mut stop => break,
        };
        match accepted {
            Ok((connection, peer)) => server.spawn(connection, peer, &open),
            Err(error) => server.accept_failed(&error).await,
        }
    }
    drop(listener);
    stopping.send_replace(true);
    drop(open);
    // This fails when the last connection has dropped its sender.
    while closed.changed().await.is_ok() {}
    Ok(())
}

/// The state that all connections of a listener share.
#[derive(Clone)]
struct Server {
    limits: Limits,
    app: App,
    acceptor: Arc<dyn Acceptor>,
    request_limits: Arc<RequestLimits>,
    reserved_limits: Arc<RequestLimits>,
    connections: Arc<Connections>,
    accept_failures: Arc<LogInterval>,
    stopped: watch::Receiver<bool>,
}

impl Server {
    /// Spawns the task of a connection, or closes the connection if even the reserved ones are busy.
    fn spawn(&self, connection: TcpStream, peer: SocketAddr, open: &watch::Sender<()>) {
        listen::set_options(&connection);
        let Some(slot) = self.connections.open() else {
            tracing::debug!(%peer, "there are too many connections");
            return;
        };
        let (server, open) = (self.clone(), open.clone());
        tokio::spawn(async move {
            server.handle(connection, peer, &slot.monitor).await;
            drop((slot, open));
        });
    }

    async fn handle(
        &self,
        connection: TcpStream,
        peer: SocketAddr,
        monitor: &Arc<ConnectionMonitor>,
    ) {
        let accepted = timeout(self.limits.handshake, self.acceptor.accept(connection));
        let mut stopped = self.stopped.clone();
        let accepted = tokio::select! {
            accepted = accepted => accepted,
            () = monitor.evicted() => return,
            _ = stopped.wait_for(|stopped| *stopped) => return,
        };
        match accepted {
            Ok(Ok((io, client))) => self.serve_http(io, peer, client, monitor).await,
            Ok(Err(error)) => tracing::debug!(%peer, %error, "the handshake of a client failed"),
            Err(_) => tracing::debug!(%peer, "the handshake of a client took too long"),
        }
    }

    /// Serves HTTP until the connection is closed.
    async fn serve_http(
        &self,
        io: Io,
        peer: SocketAddr,
        client: Extensions,
        monitor: &Arc<ConnectionMonitor>,
    ) {
        let service = ConnectionService {
            app: self.app.clone(),
            peer,
            client,
            monitor: monitor.clone(),
            address_limits: self.request_limits.of_address(peer.ip()),
            reserved_limits: self.reserved_limits.of_address(peer.ip()),
            limits: self.limits,
            slot: StreamSlot::default(),
        };
        let limits = service.address_limits.clone();
        let io = MonitoredIo::new(io, monitor.clone(), limits, self.app.reject);
        let mut connection = HttpConnection::new(io, service);
        let (mut stopped, mut is_stopping) = (self.stopped.clone(), false);
        loop {
            let reason = tokio::select! {
                served = &mut connection => {
                    if let Err(error) = served {
                        tracing::debug!(%peer, %error, "a connection failed");
                    }
                    return;
                }
                reason = monitor.expired(&self.limits) => reason,
                _ = stopped.wait_for(|stopped| *stopped), if !is_stopping => {
                    is_stopping = true;
                    connection.graceful_shutdown();
                    continue;
                }
            };
            match last_read(Pin::new(&mut connection), monitor, &self.limits).await {
                LastRead::Request => {}
                LastRead::End => return,
                LastRead::Nothing => {
                    tracing::debug!(%peer, reason, "a connection is closed");
                    break;
                }
            }
        }
        // A request that was received just now is still answered, unless the client reads nothing.
        if !monitor.is_stuck() {
            connection.graceful_shutdown();
            let _ = timeout(CLOSING, connection).await;
        }
    }

    /// Handles an error of `accept`. Errors of the client need nothing; others may be a lack of open files.
    async fn accept_failed(&self, error: &io::Error) {
        let is_from_client = matches!(
            error.kind(),
            io::ErrorKind::ConnectionAborted
                | io::ErrorKind::ConnectionReset
                | io::ErrorKind::ConnectionRefused
        );
        if !is_from_client {
            listen::log_accept_failure(&self.accept_failures, error);
            self.connections.evict();
            sleep(ACCEPT_PAUSE).await;
        }
    }
}

/// The result of the last read of a connection that has expired.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum LastRead {
    /// The client has sent a request.
    Request,
    /// The client has closed the connection.
    End,
    Nothing,
}

/// Reads what the client sent just before its connection expired. Closing the connection with unread bytes would lose a request
/// that was sent in time.
async fn last_read(
    connection: Pin<&mut impl Future>,
    monitor: &ConnectionMonitor,
    limits: &Limits,
) -> LastRead {
    if monitor.is_stuck() {
        return LastRead::Nothing;
    }
    match timeout(LAST_READ, connection).await {
        Ok(_) => LastRead::End,
        Err(_) if monitor.is_expired(limits) => LastRead::Nothing,
        Err(_) => LastRead::Request,
    }
}
