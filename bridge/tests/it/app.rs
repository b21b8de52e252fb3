//! Builds an app with one agent, which tests call without a socket.

use std::{
    pin::pin,
    sync::Arc,
    task::{Context, Poll},
};

use axum::{
    Router,
    body::Body,
    http::{Request, Response, StatusCode, request},
};
use bridge::{
    agent::{Agent, TurnSettings},
    executor::FnExecutor,
    host::Host,
    store::MemoryStore,
};
use bridge_protocol::a2a::AgentCard;
use serde_json::{Value, json};
use tower::ServiceExt as _;

pub(crate) async fn app() -> Router {
    app_with(TurnSettings::default()).await
}

pub(crate) async fn app_with(settings: TurnSettings) -> Router {
    app_of(Agent { settings, ..agent("echo") }).await
}

/// Returns the app of an agent whose card is changed by a function.
pub(crate) async fn app_with_card(change: impl FnOnce(&mut AgentCard)) -> Router {
    let mut agent = agent("echo");
    change(&mut agent.card);
    app_of(agent).await
}

async fn app_of(agent: Agent) -> Router {
    let host = Host::new(Arc::new(MemoryStore::new()), [agent]);
    host.router("http://localhost:3978").await.unwrap()
}

/// Returns an agent that repeats the message.
pub(crate) fn agent(name: &str) -> Agent {
    Agent {
        name: name.into(),
        card: AgentCard::named("Echo", "Says it again."),
        executor: Arc::new(FnExecutor(|text: &str| format!("You said: {text}"))),
        settings: TurnSettings::default(),
    }
}

pub(crate) async fn get(app: &Router, path: &str, header: Option<(&str, &str)>) -> Response<Body> {
    let mut request = Request::get(path);
    if let Some((name, value)) = header {
        request = request.header(name, value);
    }
    let request = named(request).body(Body::empty()).unwrap();
    app.clone().oneshot(request).await.unwrap()
}

/// Returns a request that names 1.0 where HTTP+JSON has to (3.6.2), unless it names another version.
pub(crate) fn named(request: request::Builder) -> request::Builder {
    let path = request.uri_ref().unwrap().to_string();
    // 0.3 has its own paths, and 0.1 has those of its methods.
    let of_0_1 = ["/tasks/send", "/tasks/get", "/tasks/cancel"];
    let is_rest = ["/message:", "/tasks", "/extendedAgentCard"];
    let needs_it = is_rest.iter().any(|one| path.contains(one))
        && !path.contains("/v1/")
        && !path.contains("A2A-Version")
        && !of_0_1.iter().any(|one| path.ends_with(one))
        && !request.headers_ref().unwrap().contains_key("a2a-version");
    if needs_it { request.header("a2a-version", "1.0") } else { request }
}

pub(crate) async fn text(response: Response<Body>) -> String {
    let bytes = axum::body::to_bytes(response.into_body(), usize::MAX).await.unwrap();
    String::from_utf8(bytes.to_vec()).unwrap()
}

pub(crate) async fn post(
    app: &Router,
    path: &str,
    headers: &[(&str, &str)],
    body: &Value,
) -> Response<Body> {
    let mut request = Request::post(path).header("content-type", "application/json");
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    let request = named(request).body(Body::from(body.to_string()));
    app.clone().oneshot(request.unwrap()).await.unwrap()
}

/// The one answer to a call: the body, or the only event of a stream, as of one that is refused.
pub(crate) async fn rpc(app: &Router, version: Option<&str>, method: &str, params: Value) -> Value {
    let body = json!({"jsonrpc": "2.0", "id": 7, "method": method, "params": params});
    let header = version.map(|version| ("a2a-version", version));
    let response = post(app, "/a2a", header.as_slice(), &body).await;
    assert_eq!(response.status(), StatusCode::OK);
    let said = text(response).await;
    let answer = said.strip_prefix("data: ").unwrap_or(&said);
    let answer: Value = serde_json::from_str(answer).unwrap();
    assert_eq!(answer["id"], 7);
    answer
}

/// Returns the data of the events of a stream.
pub(crate) async fn events(
    app: &Router,
    version: Option<&str>,
    method: &str,
    params: Value,
) -> Vec<Value> {
    let body = json!({"jsonrpc": "2.0", "id": 7, "method": method, "params": params});
    let header = version.map(|version| ("a2a-version", version));
    let response = post(app, "/a2a", header.as_slice(), &body).await;
    let text = text(response).await;
    let data = text.lines().filter_map(|line| line.strip_prefix("data: "));
    data.map(|line| serde_json::from_str(line).unwrap()).collect()
}

pub(crate) fn say(id: &str, text: &str) -> Value {
    json!({"message": {"messageId": id, "role": "ROLE_USER", "parts": [{"text": text}]}})
}

/// Polls a future up to this number of times, then drops it. Returns its output, if it completed.
pub(crate) async fn polled<T>(times: usize, work: impl Future<Output = T>) -> Option<T> {
    let (mut work, mut left) = (pin!(work), times);
    std::future::poll_fn(move |context: &mut Context<'_>| {
        if left == 0 {
            return Poll::Ready(None);
        }
        left -= 1;
        let polled = work.as_mut().poll(context).map(Some);
        if left == 0 && polled.is_pending() {
            return Poll::Ready(None);
        }
        polled
    })
    .await
}
