//! A server of webhooks that records when they are called.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, PoisonError},
    time::Instant,
};

use axum::{Router, extract::State, http::Uri};
use tokio::{net::TcpListener, sync::watch};

use super::Error;

/// A server of webhooks; a path below `/hang` is never answered.
#[derive(Clone, Debug)]
pub(crate) struct Webhooks {
    url: String,
    called: Arc<Mutex<BTreeMap<String, Vec<Instant>>>>,
    count: watch::Sender<usize>,
}

impl Webhooks {
    /// Starts the server on a new port.
    pub(crate) async fn start() -> Result<Self, Error> {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let webhooks = Self {
            url: format!("http://{}", listener.local_addr()?),
            called: Arc::default(),
            count: watch::Sender::new(0),
        };
        let app = Router::new().fallback(take).with_state(webhooks.clone());
        tokio::spawn(async move { axum::serve(listener, app).await });
        Ok(webhooks)
    }

    /// Returns the URL of the webhook at this path.
    pub(crate) fn url(&self, path: &str) -> String {
        format!("{}{path}", self.url)
    }

    /// Returns the times at which this path was called.
    pub(crate) fn calls(&self, path: &str) -> Vec<Instant> {
        let called = self.called.lock().unwrap_or_else(PoisonError::into_inner);
        called.get(path).cloned().unwrap_or_default()
    }

    fn note(&self, path: String) {
        let mut called = self.called.lock().unwrap_or_else(PoisonError::into_inner);
        called.entry(path).or_default().push(Instant::now());
        drop(called);
        self.count.send_modify(|count| *count += 1);
    }

    /// Waits until a path has been called this many times.
    pub(crate) async fn wait_for(&self, path: &str, times: usize) {
        let mut counted = self.count.subscribe();
        let enough = |_: &usize| self.calls(path).len() >= times;
        let _ = counted.wait_for(enough).await;
    }
}

async fn take(State(webhooks): State<Webhooks>, uri: Uri) {
    let path = uri.path().to_owned();
    let hangs = path.starts_with("/hang");
    webhooks.note(path);
    if hangs {
        std::future::pending::<()>().await;
    }
}
