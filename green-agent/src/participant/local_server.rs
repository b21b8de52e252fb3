//! A server in this process that hosts an agent on a loopback port.

use std::{
    future::pending,
    io,
    net::TcpListener as StdListener,
    sync::{Mutex, MutexGuard, PoisonError},
};

use axum::Router;
use tokio::{net::TcpListener, task::JoinHandle};
use url::Url;

/// The address at which an agent is hosted. Dropping it ends the agent.
#[derive(Debug)]
pub struct LocalServer {
    url: Url,
    listener: Mutex<Option<StdListener>>,
    serving: Mutex<Option<JoinHandle<()>>>,
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
        })
    }

    /// Returns the address of the agent.
    pub fn url(&self) -> &Url {
        &self.url
    }

    /// Starts to serve the routes once `app` has built them; a second call does nothing. Must be called
    /// within a tokio runtime. If `app` fails, the agent never becomes ready, and the log says why.
    pub fn serve(&self, app: impl Future<Output = io::Result<Router>> + Send + 'static) {
        let Some(listener) = lock(&self.listener).take() else {
            return;
        };
        let url = self.url.clone();
        let serving = tokio::spawn(async move {
            if let Err(error) = serve(listener, app).await {
                tracing::error!(%url, %error, "an agent of this process cannot be served");
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
) -> io::Result<()> {
    bridge::serve(TcpListener::from_std(listener)?, app.await?, pending()).await
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
