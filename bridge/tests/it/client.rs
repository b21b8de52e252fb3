//! A minimal client: JSON-RPC by POST, in A2A 1.0.

use std::time::Duration;

use serde_json::{Value, json};

/// The time limit of an answer.
const ANSWER: Duration = Duration::from_secs(300);

pub(crate) struct Client {
    http: reqwest::Client,
    url: String,
}

impl Client {
    /// Creates a client of the program at this address.
    pub(crate) fn of(url: &str) -> Self {
        Self {
            http: reqwest::Client::builder().timeout(ANSWER).build().unwrap(),
            url: url.to_owned(),
        }
    }

    /// Returns the answer, if there is a whole one.
    pub(crate) async fn call(&self, agent: &str, method: &str, params: &Value) -> Option<Value> {
        let body = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params});
        let request = self.http.post(format!("{}/a2a/{agent}", self.url));
        let sent = request.header("a2a-version", "1.0").json(&body).send().await;
        sent.ok()?.json().await.ok()
    }
}
