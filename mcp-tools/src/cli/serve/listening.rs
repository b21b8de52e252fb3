//! Serves over HTTP until the work is done, or until Ctrl-C or SIGTERM.

use std::{error::Error, future::Future, io, net::SocketAddr};

use axum::Router;
use bridge_program::{clock, errln, listen, outln, serve, serve_until};
use tokio::{net::TcpListener, sync::watch, try_join};
use url::Url;

use crate::{
    cli::target,
    connection::ConnectionDetails,
    secret::Secret,
    server::{ServerSettings, without_sign_in},
};

/// Waits until the program is asked to stop.
pub(super) async fn stopped(mut stop: watch::Receiver<bool>) {
    // The sender lives as long as the program, so this wait cannot fail.
    let _ = stop.wait_for(|stopped| *stopped).await;
}

/// Returns server settings that also accept the listen address as the `Host`.
pub(super) fn settings(address: SocketAddr) -> ServerSettings {
    let mut settings = ServerSettings::default();
    settings.allowed_hosts.push(address.ip().to_string());
    settings
}

/// Serves until `end` completes. Open requests then get a short time to be answered, because the last result is
/// among them.
pub(super) async fn serve_to_the_end<T>(
    listener: TcpListener,
    app: Router,
    ended: impl Future<Output = io::Result<T>>,
) -> io::Result<T> {
    let (over, stop) = watch::channel(false);
    let ended = async {
        let outcome = ended.await?;
        over.send_replace(true);
        Ok(outcome)
    };
    let app = app.merge(without_sign_in());
    let serving = serve_until(stop, |stop| serve(listener, app, stop));
    let (outcome, ()) = try_join!(ended, serving)?;
    Ok(outcome)
}

/// Serves with the token of the environment, or a new one, and prints the connection details. The caller installs its signal
/// handler first, because a client that reads the printed address may stop the program at once.
pub(super) async fn serve_with_token<T>(
    name: &str,
    address: SocketAddr,
    app: impl FnOnce(&Secret, ServerSettings) -> Router,
    ended: impl Future<Output = io::Result<T>>,
) -> Result<T, Box<dyn Error>> {
    let listener = listen(address).await?;
    let address = listener.local_addr()?;
    let settings = settings(address);
    let token = target::token().unwrap_or_else(|| Secret::new(clock::new_secret()));
    let url = Url::parse(&format!("http://{address}{}", settings.path))?;
    let details = ConnectionDetails::http(name, url).with_bearer(&token);
    let app = app(&token, settings);
    outln!("{:#}", details.to_mcp_servers());
    errln!("listening on http://{address}");
    Ok(serve_to_the_end(listener, app, ended).await?)
}
