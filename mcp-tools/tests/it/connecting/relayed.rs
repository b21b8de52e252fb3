//! Tests of the relay: over HTTP to a program, and over standard input and output to a server over HTTP.

use std::{
    process::Stdio,
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, Ordering},
    },
};

use axum::{
    Router,
    body::{Body, Bytes},
    extract::State,
    http::{Method, Response, StatusCode},
    routing::any,
};
use mcp_tools::{
    client::{CallError, Connection, Lifecycle, Options},
    connection::ConnectionDetails,
    relay::Relay,
    secret::Secret,
    server::ServerSettings,
};
use rmcp::{
    ClientHandler, RoleClient, ServiceExt as _,
    model::{CallToolRequestParams, ProgressNotificationParam},
    service::NotificationContext,
};
use serde_json::{Value, json};
use tokio::{
    io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader},
    net::TcpListener,
    task::JoinHandle,
};

use super::{arguments, eventually, impatient, open, short, stdio::begun_server};
use crate::{agent::ERAS, program::mcp_tools};

/// Serves a program, as [`begun_server`] describes it.
async fn relayed(script: &str) -> (ConnectionDetails, JoinHandle<()>) {
    let relay = Relay::new(open(&begun_server(script), &short()).await);
    let token = Secret::new("tok-12345");
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/mcp", listener.local_addr().unwrap()).parse().unwrap();
    let app = relay.router(&token, ServerSettings::default());
    let serving = tokio::spawn(async move { axum::serve(listener, app).await.unwrap() });
    (ConnectionDetails::http("relay", url).with_bearer(&token), serving)
}

async fn client(details: &ConnectionDetails, lifecycle: Lifecycle) -> Connection {
    open(details, &Options { lifecycle, ..impatient() }).await
}

#[tokio::test]
async fn a_call_that_its_caller_gives_up_is_canceled_at_the_program() {
    for era in ERAS {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("read");
        let keep = format!("while read line; do echo \"$line\" >> {}; done", file.display());
        let (details, serving) = relayed(&keep).await;
        let client = client(&details, era).await;
        let error = client.call("look", arguments([])).await.unwrap_err();
        assert!(matches!(error, CallError::TimedOut { .. }), "{error}");
        let read = || std::fs::read_to_string(&file).unwrap_or_default();
        eventually("its cancellation", || read().contains("notifications/cancelled")).await;
        serving.abort();
    }
}

#[tokio::test]
async fn the_instructions_and_the_errors_of_the_program_are_passed_on() {
    const REJECTS: &str = r#"
        read call; answer 2 '"error":{"code":-32602,"message":"there is no tool look"}'; cat > /dev/null
    "#;
    for era in ERAS {
        let (details, serving) = relayed(REJECTS).await;
        let client = client(&details, era).await;
        assert_eq!(client.instructions().as_deref(), Some("look first"));
        let error = client.call("look", arguments([])).await.unwrap_err();
        let expected = "look: the server answered with error -32602: there is no tool look";
        assert_eq!(error.to_string(), expected);
        serving.abort();
    }
}

/// A client that keeps the reports of progress.
#[derive(Clone, Default)]
struct Following(Arc<Mutex<Vec<ProgressNotificationParam>>>);

impl ClientHandler for Following {
    async fn on_progress(
        &self,
        report: ProgressNotificationParam,
        _context: NotificationContext<RoleClient>,
    ) {
        self.0.lock().unwrap().push(report);
    }
}

#[tokio::test]
async fn the_progress_that_a_program_reports_is_passed_on() {
    const REPORTS: &str = r#"
        read call; token=$(echo "$call" | sed 's/.*"progressToken":\("[^"]*"\).*/\1/')
        echo "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/progress\",\"params\":{\"progressToken\":$token,\"progress\":0.5,\"total\":1,\"message\":\"half\"}}"
        cat > /dev/null
    "#;
    let relay = Relay::new(open(&begun_server(REPORTS), &short()).await);
    let (here, there) = tokio::io::duplex(4096);
    let serving = tokio::spawn(relay.serve(there));
    let following = Following::default();
    let client = following.clone().serve(here).await.unwrap();
    let calling = client.call_tool(CallToolRequestParams::new("look"));
    let reported = || !following.0.lock().unwrap().is_empty();
    tokio::select! {
        result = calling => panic!("it never answers: {result:?}"),
        () = eventually("the report", reported) => {}
    }
    let report = following.0.lock().unwrap().remove(0);
    assert_eq!((report.progress, report.total), (0.5, Some(1.0)));
    assert_eq!(report.message.as_deref(), Some("half"));
    drop(serving.await.unwrap());
}

/// A server with sessions, which tells whether one was ended.
async fn answer(
    State(is_ended): State<Arc<AtomicBool>>,
    method: Method,
    body: Bytes,
) -> Response<Body> {
    let reply = Response::builder().header("content-type", "application/json");
    if method == Method::DELETE {
        is_ended.store(true, Ordering::Relaxed);
        return reply.status(StatusCode::NO_CONTENT).body(Body::empty()).unwrap();
    }
    let message: Value = serde_json::from_slice(&body).unwrap_or_default();
    let answer = match message["method"].as_str() {
        Some("initialize") => json!({"result": {
            "protocolVersion": "2025-11-25", "capabilities": {"tools": {}}, "serverInfo": {"name": "s", "version": "1"},
        }}),
        Some("server/discover") => json!({"error": {"code": -32601, "message": "unknown method"}}),
        Some(_) => return reply.status(StatusCode::ACCEPTED).body(Body::empty()).unwrap(),
        None => return reply.status(StatusCode::METHOD_NOT_ALLOWED).body(Body::empty()).unwrap(),
    };
    let mut answer = answer;
    answer["jsonrpc"] = json!("2.0");
    answer["id"] = message["id"].clone();
    reply.header("mcp-session-id", "s-1").body(Body::from(answer.to_string())).unwrap()
}

#[tokio::test]
async fn a_relay_ends_its_session_with_its_client_and_when_it_is_stopped() {
    for is_stopped in [false, true] {
        ends_its_session(is_stopped).await;
    }
}

async fn ends_its_session(is_stopped: bool) {
    let is_ended = Arc::new(AtomicBool::new(false));
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/mcp", listener.local_addr().unwrap());
    let app = Router::new().route("/mcp", any(answer)).with_state(is_ended.clone());
    let serving = tokio::spawn(async move { axum::serve(listener, app).await.unwrap() });
    let mut command = mcp_tools(&["relay", "--url", &url]);
    let mut relay = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let begin = json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {
        "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "c", "version": "1"},
    }});
    let initialized = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
    let mut stdin = relay.stdin.take().unwrap();
    stdin.write_all(format!("{begin}\n{initialized}\n").as_bytes()).await.unwrap();
    let mut answers = BufReader::new(relay.stdout.take().unwrap()).lines();
    assert!(answers.next_line().await.unwrap().is_some());
    if is_stopped {
        let id = nix::unistd::Pid::from_raw(relay.id().unwrap().try_into().unwrap());
        nix::sys::signal::kill(id, nix::sys::signal::SIGTERM).unwrap();
    } else {
        drop(stdin);
    }
    assert_eq!(relay.wait().await.unwrap().code(), Some(0));
    assert!(is_ended.load(Ordering::Relaxed));
    serving.abort();
}
