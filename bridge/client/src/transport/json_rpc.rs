//! JSON-RPC 2.0 over HTTP (specification, section 9), in every version.

use std::sync::atomic::{AtomicU64, Ordering};

use bridge_protocol::{
    a2a::Operation,
    dialect::{Call, Losses},
    jsonrpc::{Id, Request, Response},
    wire::{self, Wire as _},
};
use reqwest::{Method, RequestBuilder};
use serde_json::Value;

use super::{Answer, Items, missing_ids, report, sse, version_json};
use crate::{
    Fault,
    http::{Endpoint, HttpResponse},
};

/// Posts calls to one address.
#[derive(Debug)]
pub(crate) struct JsonRpc {
    /// Whether each method has its own path, as at some agents of 0.1.
    has_paths: bool,
    next_id: AtomicU64,
}

impl JsonRpc {
    pub(crate) fn new(has_paths: bool) -> Self {
        Self { has_paths, next_id: AtomicU64::new(1) }
    }

    pub(crate) async fn call<T: Answer>(&self, to: &Endpoint, call: &Call) -> Result<T, Fault> {
        let (request, id) = self.request(to, call)?;
        let answer = to.exchange(request).await?;
        let mut result = match read_result(&answer, &id) {
            Err(Fault::Invalid(_)) if is_deleted(call, &answer, &id) => Value::Null,
            result => result?,
        };
        missing_ids::add(to.version, &mut result);
        T::read_json(to.version, result).map_err(Fault::Invalid)
    }

    pub(crate) async fn open(
        &self,
        to: &Endpoint,
        call: &Call,
        after: Option<&str>,
    ) -> Result<Items, Fault> {
        let version = to.version;
        let (request, id) = self.request(to, call)?;
        let asked = id.clone();
        let read = move |data: &str| {
            let event = open_envelope(data.as_bytes(), &asked)?;
            version_json::rpc_item(version, event).map_err(Fault::Invalid)
        };
        let refused = |answer: &HttpResponse| match read_result(answer, &id) {
            Err(fault) => fault,
            Ok(_) => sse::no_stream(),
        };
        sse::open(to, request, call, after, read, refused).await
    }

    /// Builds a request, and the id that its answer must have.
    fn request(&self, to: &Endpoint, call: &Call) -> Result<(RequestBuilder, Id), Fault> {
        let version = to.version;
        let method =
            version.method(call.operation()).ok_or(Fault::NotInVersion(version.as_str()))?;
        let id = Id::Number(self.next_id.fetch_add(1, Ordering::Relaxed).into());
        let mut losses = Losses::default();
        let params = version.params_from_v1(call, &mut losses);
        report(to, call, &losses);
        let request = Request::new(id.clone(), method, params);
        let mut url = to.url.clone();
        if self.has_paths {
            url.set_path(&format!("{}/{method}", url.path().trim_end_matches('/')));
        } else if let Some(folder) = folder_of_methods(url.path()) {
            url.set_path(&format!("{folder}/{}", method.replace('/', ":")));
        }
        Ok((to.http.request(Method::POST, url).json(&request), id))
    }
}

/// Returns the folder of a path that accepts one method only, as at agents on agno: each of their methods has a path like
/// those of HTTP+JSON, and the card names that of `message/stream`.
fn folder_of_methods(path: &str) -> Option<&str> {
    let (folder, last) = path.rsplit_once('/')?;
    matches!(last, "message:send" | "message:stream").then_some(folder)
}

/// Reads an answer as a JSON-RPC response, whatever its HTTP status, because agents send protocol errors with
/// any status.
fn read_result(answer: &HttpResponse, id: &Id) -> Result<Value, Fault> {
    match open_envelope(&answer.body, id) {
        Err(Fault::Rpc(error)) => {
            Err(answer.denied(&error.to_string()).unwrap_or(Fault::Rpc(error)))
        }
        Ok(result) => Ok(result),
        Err(_) if !answer.is_success() => Err(answer.refused()),
        Err(fault) if answer.is_json => Err(fault),
        Err(_) => Err(answer.not_json()),
    }
}

/// Returns whether an empty answer confirms that a push configuration was deleted: the result in 0.3 is null (7.8), and
/// some servers leave null fields out.
fn is_deleted(call: &Call, answer: &HttpResponse, id: &Id) -> bool {
    let body = wire::from_slice::<Value>(&answer.body).unwrap_or_default();
    let is_bare = body.get("result").or(body.get("error")).is_none();
    let answered = body.get("id").cloned().and_then(|id| Id::read(id).ok());
    let outcome = Ok(Value::Null);
    let answers =
        answered.is_some_and(|id_of| Response { id: id_of, outcome }.answering(id).is_ok());
    let deletes = call.operation() == Operation::DeleteTaskPushNotificationConfig;
    deletes && is_bare && answers && answer.is_success()
}

fn open_envelope(body: &[u8], id: &Id) -> Result<Value, Fault> {
    let outcome = Response::from_slice(body).and_then(|response| response.answering(id));
    outcome.map_err(Fault::Invalid)?.map_err(Fault::Rpc)
}
