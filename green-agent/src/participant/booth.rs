//! A built-in bot, hosted by the bridge in this process, on a port of its own.

use std::{
    future::pending,
    io,
    net::TcpListener as StdListener,
    sync::{Arc, Mutex, PoisonError},
};

use bridge::{bot, host::Host, store::MemoryStore};
use tokio::{net::TcpListener, task::JoinHandle};
use url::Url;

/// A place where a built-in bot is hosted. Dropping it ends the bot.
#[derive(Debug)]
pub struct Booth {
    name: String,
    url: Url,
    listener: Mutex<Option<StdListener>>,
    serving: Mutex<Option<JoinHandle<()>>>,
}

impl Booth {
    /// Takes a free loopback port for the bot of this name.
    ///
    /// # Errors
    /// If the system gives no port.
    pub fn open(name: String) -> io::Result<Self> {
        let listener = StdListener::bind("127.0.0.1:0")?;
        listener.set_nonblocking(true)?;
        let url = format!("http://{}/", listener.local_addr()?);
        Ok(Self {
            name,
            url: Url::parse(&url).map_err(io::Error::other)?,
            listener: Mutex::new(Some(listener)),
            serving: Mutex::new(None),
        })
    }

    /// Where the bot is reached.
    pub fn url(&self) -> &Url {
        &self.url
    }

    /// Begins to serve; again does nothing. To be called within a tokio runtime. A bot that cannot be
    /// served is never ready, and the log says why.
    pub fn serve(&self) {
        let listener = self
            .listener
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take();
        if let Some(listener) = listener {
            let serving = tokio::spawn(host(self.name.clone(), self.url.clone(), listener));
            *self.serving.lock().unwrap_or_else(PoisonError::into_inner) = Some(serving);
        }
    }
}

impl Drop for Booth {
    fn drop(&mut self) {
        let serving = self
            .serving
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take();
        serving.iter().for_each(JoinHandle::abort);
    }
}

async fn host(name: String, url: Url, listener: StdListener) {
    let store = Arc::new(MemoryStore::new());
    let Some(agent) = bot::builtin_agent(&name, store.clone()) else {
        tracing::error!(name, "there is no such built-in bot");
        return;
    };
    let served = async {
        let app = Host::new(store, [agent])
            .router(url.as_str())
            .await
            .map_err(io::Error::other)?;
        bridge::serve(TcpListener::from_std(listener)?, app, pending()).await
    };
    if let Err(error) = served.await {
        tracing::error!(name, %error, "a built-in bot cannot be served");
    }
}
