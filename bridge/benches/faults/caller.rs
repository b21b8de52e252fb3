//! Calls agents, each time at the next bridge.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use serde_json::{Value, json};

use crate::Failed;

/// How long an answer is waited for.
const PATIENCE: Duration = Duration::from_secs(5);

/// The extension that numbers the events of a task.
pub(crate) const SEQUENCE: &str = "urn:activity:sequence:v1";

/// What became of a call.
#[derive(Debug)]
pub(crate) enum Answer {
    Done(Value),
    /// The bridge says no.
    Refused(Value),
    /// Nobody knows whether it was done.
    Unsure,
}

/// A client of all bridges.
#[derive(Clone, Debug)]
pub(crate) struct Caller {
    http: reqwest::Client,
    urls: Arc<[String]>,
    next: Arc<AtomicUsize>,
}

impl Caller {
    pub(crate) fn of(urls: Vec<String>) -> Result<Self, Failed> {
        // Each request is another connection, so that no bridge is nearer than the others.
        let http = reqwest::Client::builder()
            .no_proxy()
            .pool_max_idle_per_host(0);
        Ok(Self {
            http: http.build()?,
            urls: urls.into(),
            next: Arc::default(),
        })
    }

    /// A request to the next bridge, in which events are numbered.
    pub(crate) fn request(
        &self,
        agent: &str,
        method: &str,
        params: &Value,
    ) -> reqwest::RequestBuilder {
        let next = self.next.fetch_add(1, Ordering::Relaxed) % self.urls.len();
        let body = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params});
        self.http
            .post(format!("{}/a2a/{agent}", self.urls[next]))
            .header("a2a-version", "1.0")
            .header("a2a-extensions", SEQUENCE)
            .json(&body)
    }

    pub(crate) async fn call(&self, agent: &str, method: &str, params: &Value) -> Answer {
        let request = self.request(agent, method, params).timeout(PATIENCE);
        let Ok(answer) = request.send().await else {
            return Answer::Unsure;
        };
        if answer.status().is_server_error() || answer.status() == 429 {
            return Answer::Unsure;
        }
        let Ok(mut answer) = answer.json::<Value>().await else {
            return Answer::Unsure;
        };
        match answer["error"].take() {
            Value::Null => Answer::Done(answer["result"].take()),
            error if is_passing(&error) => Answer::Unsure,
            error => Answer::Refused(error),
        }
    }
}

/// Whether an error says that the same request may succeed later.
pub(crate) fn is_passing(error: &Value) -> bool {
    let text = error.to_string();
    text.contains("UNAVAILABLE") || text.contains("retryDelay")
}

/// Whether an error says that there is no such task.
pub(crate) fn is_not_found(error: &Value) -> bool {
    error.to_string().contains("TASK_NOT_FOUND")
}
