//! Sends requests to a running bridge over its socket.

use std::{
    error::Error,
    path::{Path, PathBuf},
    time::Duration,
};

use bridge_http::root_cause;
use reqwest::{Client, Method, Response};
use serde_json::Value;

use super::socket;

/// The time for which a bridge may be silent, and the same where much is read before it answers. A long answer may take longer.
pub(in crate::cli) const LIMIT: Duration = Duration::from_secs(30);
pub(in crate::cli) const LONG_LIMIT: Duration = Duration::from_secs(3_600);

/// A client of a running bridge.
#[derive(Debug)]
pub(in crate::cli) struct AdminClient {
    http: Client,
    path: PathBuf,
}

/// The reason why there is no answer.
#[derive(Debug, thiserror::Error)]
pub(in crate::cli) enum AdminClientError {
    /// No bridge answers, or the answer ends early.
    #[error(
        "no bridge answers at {}: name the store of a running one with --store, as for bridge serve, or its socket \
         with --admin ({reason})",
        .path.display()
    )]
    Absent { path: PathBuf, reason: String },
    /// The bridge has answered with an error.
    #[error("{0}")]
    Refused(String),
}

impl AdminClient {
    /// Creates a client of the bridge at this socket, which may be silent for this time.
    pub(in crate::cli) fn at(path: &Path, limit: Duration) -> Result<Self, AdminClientError> {
        let client = Client::builder().no_proxy().read_timeout(limit);
        let client = socket::connected(client, path).map_err(|error| absent(path, &error))?;
        let http = client.build().map_err(|error| absent(path, &error))?;
        Ok(Self { http, path: path.to_owned() })
    }

    /// Returns the JSON at this path.
    pub(in crate::cli) async fn get(&self, path: &str) -> Result<Value, AdminClientError> {
        self.json(Method::GET, path).await
    }

    /// Sends a POST request, and returns the JSON of the answer.
    pub(in crate::cli) async fn post(&self, path: &str) -> Result<Value, AdminClientError> {
        self.json(Method::POST, path).await
    }

    /// Sends a DELETE request, and returns the JSON of the answer.
    pub(in crate::cli) async fn delete(&self, path: &str) -> Result<Value, AdminClientError> {
        self.json(Method::DELETE, path).await
    }

    /// Passes the text of the answer on, piece by piece.
    pub(in crate::cli) async fn pieces(
        &self,
        path: &str,
        mut each: impl FnMut(&str),
    ) -> Result<(), AdminClientError> {
        let (mut answer, mut begun) = (self.ask(Method::GET, path).await?, Vec::new());
        let absent = |error: reqwest::Error| absent(&self.path, &error);
        while let Some(piece) = answer.chunk().await.map_err(absent)? {
            begun.extend_from_slice(&piece);
            // Whole lines, so that no character is cut in two.
            if let Some(end) = begun.iter().rposition(|byte| *byte == b'\n') {
                let lines: Vec<u8> = begun.drain(..=end).collect();
                each(&String::from_utf8_lossy(&lines));
            }
        }
        Ok(())
    }

    async fn json(&self, method: Method, path: &str) -> Result<Value, AdminClientError> {
        let answer = self.ask(method, path).await?;
        answer.json().await.map_err(|error| absent(&self.path, &error))
    }

    async fn ask(&self, method: Method, path: &str) -> Result<Response, AdminClientError> {
        let request = self.http.request(method, format!("http://bridge{path}"));
        let answer = request.send().await;
        let answer = answer.map_err(|error| absent(&self.path, &error))?;
        if answer.status().is_success() {
            return Ok(answer);
        }
        let status = answer.status();
        let body = answer.json::<Value>().await.unwrap_or_default();
        let body = body["error"].as_str().map(str::to_owned);
        Err(AdminClientError::Refused(body.unwrap_or_else(|| status.to_string())))
    }
}

fn absent(path: &Path, error: &(dyn Error + 'static)) -> AdminClientError {
    AdminClientError::Absent { path: path.to_owned(), reason: root_cause(error) }
}
