//! Callers who do nothing wrong while others attack: how long they wait, and whether what they were told is
//! kept was kept.

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

use super::{Failed, Program};

/// How many they are.
const CALLERS: usize = 4;

/// How long each waits after an answer.
const PAUSE: Duration = Duration::from_millis(5);

/// After how long one gives an answer up.
const PATIENCE: Duration = Duration::from_secs(20);

/// Callers of an agent, each sending one message after the other. They have a thread of their own: what an attack makes
/// this program do is not counted as theirs, only what it makes the machine do.
#[derive(Debug)]
pub(crate) struct Others {
    runtime: Option<Runtime>,
    client: reqwest::Client,
    url: String,
    acknowledged: Arc<Mutex<Vec<String>>>,
}

/// How long they waited for answers.
#[derive(Debug, Default)]
pub(crate) struct Waited {
    /// For each good answer, the shortest first.
    pub(crate) times: Vec<Duration>,
    /// How often none came, or a refusal.
    pub(crate) failed: usize,
}

impl Waited {
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

impl Others {
    /// Callers of the program's first agent, over JSON-RPC.
    pub(crate) fn of(program: &Program) -> Self {
        Self::showing(program, HeaderMap::new())
    }

    /// Starts clients that send these headers.
    pub(crate) fn showing(program: &Program, headers: HeaderMap) -> Self {
        let runtime = runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .enable_all()
            .build();
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

    /// Sends messages for as long as something takes.
    pub(crate) async fn watch<T>(&self, during: impl Future<Output = T>) -> (T, Waited) {
        let (waited, failed) = (Arc::new(Mutex::new(Vec::new())), Arc::default());
        let start = |_| {
            let (client, url) = (self.client.clone(), self.url.clone());
            let (waited, failed) = (Arc::clone(&waited), Arc::clone(&failed));
            let acknowledged = Arc::clone(&self.acknowledged);
            let calling = call(client, url, waited, failed, acknowledged);
            self.runtime.as_ref().map(|runtime| runtime.spawn(calling))
        };
        let callers: Vec<_> = (0..CALLERS).filter_map(start).collect();
        let found = during.await;
        for caller in &callers {
            caller.abort();
        }
        let mut times = std::mem::take(&mut *waited.lock().unwrap_or_else(PoisonError::into_inner));
        times.sort();
        let failed = failed.load(Ordering::Relaxed);
        (found, Waited { times, failed })
    }

    /// The acknowledged tasks that are no longer there: of very many, as many as can be asked for soon.
    ///
    /// # Errors
    /// If the service is gone.
    pub(crate) async fn lost(&self) -> Result<Vec<String>, Failed> {
        let ids = self.acknowledged.lock();
        let ids = ids.unwrap_or_else(PoisonError::into_inner).clone();
        let mut lost = Vec::new();
        let step = ids.len().div_ceil(2_000).max(1);
        for id in ids.iter().step_by(step) {
            let asked =
                json!({"jsonrpc": "2.0", "id": 1, "method": "GetTask", "params": {"id": id}});
            if ask(&self.client, &self.url, &asked).await?["result"]["id"] != **id {
                lost.push(id.clone());
            }
        }
        Ok(lost)
    }
}

impl Drop for Others {
    fn drop(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

async fn call(
    client: reqwest::Client,
    url: String,
    waited: Arc<Mutex<Vec<Duration>>>,
    failed: Arc<AtomicUsize>,
    acknowledged: Arc<Mutex<Vec<String>>>,
) {
    loop {
        let message = json!({"messageId": next_id(), "role": "ROLE_USER",
            "parts": [{"text": "hello"}]});
        let asked = json!({"jsonrpc": "2.0", "id": 1, "method": "SendMessage",
            "params": {"message": message}});
        let begun = Instant::now();
        let answered = ask(&client, &url, &asked).await.ok();
        let id = answered.and_then(|it| it["result"]["task"]["id"].as_str().map(str::to_owned));
        match id {
            Some(id) => {
                let time = begun.elapsed();
                waited
                    .lock()
                    .unwrap_or_else(PoisonError::into_inner)
                    .push(time);
                acknowledged
                    .lock()
                    .unwrap_or_else(PoisonError::into_inner)
                    .push(id);
            }
            None => drop(failed.fetch_add(1, Ordering::Relaxed)),
        }
        sleep(PAUSE).await;
    }
}

/// A message id that no other message of this program has.
fn next_id() -> String {
    static NEXT: AtomicUsize = AtomicUsize::new(0);
    format!("others-{}", NEXT.fetch_add(1, Ordering::Relaxed))
}

/// One JSON-RPC call, and what comes of it.
pub(crate) async fn ask(
    client: &reqwest::Client,
    url: &str,
    asked: &Value,
) -> Result<Value, reqwest::Error> {
    let request = client.post(url).header("a2a-version", "1.0").json(asked);
    request.send().await?.json().await
}
