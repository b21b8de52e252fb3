//! Calls agents; each call goes to the next bridge.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use serde_json::{Value, json};

use crate::Error;

/// The time limit for an answer.
const PATIENCE: Duration = Duration::from_secs(5);

/// The extension that numbers the events of a task.
pub(crate) const SEQUENCE: &str = "urn:activity:sequence:v1";

/// The outcome of a call.
#[derive(Debug)]
pub(crate) enum Answer {
    Done(Value),
    /// The bridge refused the call.
    Refused(Value),
    /// It is not known whether the call was carried out.
    Unknown,
}

/// A client that calls all bridges in turn.
#[derive(Clone, Debug)]
pub(crate) struct Caller {
    http: reqwest::Client,
    urls: Arc<[String]>,
    next: Arc<AtomicUsize>,
}

impl Caller {
    pub(crate) fn of(urls: Vec<String>) -> Result<Self, Error> {
        // Each request uses a new connection, so that all bridges are treated alike.
        let http = reqwest::Client::builder().no_proxy().pool_max_idle_per_host(0);
        Ok(Self { http: http.build()?, urls: urls.into(), next: Arc::default() })
    }

    /// Returns a request to the next bridge that asks for numbered events.
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
            return Answer::Unknown;
        };
        if answer.status().is_server_error() || answer.status() == 429 {
            return Answer::Unknown;
        }
        let Ok(mut answer) = answer.json::<Value>().await else {
            return Answer::Unknown;
        };
        match answer["error"].take() {
            Value::Null => Answer::Done(answer["result"].take()),
            error if is_temporary(&error) => Answer::Unknown,
            error => Answer::Refused(error),
        }
    }
}

/// Returns whether an error says that the same request may succeed later.
pub(crate) fn is_temporary(error: &Value) -> bool {
    let text = error.to_string();
    text.contains("UNAVAILABLE") || text.contains("retryDelay")
}

/// Returns whether an error says that the task does not exist.
pub(crate) fn is_not_found(error: &Value) -> bool {
    error.to_string().contains("TASK_NOT_FOUND")
}
