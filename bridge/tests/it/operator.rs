//! Tests an operator's actions: examining a running bridge, and stopping it while clients are active.

use std::{
    path::Path,
    sync::{Arc, RwLock},
    time::Duration,
};

use axum::{
    Router,
    body::{Body, to_bytes},
    extract::Request,
};
use bridge::{
    agent::Agent,
    executor::{Executor, Turn, Update, async_trait},
    host::{Grpc, GrpcAddress, Host, HostedAgents},
    store::{MemoryStore, Store},
};
use bridge_client::{Binding, Client, Options};
use bridge_protocol::a2a::{
    AgentCard, Message, Part, Role, SendMessageRequest, StreamResponse, TaskState,
};
use futures_util::StreamExt as _;
use serde_json::{Value, json};
use tokio::{net::TcpListener, process::Command, sync::Semaphore};
use tower::{ServiceExt as _, service_fn};

use crate::program::{Bridge, output};

const LIMIT: Duration = Duration::from_secs(300);

/// Answers when it may.
struct Patient(Semaphore);

#[async_trait]
impl Executor for Patient {
    async fn execute(&self, _: Turn) -> Vec<Update> {
        self.0.acquire().await.unwrap().forget();
        vec![Update::said(TaskState::Completed, "answer", "done")]
    }
}

async fn hosted(store: &Arc<MemoryStore>, patient: &Arc<Patient>, url: &str) -> HostedAgents {
    let card = AgentCard::named("Patient", "Waits");
    let agent = Agent::new("patient", card, patient.clone());
    let store: Arc<dyn Store> = store.clone();
    let host = Host::new(store, [agent]);
    #[cfg(feature = "grpc")]
    let host = host.grpc(Grpc::Listed { address: None, form: GrpcAddress::default() });
    host.start(url).await.unwrap()
}

#[tokio::test]
async fn streams_go_on_elsewhere_when_a_server_stops() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let (store, patient) = (Arc::new(MemoryStore::new()), Arc::new(Patient(Semaphore::new(0))));
    // One server replaces the other behind one address. All of them are started at the beginning, because a starting
    // server takes over the turns of the others.
    let mut servers = Vec::new();
    for _ in 0..4 {
        servers.push(hosted(&store, &patient, &url).await);
    }
    let current = Arc::new(RwLock::new(servers[0].router()));
    let behind = current.clone();
    let app = Router::new().fallback_service(service_fn(move |request: Request| {
        let app = behind.read().unwrap().clone();
        async move { app.oneshot(request).await }
    }));
    tokio::spawn(bridge::serve(listener, app, std::future::pending()));
    let bindings = [
        Binding::JsonRpc,
        Binding::HttpJson,
        #[cfg(feature = "grpc")]
        Binding::Grpc,
    ];
    for (number, binding) in bindings.into_iter().enumerate() {
        let options = Options { binding: Some(binding), ..Options::default() };
        let client = Client::connect(&url.parse().unwrap(), &options).await;
        let client = client.unwrap();
        let id = format!("m-{number}");
        let message = Message::new(id, Role::User, vec![Part::text("hello")]);
        let request = SendMessageRequest::new(message);
        let mut stream = client.send_streaming_message(request).await.unwrap();
        assert!(stream.next().await.unwrap().is_ok());
        *current.write().unwrap() = servers[number + 1].router();
        servers[number].drain();
        patient.0.add_permits(1);
        let mut last = None;
        while let Some(event) = stream.next().await {
            last = Some(event.unwrap());
        }
        let Some(StreamResponse::StatusUpdate(end)) = last else { panic!("{binding:?}: {last:?}") };
        assert_eq!(end.status.state, TaskState::Completed, "{binding:?}");
    }
}

