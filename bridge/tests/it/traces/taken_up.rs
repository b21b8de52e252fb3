//! Turns that are taken up by another process, and push notifications from there, stay in the trace of the message that
//! began them.

use std::{
    fs,
    process::Command,
    sync::{Arc, Mutex},
    time::Duration,
};

use axum::{Router, body::Bytes, http::Uri};
use prost::Message as _;
use serde_json::{Value, json};
use tokio::{
    net::TcpListener,
    time::{Instant, sleep},
};

use crate::{postgres::server::Server, program::Bridge};

const LONG: Duration = Duration::from_secs(60);

/// The fields of a collector's requests that are checked: `opentelemetry/proto/trace/v1/trace.proto`.
#[derive(prost::Message)]
struct Export {
    #[prost(message, repeated, tag = "1")]
    resources: Vec<Resource>,
}

#[derive(prost::Message)]
struct Resource {
    #[prost(message, repeated, tag = "2")]
    scopes: Vec<Scope>,
}

#[derive(prost::Message)]
struct Scope {
    #[prost(message, repeated, tag = "2")]
    spans: Vec<Span>,
}

#[derive(Clone, PartialEq, prost::Message)]
struct Span {
    #[prost(bytes = "vec", tag = "1")]
    trace: Vec<u8>,
    #[prost(bytes = "vec", tag = "2")]
    id: Vec<u8>,
    #[prost(bytes = "vec", tag = "4")]
    parent: Vec<u8>,
    #[prost(string, tag = "5")]
    name: String,
}

/// Collects spans; it is a webhook too.
struct Collector {
    url: String,
    spans: Arc<Mutex<Vec<Span>>>,
}

impl Collector {
    async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let spans: Arc<Mutex<Vec<Span>>> = Arc::default();
        let all = spans.clone();
        let take = async move |uri: Uri, body: Bytes| {
            if uri.path() == "/webhook" {
                return;
            }
            let Export { resources } = Export::decode(body).unwrap();
            let scopes = resources.into_iter().flat_map(|resource| resource.scopes);
            let mut all = all.lock().unwrap();
            all.extend(scopes.flat_map(|scope| scope.spans));
        };
        let app = Router::new().fallback(take);
        tokio::spawn(async move { axum::serve(listener, app).await });
        Self { url, spans }
    }

    /// Returns the span below `parent`, once it has arrived.
    async fn below(&self, parent: &[u8], name: &str) -> Span {
        let begun = Instant::now();
        loop {
            let spans = self.spans.lock().unwrap().clone();
            let found = spans.iter().find(|span| span.parent == parent && span.name.contains(name));
            if let Some(span) = found {
                return span.clone();
            }
            assert!(begun.elapsed() < LONG, "no span {name} below {parent:x?}: {spans:?}");
            sleep(Duration::from_millis(5)).await;
        }
    }
}

/// Calls a bridge under a trace of the client's own.
async fn call(bridge: &Bridge, traceparent: &str, method: &str, params: &Value) -> Value {
    let body = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params});
    let request = reqwest::Client::new().post(format!("{}/a2a/hanging", bridge.url()));
    let request = request.header("a2a-version", "1.0").header("traceparent", traceparent);
    let answer = request.json(&body).send().await.unwrap();
    let answer: Value = answer.json().await.unwrap();
    assert!(answer["error"].is_null(), "{answer}");
    answer["result"].clone()
}

/// Two messages of one conversation have separate traces: the first one's turn begins and fails when its bridge has
/// ended, the second one's turn runs in the next bridge.
async fn stay_in_their_traces(start: impl Fn(&Collector) -> Bridge, comes_later: bool) {
    let collector = Collector::start().await;
    let mut one = start(&collector);
    let other = (!comes_later).then(|| start(&collector));
    let mut messages = Vec::new();
    for number in [1_u8, 2] {
        let client = format!("00-{0}-{1}-01", hex(&[number; 16]), hex(&[number; 8]));
        let message = json!({"messageId": format!("m{number}"), "contextId": "c", "role": "ROLE_USER",
            "parts": [{"text": "hello"}]});
        let params = json!({"message": message, "configuration": {"returnImmediately": true}});
        let sent = call(&one, &client, "SendMessage", &params).await;
        let request = collector.below(&[number; 8], "").await;
        assert_eq!(request.trace, [number; 16]);
        messages.push((sent["task"]["id"].clone(), request));
    }
    one.kill();
    let two = other.unwrap_or_else(|| start(&collector));
    let [(_, first), (waiting, second)] = &messages[..] else {
        panic!("expected two");
    };
    let name = "invoke_agent hanging";
    assert_eq!(collector.below(&first.id, name).await.trace, [1; 16]);
    let begun = Instant::now();
    let elsewhere = format!("00-{}-{}-01", hex(&[9; 16]), hex(&[9; 8]));
    let id = json!({ "id": waiting });
    loop {
        let task = call(&two, &elsewhere, "GetTask", &id).await;
        if task["status"]["state"] == "TASK_STATE_WORKING" {
            break;
        }
        assert!(begun.elapsed() < LONG, "{task}");
        sleep(Duration::from_millis(5)).await;
    }
    let setting = json!({"taskId": waiting, "url": format!("{}/webhook", collector.url)});
    let set = "CreateTaskPushNotificationConfig";
    call(&two, &elsewhere, set, &setting).await;
    call(&two, &elsewhere, "CancelTask", &id).await;
    let pushed = collector.below(&second.id, "push notification").await;
    assert_eq!(pushed.trace, [2; 16]);
    assert_eq!(collector.below(&second.id, name).await.trace, [2; 16]);
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Returns a bridge whose spans go to this collector at once.
fn serve(collector: &Collector, arguments: &[&str]) -> Bridge {
    let mut command = Command::new(env!("CARGO_BIN_EXE_bridge"));
    command
        .args(["serve", "--listen", "127.0.0.1:0", "--push-allow", "loopback"])
        .args(arguments)
        .env("OTEL_EXPORTER_OTLP_ENDPOINT", &collector.url)
        .env("OTEL_BSP_SCHEDULE_DELAY", "10")
        // A proxy is for other machines.
        .env("HTTP_PROXY", "http://127.0.0.1:9")
        .env_remove("NO_PROXY");
    Bridge::listening(&mut command)
}

/// Checks the same for bridges with these keys of the store.
async fn stay_with(keys: &str, comes_later: bool) {
    let folder = tempfile::tempdir().unwrap();
    let config = folder.path().join("bridge.toml");
    let text = format!(
        "[store]\n{keys}\n[[agents]]\nname = 'hanging'\nbuiltin = 'hanging'\nturns = 'answers'\n"
    );
    fs::write(&config, text).unwrap();
    let arguments = ["--config", config.to_str().unwrap()];
    stay_in_their_traces(|collector| serve(collector, &arguments), comes_later).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn turns_stay_in_their_traces_after_a_restart() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("data");
    stay_with(&format!("place = 'sled:{}'", data.display()), true).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn turns_stay_in_their_traces_in_another_bridge() {
    let database = Server::shared().database().await;
    let keys = format!("place = '{}'\nlease = '2s'", database.url);
    stay_with(&keys, false).await;
}
