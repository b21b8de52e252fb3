//! Well-behaved clients that run during an attack: measures how long they wait, and checks that acknowledged tasks are
//! kept.

use std::{
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};

use reqwest::header::HeaderMap;
use serde_json::{Value, json};
use tokio::{
    runtime::{self, Runtime},
    time::sleep,
};

use super::{Error, Program};

/// The number of clients.
const CALLERS: usize = 4;

/// The pause of a client after each answer.
const PAUSE: Duration = Duration::from_millis(5);

/// The time after which a client stops waiting for an answer.
const PATIENCE: Duration = Duration::from_secs(20);

/// Clients of an agent, each sending one message after the other. They have their own thread, so that the work of this
/// program for the attack does not count as theirs.
#[derive(Debug)]
pub(crate) struct BackgroundClients {
    runtime: Option<Runtime>,
    client: reqwest::Client,
    url: String,
    acknowledged: Arc<Mutex<Vec<String>>>,
}

/// The times for which the clients waited for answers.
#[derive(Debug, Default)]
pub(crate) struct Latencies {
    /// The time until each successful answer, the shortest first.
    pub(crate) times: Vec<Duration>,
    /// The number of requests that failed or were refused.
    pub(crate) failed: usize,
}

impl Latencies {
    pub(crate) fn p50(&self) -> Duration {
        let index = self.times.len() / 2;
        self.times.get(index).copied().unwrap_or(PATIENCE)
    }

    pub(crate) fn p99(&self) -> Duration {
        let index = self.times.len() * 99 / 100;
        self.times.get(index).copied().unwrap_or(PATIENCE)
    }

    pub(crate) fn longest(&self) -> Duration {
        self.times.last().copied().unwrap_or(PATIENCE)
    }
}

impl BackgroundClients {
    /// Creates clients of the program's first agent, over JSON-RPC.
    pub(crate) fn new(program: &Program) -> Self {
        Self::with_headers(program, HeaderMap::new())
    }

    /// Creates clients that send these headers.
    pub(crate) fn with_headers(program: &Program, headers: HeaderMap) -> Self {
        let runtime = runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build();
        let client = reqwest::Client::builder()
            .timeout(PATIENCE)
            .default_headers(headers)
            .danger_accept_invalid_certs(true)
            .no_proxy();
        Self {
            runtime: Some(runtime.expect("a runtime starts")),
            client: client.build().expect("a client is made"),
            url: format!("{}/a2a/echo", program.url()),
            acknowledged: Arc::default(),
        }
    }

    /// Sends messages until this future completes. Returns its output and the clients' latencies.
    pub(crate) async fn run_during<T>(&self, during: impl Future<Output = T>) -> (T, Latencies) {
        let (latencies, failed) = (Arc::new(Mutex::new(Vec::new())), Arc::default());
        let start = |_| {
            let (client, url) = (self.client.clone(), self.url.clone());
            let (latencies, failed) = (Arc::clone(&latencies), Arc::clone(&failed));
            let acknowledged = Arc::clone(&self.acknowledged);
            let calling = call(client, url, latencies, failed, acknowledged);
            self.runtime.as_ref().map(|runtime| runtime.spawn(calling))
        };
        let callers: Vec<_> = (0..CALLERS).filter_map(start).collect();
        let found = during.await;
        for caller in &callers {
            caller.abort();
        }
        let mut times =
            std::mem::take(&mut *latencies.lock().unwrap_or_else(PoisonError::into_inner));
        times.sort();
        let failed = failed.load(Ordering::Relaxed);
        (found, Latencies { times, failed })
    }

    /// Returns the acknowledged tasks that cannot be found; of a large number, it checks a sample of about 2,000.
    ///
    /// # Errors
    /// If the service does not answer.
    pub(crate) async fn lost_tasks(&self) -> Result<Vec<String>, Error> {
        let ids = self.acknowledged.lock();
        let ids = ids.unwrap_or_else(PoisonError::into_inner).clone();
        let mut lost = Vec::new();
        let step = ids.len().div_ceil(2_000).max(1);
        for id in ids.iter().step_by(step) {
            let request =
                json!({"jsonrpc": "2.0", "id": 1, "method": "GetTask", "params": {"id": id}});
            if post_rpc(&self.client, &self.url, &request).await?["result"]["id"] != **id {
                lost.push(id.clone());
            }
        }
        Ok(lost)
    }
}

impl Drop for BackgroundClients {
    fn drop(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

async fn call(
    client: reqwest::Client,
    url: String,
    latencies: Arc<Mutex<Vec<Duration>>>,
    failed: Arc<AtomicUsize>,
    acknowledged: Arc<Mutex<Vec<String>>>,
) {
    loop {
        let message = json!({"messageId": next_id(), "role": "ROLE_USER",
            "parts": [{"text": "hello"}]});
        let request = json!({"jsonrpc": "2.0", "id": 1, "method": "SendMessage",
            "params": {"message": message}});
        let begun = Instant::now();
        let answered = post_rpc(&client, &url, &request).await.ok();
        let id = answered.and_then(|it| it["result"]["task"]["id"].as_str().map(str::to_owned));
        match id {
            Some(id) => {
                let time = begun.elapsed();
                latencies.lock().unwrap_or_else(PoisonError::into_inner).push(time);
                acknowledged.lock().unwrap_or_else(PoisonError::into_inner).push(id);
            }
            None => drop(failed.fetch_add(1, Ordering::Relaxed)),
        }
        sleep(PAUSE).await;
    }
}

/// Returns a message id that no other message of this program has.
fn next_id() -> String {
    static NEXT: AtomicUsize = AtomicUsize::new(0);
    format!("others-{}", NEXT.fetch_add(1, Ordering::Relaxed))
}

/// Sends a JSON-RPC request, and returns the response.
pub(crate) async fn post_rpc(
    client: &reqwest::Client,
    url: &str,
    request: &Value,
) -> Result<Value, reqwest::Error> {
    let request = client.post(url).header("a2a-version", "1.0").json(request);
    request.send().await?.json().await
}
