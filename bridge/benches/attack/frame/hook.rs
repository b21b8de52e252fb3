//! Webhooks on sockets: they note when they are called, or never answer.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, PoisonError},
    time::Instant,
};

use axum::{Router, extract::State, http::Uri};
use tokio::{net::TcpListener, sync::watch};

use super::Failed;

/// Whatever comes to a path below `/hang` is never answered.
#[derive(Clone, Debug)]
pub(crate) struct Hook {
    url: String,
    called: Arc<Mutex<BTreeMap<String, Vec<Instant>>>>,
    count: watch::Sender<usize>,
}

impl Hook {
    /// Webhooks on a port of their own.
    pub(crate) async fn start() -> Result<Self, Failed> {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let hook = Self {
            url: format!("http://{}", listener.local_addr()?),
            called: Arc::default(),
            count: watch::Sender::new(0),
        };
        let app = Router::new().fallback(take).with_state(hook.clone());
        tokio::spawn(async move { axum::serve(listener, app).await });
        Ok(hook)
    }

    /// The URL of one of them.
    pub(crate) fn at(&self, path: &str) -> String {
        format!("{}{path}", self.url)
    }

    /// When it was called.
    pub(crate) fn called(&self, path: &str) -> Vec<Instant> {
        let called = self.called.lock().unwrap_or_else(PoisonError::into_inner);
        called.get(path).cloned().unwrap_or_default()
    }

    fn note(&self, path: String) {
        let mut called = self.called.lock().unwrap_or_else(PoisonError::into_inner);
        called.entry(path).or_default().push(Instant::now());
        drop(called);
        self.count.send_modify(|count| *count += 1);
    }

    /// Comes when a path has been called so often.
    pub(crate) async fn wait(&self, path: &str, times: usize) {
        let mut counted = self.count.subscribe();
        let enough = |_: &usize| self.called(path).len() >= times;
        let _ = counted.wait_for(enough).await;
    }
}

async fn take(State(hook): State<Hook>, uri: Uri) {
    let path = uri.path().to_owned();
    let hangs = path.starts_with("/hang");
    hook.note(path);
    if hangs {
        std::future::pending::<()>().await;
    }
}
