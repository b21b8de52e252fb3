//! Serving an app on a listener, in the one way that everything here is served.

use std::{io, net::SocketAddr, time::Duration};

use axum::{Router, serve::ListenerExt as _};
use socket2::{SockRef, TcpKeepalive};
use tokio::net::{TcpListener, TcpStream};

/// After how long a silent client is asked whether it is there.
const IDLE: Duration = Duration::from_secs(60);

/// How often it is asked again, until the kernel gives it up.
const PROBE: Duration = Duration::from_secs(15);

/// A place where nobody can listen: it is taken, not this machine's, or not this user's.
#[derive(Debug, thiserror::Error)]
#[error("cannot listen on {address}: {source}")]
pub struct ListenError {
    /// Where that was to be.
    pub address: SocketAddr,
    /// Why not.
    pub source: io::Error,
}

/// Listens; port 0 picks a free one.
///
/// # Errors
/// If that is not possible there.
pub async fn listen(address: SocketAddr) -> Result<TcpListener, ListenError> {
    let listener = TcpListener::bind(address).await;
    listener.map_err(|source| ListenError { address, source })
}

/// Serves until `stop` comes and the requests that are open then have ended: whoever must not wait for
/// those drops the future. `std::future::pending()` never comes. Handlers are told who is connected by
/// [`axum::extract::ConnectInfo`].
///
/// # Errors
/// None at present; axum keeps the right to have some.
pub async fn serve(
    listener: TcpListener,
    app: Router,
    stop: impl Future<Output = ()> + Send + 'static,
) -> io::Result<()> {
    let listener = listener.tap_io(|connection| hurry(connection));
    let app = app.into_make_service_with_connect_info::<SocketAddr>();
    axum::serve(listener, app)
        .with_graceful_shutdown(stop)
        .await
}

/// Sets a connection up that was accepted by hand, as [`serve`] does it with its own.
///
/// Without TCP_NODELAY the kernel holds the small events of a stream back until the client has acknowledged
/// the one before, some 40 ms. Without keep-alive a client that is gone without a word, on a stream that has
/// nothing to say, is never missed.
pub fn hurry(connection: &TcpStream) {
    let socket = SockRef::from(connection);
    let alive = TcpKeepalive::new().with_time(IDLE).with_interval(PROBE);
    let set = socket
        .set_tcp_nodelay(true)
        .and_then(|()| socket.set_tcp_keepalive(&alive));
    if let Err(error) = set {
        tracing::debug!(%error, "a connection without TCP_NODELAY or keep-alive");
    }
}