/// A proxy asks another server, and need not read the body for it.
#[tokio::test]
async fn a_stopping_server_refuses_with_the_status_503() {
    let store = Arc::new(MemoryStore::new());
    let patient = Arc::new(Patient(Semaphore::new(0)));
    let server = hosted(&store, &patient, "http://127.0.0.1").await;
    server.drain();
    for (method, path) in [
        ("SendMessage", "/a2a"),
        ("SendStreamingMessage", "/a2a"),
        ("", "/a2a/patient/message:send"),
    ] {
        let params = crate::app::say("m", "hello");
        let body = match method {
            "" => params,
            _ => json!({"jsonrpc": "2.0", "id": 7, "method": method, "params": params}),
        };
        let request = Request::post(path)
            .header("a2a-version", "1.0")
            .header("content-type", "application/json");
        let request = request.body(Body::from(body.to_string())).unwrap();
        let response = server.router().oneshot(request).await.unwrap();
        assert_eq!(response.status(), 503, "{method} {path}");
        assert_eq!(response.headers()["retry-after"], "1", "{method} {path}");
        let body = to_bytes(response.into_body(), 1 << 16).await.unwrap();
        let body: Value = serde_json::from_slice(&body).unwrap();
        let message = body["error"]["message"].as_str().unwrap();
        assert!(message.contains("send the request again"), "{body}");
        assert!(method.is_empty() || body["id"] == 7, "{body}");
    }
}

#[tokio::test]
async fn a_program_that_stops_first_says_that_it_is_not_ready() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("bridge.toml");
    let config = "[drain]\nnotice = '10m'\n[[agents]]\nname = 'echo'\nbuiltin = 'echo'\n";
    std::fs::write(&path, config).unwrap();
    let bridge = Bridge::serve(&["--store", "memory", "--config", path.to_str().unwrap()]);
    let http = reqwest::Client::new();
    let ready = async || {
        let answer = http.get(format!("{}/readyz", bridge.url())).send().await;
        answer.unwrap().status().as_u16()
    };
    assert_eq!(ready().await, 200);
    bridge.terminate();
    let noticed = async {
        while ready().await == 200 {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(LIMIT, noticed).await.unwrap();
    let sent = crate::client::Client::of(bridge.url());
    let params = crate::app::say("m", "still there?");
    let answer = sent.call("echo", "SendMessage", &params).await.unwrap();
    assert!(answer["result"]["task"]["id"].is_string(), "{answer}");
}

#[tokio::test]
async fn the_store_of_a_running_bridge_is_checked_and_compacted() {
    let folder = tempfile::tempdir().unwrap();
    let store = format!("sled:{}", folder.path().join("data").display());
    let command = async |what: &str| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_bridge"));
        command.args(["store", what, "--store", &store]);
        output(&mut command, LIMIT).await
    };
    let mut bridge = Bridge::serve(&["--store", &store, "--builtin", "echo"]);
    let client = crate::client::Client::of(bridge.url());
    for id in 0..3 {
        let params = crate::app::say(&format!("m-{id}"), "hello");
        client.call("echo", "SendMessage", &params).await.unwrap();
    }
    let (code, told, error) = command("check").await;
    let whole = (Some(0), "3 tasks, 0 of them damaged\n".to_owned());
    assert_eq!((code, told), whole, "{error}");
    let (code, told, error) = command("compact").await;
    assert_eq!((code, error.as_str()), (Some(0), ""));
    assert!(told.starts_with("log "), "{told}");
    bridge.kill();
    let (code, told, error) = command("check").await;
    assert_eq!(code, Some(0), "{error}");
    assert!(told.ends_with(&whole.1), "{told}");
}

