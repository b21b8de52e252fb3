//! An agent that is hosted in this process, on a port of its own.

use std::{
    future::pending,
    io,
    net::TcpListener as StdListener,
    sync::{Mutex, MutexGuard, PoisonError},
};

use axum::Router;
use tokio::{net::TcpListener, task::JoinHandle};
use url::Url;

/// A place where an agent is hosted. Dropping it ends the agent.
#[derive(Debug)]
pub struct LocalServer {
    url: Url,
    listener: Mutex<Option<StdListener>>,
    serving: Mutex<Option<JoinHandle<()>>>,
}

impl LocalServer {
    /// Takes a free loopback port.
    ///
    /// # Errors
    /// If the system gives no port.
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

    /// Where the agent is reached.
    pub fn url(&self) -> &Url {
        &self.url
    }

    /// Begins to serve what is being put together; again does nothing. To be called within a tokio runtime.
    /// An agent that cannot be served is never ready, and the log says why.
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
