//! Serving an app on a listener, in the one way that everything here is served.

use std::io;

use axum::{Router, serve::ListenerExt as _};
use tokio::net::TcpListener;

/// Serves until `stop` comes and the requests that are open then have ended: whoever must not wait for
/// those drops the future. `std::future::pending()` never comes.
///
/// # Errors
/// None at present; axum keeps the right to have some.
pub async fn serve(
    listener: TcpListener,
    app: Router,
    stop: impl Future<Output = ()> + Send + 'static,
) -> io::Result<()> {
    let listener = listener.tap_io(|connection| {
        // Without it the kernel holds the small events of a stream back until the client has
        // acknowledged the one before, some 40 ms.
        if let Err(error) = connection.set_nodelay(true) {
            tracing::debug!(%error, "a connection without TCP_NODELAY");
        }
    });
    axum::serve(listener, app)
        .with_graceful_shutdown(stop)
        .await
}
