//! An evaluator that serves episodes on a free port.

use std::time::Duration;

use jiff::Timestamp;
use mcp_tools::{
    environments::{Environment, builtin},
    episodes::{Episodes, Limits, Opened},
    server::{self, ServerSettings},
};
use tokio::{net::TcpListener, task::JoinHandle};

pub(crate) const LIMITS: Limits =
    Limits { steps: 50, time: Duration::from_secs(1800), call: Duration::from_secs(60) };

pub(crate) struct Evaluator {
    pub(crate) episodes: Episodes,
    pub(crate) url: String,
    serving: JoinHandle<()>,
}

impl Evaluator {
    pub(crate) async fn start() -> Self {
        Self::with(ServerSettings::default()).await
    }

    pub(crate) async fn with(settings: ServerSettings) -> Self {
        let episodes = Episodes::new(8);
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}{}", listener.local_addr().unwrap(), settings.path);
        let app = server::router(episodes.clone(), settings);
        let serving = tokio::spawn(async move { axum::serve(listener, app).await.unwrap() });
        Self { episodes, url, serving }
    }

    /// Opens an episode in a built-in environment.
    pub(crate) fn open(&self, environment: &str, seed: u64) -> Opened {
        self.open_with(builtin(environment, seed).unwrap(), LIMITS)
    }

    pub(crate) fn open_with(&self, environment: Box<dyn Environment>, limits: Limits) -> Opened {
        let now = Timestamp::now();
        self.episodes.open(environment, limits, now).unwrap()
    }
}

impl Drop for Evaluator {
    fn drop(&mut self) {
        self.serving.abort();
    }
}