/// The folder is given as in the systemd service, or by the key `admin` of a configuration.
#[tokio::test]
async fn the_store_of_a_bridge_whose_socket_is_elsewhere_is_checked_and_compacted() {
    let folder = tempfile::tempdir().unwrap();
    let store = format!("sled:{}", folder.path().join("data").display());
    let socket = folder.path().join("elsewhere.sock");
    let named = socket.to_str().unwrap();
    let config = folder.path().join("bridge.toml");
    let text = format!(
        "store = '{store}'\nadmin = '{named}'\n[[agents]]\nname = 'echo'\nbuiltin = 'echo'\n"
    );
    std::fs::write(&config, text).unwrap();
    let command = async |arguments: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_bridge"));
        command.arg("store").args(arguments);
        output(&mut command, LIMIT).await
    };
    for arguments in [
        &["--store", &store, "--admin", named, "--builtin", "echo"][..],
        &["--config", config.to_str().unwrap()],
    ] {
        let mut bridge = Bridge::serve(arguments);
        for what in ["check", "compact"] {
            let (code, _, error) = command(&[what, "--store", &store]).await;
            assert_eq!(code, Some(4), "{error}");
            let advice = "is in use: is another bridge using it? Stop it first, or name another folder. If its socket is not admin.sock in that folder, name the socket with --admin";
            assert!(error.contains(advice), "{error}");
            let (code, told, error) = command(&[what, "--admin", named]).await;
            assert_eq!((code, error.as_str()), (Some(0), ""), "{told}");
        }
        let (code, _, error) = command(&["turn-keys", "--store", &store]).await;
        assert_eq!(code, Some(4), "{error}");
        assert!(error.contains("Stop it first"), "{error}");
        bridge.kill();
    }
    // A socket that was named is meant, though the store could be opened.
    let (code, _, error) = command(&["check", "--store", &store, "--admin", named]).await;
    assert_eq!(code, Some(4), "{error}");
    assert!(error.contains("no bridge answers at"), "{error}");
}

async fn tasks(socket: &Path, arguments: &[&str]) -> (Option<i32>, String, String) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_bridge"));
    command.arg("tasks").args(arguments).arg("--admin").arg(socket);
    output(&mut command, LIMIT).await
}

#[tokio::test]
async fn tasks_of_a_running_bridge_are_listed_shown_canceled_and_exported() {
    let folder = tempfile::tempdir().unwrap();
    let socket = folder.path().join("admin.sock");
    let store = format!("sled:{}", folder.path().join("data").display());
    let named = socket.to_str().unwrap();
    let (code, _, error) = tasks(&socket, &["list"]).await;
    assert_eq!(code, Some(4));
    assert!(error.contains("no bridge answers at"), "{error}");
    let bridge = Bridge::serve(&["--store", &store, "--admin", named, "--builtin", "echo"]);
    let client = crate::client::Client::of(bridge.url());
    let params = crate::app::say("m", "a\u{1b}[1mb");
    let sent = client.call("echo", "SendMessage", &params).await.unwrap();
    let id = sent["result"]["task"]["id"].as_str().unwrap();
    let (code, listed, error) = tasks(&socket, &["list", "--json"]).await;
    assert_eq!((code, error.as_str()), (Some(0), ""));
    let listed: Value = serde_json::from_str(&listed).unwrap();
    assert_eq!(listed[0]["task"], id);
    let (_, _, error) = tasks(&socket, &["list", "--limit", "1"]).await;
    assert!(error.starts_with("note: there may be more"), "{error}");
    let (_, shown, _) = tasks(&socket, &["show", id]).await;
    assert!(shown.contains("ROLE_USER: a\\u001b[1mb"), "{shown}");
    let question = "ROLE_AGENT: Echo: a\\u001b[1mb";
    assert!(shown.contains(question), "{shown}");
    let (_, exported, _) = tasks(&socket, &["export", id]).await;
    let lines = exported.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let numbers: Vec<Value> = lines.map(|event| event["seq"].clone()).collect();
    assert_eq!(numbers[..3], [json!(1), json!(2), json!(3)]);
    let (_, canceled, _) = tasks(&socket, &["cancel", id]).await;
    assert!(canceled.contains("TASK_STATE_CANCELED"), "{canceled}");
    let (code, _, error) = tasks(&socket, &["cancel", id]).await;
    assert_eq!(code, Some(1));
    assert!(error.contains("has ended"), "{error}");
    let (_, listed, _) = tasks(&socket, &["list", "--state", "waiting"]).await;
    assert_eq!(listed, "");
}
