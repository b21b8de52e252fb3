//! A server in this process that hosts an agent on a loopback port.

use std::{future::pending, io, net::TcpListener as StdListener, sync::Mutex};

use axum::Router;
use bridge_program::lock;
use tokio::{net::TcpListener, sync::watch, task::JoinHandle};
use url::Url;

/// The address at which an agent is hosted. Dropping it ends the agent.
#[derive(Debug)]
pub struct LocalServer {
    url: Url,
    listener: Mutex<Option<StdListener>>,
    serving: Mutex<Option<JoinHandle<()>>>,
    state: watch::Sender<ServerState>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum ServerState {
    /// Its routes are being created.
    Starting,
    /// It answers requests.
    Serving,
    /// Its routes could not be created.
    Failed(String),
}

impl LocalServer {
    /// Reserves a free loopback port.
    ///
    /// # Errors
    /// If the system has no free port.
    pub fn open() -> io::Result<Self> {
        let listener = StdListener::bind("127.0.0.1:0")?;
        listener.set_nonblocking(true)?;
        let url = format!("http://{}/", listener.local_addr()?);
        Ok(Self {
            url: Url::parse(&url).map_err(io::Error::other)?,
            listener: Mutex::new(Some(listener)),
            serving: Mutex::default(),
            state: watch::Sender::new(ServerState::Starting),
        })
    }

    /// Waits until the agent answers.
    ///
    /// # Errors
    /// The reason why it never will.
    pub async fn ready(&self) -> Result<(), String> {
        let mut state = self.state.subscribe();
        let decided = state.wait_for(|state| *state != ServerState::Starting).await;
        match decided.as_deref() {
            Ok(ServerState::Failed(error)) => Err(error.clone()),
            Ok(ServerState::Starting | ServerState::Serving) | Err(_) => Ok(()),
        }
    }

    /// Returns the address of the agent.
    pub fn url(&self) -> &Url {
        &self.url
    }

    /// Starts to serve the routes once `app` has built them; a second call does nothing. Must be called
    /// within a tokio runtime. If `app` fails, the agent never becomes ready, and [`ready`](Self::ready) says why.
    pub fn serve(&self, app: impl Future<Output = io::Result<Router>> + Send + 'static) {
        let Some(listener) = lock(&self.listener).take() else {
            return;
        };
        let state = self.state.clone();
        let serving = tokio::spawn(async move {
            if let Err(error) = serve(listener, app, &state).await {
                state.send_replace(ServerState::Failed(error.to_string()));
            }
        });
        *lock(&self.serving) = Some(serving);
    }
}

impl Drop for LocalServer {
    fn drop(&mut self) {
        lock(&self.serving).iter().for_each(JoinHandle::abort);
    }
}

async fn serve(
    listener: StdListener,
    app: impl Future<Output = io::Result<Router>>,
    state: &watch::Sender<ServerState>,
) -> io::Result<()> {
    let (listener, app) = (TcpListener::from_std(listener)?, app.await?);
    // From now on connections are answered, because the socket is already listening.
    state.send_replace(ServerState::Serving);
    bridge_program::serve(listener, app, pending()).await
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn waiting_for_an_agent_that_cannot_be_served_returns_the_reason() {
        let server = LocalServer::open().unwrap();
        server.serve(async { Err(io::Error::other("no model is named")) });
        assert_eq!(server.ready().await, Err("no model is named".to_owned()));
        let server = LocalServer::open().unwrap();
        server.serve(async { Ok(Router::new()) });
        assert_eq!(server.ready().await, Ok(()));
    }
}
