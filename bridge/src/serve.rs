//! Serving an app on a listener, in the one way that everything here is served.

use std::{io, net::SocketAddr};

use axum::{Router, serve::ListenerExt as _};
use tokio::net::{TcpListener, TcpStream};

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

/// Without it the kernel holds the small events of a stream back until the client has acknowledged the
/// one before, some 40 ms.
pub(crate) fn hurry(connection: &TcpStream) {
    if let Err(error) = connection.set_nodelay(true) {
        tracing::debug!(%error, "a connection without TCP_NODELAY");
    }
}
