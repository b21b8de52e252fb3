//! One JSON-RPC call over HTTP: post, read within the limits, open the envelope.

use std::{
    sync::atomic::{AtomicU64, Ordering},
    time::Duration,
};

use bridge_protocol::{
    dialect::{Call, Losses, Version},
    jsonrpc::{Id, Request, Response, RpcError},
};
use reqwest::{RequestBuilder, header::CONTENT_TYPE};
use serde_json::Value;
use url::Url;

use crate::{Credentials, Fault, Limits};

/// Where calls go, and how.
#[derive(Debug)]
pub(crate) struct Endpoint {
    pub(crate) http: reqwest::Client,
    pub(crate) url: Url,
    pub(crate) version: Version,
    pub(crate) limits: Limits,
    pub(crate) credentials: Credentials,
    pub(crate) next_id: AtomicU64,
}

impl Endpoint {
    /// The request of a call, ready to be sent.
    pub(crate) fn request(&self, call: &Call) -> Result<RequestBuilder, Fault> {
        let version = self.version.as_str();
        let operation = call.operation();
        let method = self
            .version
            .method(operation)
            .ok_or(Fault::NotInVersion(version))?;
        let id = Id::Number(self.next_id.fetch_add(1, Ordering::Relaxed).into());
        let request = Request::new(id, method, self.params(call));
        let builder = self.http.post(self.url.clone()).json(&request);
        Ok(match self.version {
            Version::V1_0 => builder.header("A2A-Version", version),
            // The header came with 1.0; older servers do not know it, and its absence means 0.3.
            Version::V0_1 | Version::V0_3 => builder,
        })
    }

    fn params(&self, call: &Call) -> Value {
        let mut losses = Losses::default();
        let params = self.version.params_from_v1(call, &mut losses);
        for loss in losses.iter() {
            let operation = call.operation().name();
            tracing::warn!(agent = %self.url, operation, %loss, "not sayable in this version");
        }
        params
    }

    /// Makes a call whose answer is one object.
    pub(crate) async fn call(&self, call: &Call) -> Result<Value, Fault> {
        let request = self.request(call)?;
        let limit = self.limits.reply;
        let exchange = async {
            let sent = request.send().await;
            let reply = sent.map_err(|error| Fault::transport(&error, limit))?;
            read_reply(reply, &self.limits).await
        };
        within(limit, exchange).await
    }
}

/// Puts a limit of time on an exchange.
pub(crate) async fn within<T>(
    limit: Duration,
    exchange: impl Future<Output = Result<T, Fault>>,
) -> Result<T, Fault> {
    let ended = tokio::time::timeout(limit, exchange).await;
    ended.unwrap_or(Err(Fault::Timeout(limit)))
}

/// Opens a reply that should be a JSON-RPC response, whatever its HTTP status: agents send errors of
/// the protocol with statuses of all kinds.
pub(crate) async fn read_reply(reply: reqwest::Response, limits: &Limits) -> Result<Value, Fault> {
    let status = reply.status();
    let json = reply
        .headers()
        .get(CONTENT_TYPE)
        .and_then(|value| value.to_str().ok())
        .is_some_and(|value| value.contains("json"));
    let body = read_body(reply, limits).await?;
    match Response::from_slice(&body) {
        Ok(response) => response.outcome.map_err(Fault::Rpc),
        Err(_) if !status.is_success() => Err(Fault::Http {
            status: status.as_u16(),
            body: beginning(&body),
        }),
        Err(error) if json => Err(Fault::Invalid(error)),
        Err(_) => Err(Fault::Http {
            status: status.as_u16(),
            body: format!("not JSON: {}", beginning(&body)),
        }),
    }
}

/// Opens the JSON-RPC response that one event of a stream holds.
pub(crate) fn open_event(data: &str) -> Result<Value, Fault> {
    let response = Response::from_slice(data.as_bytes()).map_err(Fault::Invalid)?;
    response
        .outcome
        .map_err(|error: RpcError| Fault::Rpc(error))
}

/// Reads a body piece by piece, so that a large one is given up before it is in memory.
pub(crate) async fn read_body(
    mut reply: reqwest::Response,
    limits: &Limits,
) -> Result<Vec<u8>, Fault> {
    let limit = limits.body;
    let mut body = Vec::new();
    while let Some(chunk) = reply
        .chunk()
        .await
        .map_err(|error| Fault::transport(&error, limits.reply))?
    {
        if body.len() + chunk.len() > limit {
            return Err(Fault::TooLarge { limit });
        }
        body.extend_from_slice(&chunk);
    }
    Ok(body)
}

/// As much of a body as belongs into an error.
pub(crate) fn beginning(body: &[u8]) -> String {
    let text = String::from_utf8_lossy(body);
    let mut shown: String = text.trim().chars().take(200).collect();
    if shown.len() < text.trim().len() {
        shown.push('…');
    }
    shown
}
