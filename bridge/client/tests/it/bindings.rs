//! Tests of the requests sent in each binding and version, for each operation.

use std::sync::{Arc, Mutex};

use axum::{
    Json, Router,
    body::{Body, Bytes},
    extract::State,
    http::{HeaderMap, Method, Response, Uri},
};
use bridge_client::{Binding, Client, ClientError, Fault, Options};
use bridge_protocol::{
    a2a::{
        CancelTaskRequest, ErrorKind, GetTaskRequest, ListTasksRequest, SubscribeToTaskRequest,
        TaskPushNotificationConfig,
    },
    dialect::Version,
    wire::Wire,
};
use futures_util::StreamExt as _;
use serde_json::{Value, json};
use tokio::net::TcpListener;
use url::Url;

use crate::server::{hello, reply};

/// The requests received: method, path with query, body, `A2A-Version`.
type Asked = Arc<Mutex<Vec<String>>>;

#[derive(Clone)]
struct ServerState {
    asked: Asked,
    base: String,
    answers: Arc<Mutex<Vec<Response<Body>>>>,
}

/// Starts a server that records its requests and gives these answers in order.
async fn serve(interface: Value, answers: Vec<Response<Body>>) -> (Url, Asked) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let base = format!("http://{}/base", listener.local_addr().unwrap());
    let mut interface = interface;
    interface["url"] = base.clone().into();
    let card = json!({"name": "Wire", "supportedInterfaces": [interface]});
    let told = ServerState {
        asked: Asked::default(),
        base: base.clone(),
        answers: Arc::new(Mutex::new(answers)),
    };
    let asked = told.asked.clone();
    let app = Router::new()
        .route("/base/.well-known/agent-card.json", axum::routing::get(async move || Json(card)))
        .fallback(remember)
        .with_state(told);
    tokio::spawn(async move { axum::serve(listener, app).await });
    (Url::parse(&base).unwrap(), asked)
}

async fn remember(
    State(told): State<ServerState>,
    method: Method,
    uri: Uri,
    headers: HeaderMap,
    body: Bytes,
) -> Response<Body> {
    assert!(told.base.ends_with("/base"));
    let version = headers.get("a2a-version").map_or("-", |version| version.to_str().unwrap());
    let body = String::from_utf8(body.to_vec()).unwrap();
    let line = format!("{method} {uri} {version} {body}");
    told.asked.lock().unwrap().push(line.trim_end().to_owned());
    told.answers.lock().unwrap().remove(0)
}

fn json_reply(body: &Value) -> Response<Body> {
    reply(200, "application/json", &body.to_string())
}

fn events(items: &[Value]) -> Response<Body> {
    let items: Vec<_> = items.iter().map(|item| format!("data: {item}\n\n")).collect();
    reply(200, "text/event-stream", &items.concat())
}

fn interface(version: &str) -> Value {
    json!({"protocolBinding": "HTTP+JSON", "protocolVersion": version})
}

fn list() -> ListTasksRequest {
    ListTasksRequest::read(json!({"contextId": "a b", "pageSize": 2, "includeArtifacts": true,
        "status": "TASK_STATE_WORKING"}))
    .unwrap()
}

fn config() -> TaskPushNotificationConfig {
    TaskPushNotificationConfig::read(json!({"taskId": "t", "id": "p", "url": "https://hook.test/"}))
        .unwrap()
}

async fn every_operation(client: &Client) {
    client.send_message(hello()).await.unwrap();
    let stream = client.send_streaming_message(hello()).await.unwrap();
    assert_eq!(stream.count().await, 1);
    let get = GetTaskRequest { history_length: Some(3), ..GetTaskRequest::new("t/1") };
    client.get_task(get).await.unwrap();
    client.cancel_task(CancelTaskRequest::new("t")).await.unwrap();
    let stream = client.subscribe_to_task(SubscribeToTaskRequest::new("t")).await.unwrap();
    assert_eq!(stream.count().await, 1);
    client.create_task_push_notification_config(config()).await.unwrap();
    let named = || Wire::read(json!({"taskId": "t", "id": "p"})).unwrap();
    client.get_task_push_notification_config(named()).await.unwrap();
    let named = || Wire::read(json!({"taskId": "t", "id": "p"})).unwrap();
    let of_task = Wire::read(json!({"taskId": "t"})).unwrap();
    client.list_task_push_notification_configs(of_task).await.unwrap();
    client.delete_task_push_notification_config(named()).await.unwrap();
    let card = client.get_extended_agent_card(Wire::read(json!({})).unwrap()).await.unwrap();
    assert_eq!(card.name, "Extended");
}

fn answers(task: &Value, wrapped: &Value, config: &Value, card: &Value) -> Vec<Response<Body>> {
    vec![
        json_reply(wrapped),
        events(std::slice::from_ref(wrapped)),
        json_reply(task),
        json_reply(task),
        events(std::slice::from_ref(wrapped)),
        json_reply(config),
        json_reply(config),
        json_reply(&json!({"configs": [config]})),
        reply(204, "text/plain", ""),
        json_reply(card),
    ]
}

#[tokio::test]
async fn every_operation_has_its_path_in_1_0() {
    let task = json!({"id": "t", "status": {"state": "TASK_STATE_COMPLETED"}});
    let wrapped = json!({ "task": task });
    let config = json!({"taskId": "t", "id": "p", "url": "https://hook.test/"});
    let card = json!({"name": "Extended", "supportedInterfaces": []});
    let card = json!({"url": "https://a.test/", "name": card["name"]});
    let mut all = answers(&task, &wrapped, &config, &card);
    all.push(json_reply(&json!({"tasks": [task]})));
    let mut tenant = interface("1.0");
    tenant["tenant"] = "acme".into();
    let (url, asked) = serve(tenant, all).await;
    let client = Client::connect(&url, &Options::default()).await.unwrap();
    assert_eq!((client.binding(), client.version()), (Binding::HttpJson, Version::V1_0));
    every_operation(&client).await;
    client.list_tasks(list()).await.unwrap();
    insta::assert_snapshot!(asked.lock().unwrap().join("\n"));
}

#[tokio::test]
async fn every_operation_has_its_path_in_0_3() {
    let task = json!({"id": "t", "status": {"state": "TASK_STATE_CANCELLED"}});
    let config = json!({"name": "tasks/t/pushNotificationConfigs/p",
        "pushNotificationConfig": {"id": "p", "url": "https://hook.test/"}});
    let card = json!({"name": "Extended", "url": "https://a.test/", "protocolVersion": "0.3.0"});
    let all = answers(&task, &json!({ "task": task }), &config, &card);
    let (url, asked) = serve(interface("0.3"), all).await;
    let client = Client::connect(&url, &Options::default()).await.unwrap();
    every_operation(&client).await;
    let error = client.list_tasks(list()).await.unwrap_err();
    assert!(matches!(error.fault, Fault::NotInVersion("0.3")), "{error}");
    insta::assert_snapshot!(asked.lock().unwrap().join("\n"));
}

/// The SDKs of 0.3 disagree about the body of a push configuration.
#[tokio::test]
async fn a_setting_that_is_not_understood_is_said_as_the_proto_has_it() {
    let misread = || reply(400, "application/json", r#"{"code": -32602, "message": "missing"}"#);
    let broken = || reply(500, "application/json", r#"{"message": "oops"}"#);
    let made = || {
        json_reply(&json!({"name": "tasks/t/pushNotificationConfigs/p",
        "pushNotificationConfig": {"id": "p", "url": "https://hook.test/"}}))
    };
    for (answers, expected) in [
        (vec![misread(), made()], None),
        (vec![misread(), misread()], Some("missing")),
        (vec![misread(), broken()], Some("missing")),
        (vec![broken()], Some("oops")),
    ] {
        let count = answers.len();
        let (url, asked) = serve(interface("0.3"), answers).await;
        let client = Client::connect(&url, &Options::default()).await.unwrap();
        let told = client.create_task_push_notification_config(config()).await;
        let error = told.err().map(|error| error.to_string());
        assert_eq!(error.is_some(), expected.is_some(), "{error:?}");
        assert!(error.unwrap_or_default().contains(expected.unwrap_or_default()));
        let asked = asked.lock().unwrap();
        assert_eq!(asked.len(), count);
        let bare = r#" - {"name":"tasks/t/pushNotificationConfigs/p","pushNotificationConfig":"#;
        assert!(count == 1 || asked[1].contains(bare), "{asked:?}");
    }
}

/// The proto files say GET, and the tables of the specification POST. Each is the only one that some servers know.
#[tokio::test]
async fn a_server_may_know_either_method_of_subscribing() {
    let task = json!({"task": {"id": "t", "status": {"state": "TASK_STATE_WORKING"}}});
    let unknown = |status| reply(status, "text/plain", "no such path");
    let no_task = || reply(404, "application/json", r#"{"message": "no task t:subscribe"}"#);
    for (version, methods) in [("1.0", ["POST", "GET"]), ("0.3", ["GET", "POST"])] {
        for refusal in [unknown(404), unknown(405), unknown(501), no_task()] {
            let answers = vec![refusal, events(std::slice::from_ref(&task))];
            let (url, asked) = serve(interface(version), answers).await;
            let client = Client::connect(&url, &Options::default()).await.unwrap();
            let request = SubscribeToTaskRequest::new("t");
            let mut stream = client.subscribe_to_task(request).await.unwrap();
            stream.next().await.unwrap().unwrap();
            let asked = asked.lock().unwrap().clone();
            let asked: Vec<_> = asked.iter().filter_map(|line| line.split(' ').next()).collect();
            assert_eq!(asked, methods, "{version}");
        }
        let (url, asked) = serve(interface(version), vec![no_task(), unknown(405)]).await;
        let client = Client::connect(&url, &Options::default()).await.unwrap();
        let refused = client.subscribe_to_task(SubscribeToTaskRequest::new("t")).await;
        assert!(refused.unwrap_err().to_string().contains("no task"));
        assert_eq!(asked.lock().unwrap().len(), 2);
        let denied = reply(401, "application/json", r#"{"message": "who?"}"#);
        let (url, asked) = serve(interface(version), vec![denied]).await;
        let client = Client::connect(&url, &Options::default()).await.unwrap();
        let refused = client.subscribe_to_task(SubscribeToTaskRequest::new("t")).await;
        assert!(refused.is_err());
        assert_eq!(asked.lock().unwrap().len(), 1);
    }
}

async fn refused(version: &str, status: u16, body: &Value) -> ClientError {
    let answer = reply(status, "application/json", &body.to_string());
    let (url, _) = serve(interface(version), vec![answer]).await;
    let client = Client::connect(&url, &Options::default()).await.unwrap();
    let error = client.get_task(GetTaskRequest::new("t")).await.unwrap_err();
    assert!(error.to_string().starts_with("GetTask at http://"), "{error}");
    assert!(error.to_string().contains(" over HTTP+JSON: "), "{error}");
    error
}

#[tokio::test]
async fn a_refusal_is_an_error_of_the_protocol_where_it_says_so() {
    let info = |reason| {
        json!({"error": {"code": 400, "status": "FAILED_PRECONDITION", "message": "no",
        "details": [{"@type": "type.googleapis.com/google.rpc.ErrorInfo", "reason": reason}]}})
    };
    for (version, status, body, kind) in [
        ("1.0", 404, info("TASK_NOT_FOUND"), ErrorKind::TaskNotFound),
        ("1.0", 400, info("UNSUPPORTED_OPERATION"), ErrorKind::UnsupportedOperation),
        ("0.3", 404, json!({"message": "no"}), ErrorKind::TaskNotFound),
        ("0.3", 409, json!({"message": "no"}), ErrorKind::TaskNotCancelable),
        ("0.3", 400, json!({"code": -32001, "message": "no"}), ErrorKind::TaskNotFound),
        ("0.3", 501, json!({"message": "no"}), ErrorKind::UnsupportedOperation),
    ] {
        let error = refused(version, status, &body).await;
        let Fault::Rpc(said) = &error.fault else {
            panic!("{error}");
        };
        assert_eq!(said.kind(), Some(kind), "{error}");
        assert_eq!(said.message, "no");
    }
    let error = refused("1.0", 500, &json!({"detail": "oops"})).await;
    assert!(matches!(error.fault, Fault::Http { status: 500, .. }), "{error}");
}

#[tokio::test]
async fn an_id_that_is_no_piece_of_a_path_is_refused_before_it_is_sent() {
    let (url, asked) = serve(interface("1.0"), Vec::new()).await;
    let client = Client::connect(&url, &Options::default()).await.unwrap();
    for id in ["", ".", ".."] {
        let error = client.get_task(GetTaskRequest::new(id)).await.unwrap_err();
        assert!(error.to_string().contains("id: expected an id"), "{error}");
    }
    assert!(asked.lock().unwrap().is_empty());
}

#[tokio::test]
async fn the_card_s_order_decides_and_both_can_be_insisted_on() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let base = format!("http://{}/", listener.local_addr().unwrap());
    let one = |binding: &str, version: &str| json!({"url": base, "protocolBinding": binding, "protocolVersion": version});
    let card = json!({"name": "All", "supportedInterfaces": [one("GRPC", "1.0"), one("JSONRPC", "0.3"),
        one("HTTP+JSON", "0.3"), one("HTTP+JSON", "1.0"), one("urn:other", "1.0")]});
    let app = Router::new()
        .route("/.well-known/agent-card.json", axum::routing::get(async move || Json(card)));
    tokio::spawn(async move { axum::serve(listener, app).await });
    let url = Url::parse(&base).unwrap();
    let first = match cfg!(feature = "grpc") {
        true => (Version::V1_0, Binding::Grpc),
        false => (Version::V0_3, Binding::JsonRpc),
    };
    for (version, binding, spoken) in [
        (None, None, first),
        (Some(Version::V1_0), Some(Binding::HttpJson), (Version::V1_0, Binding::HttpJson)),
        (Some(Version::V0_3), None, (Version::V0_3, Binding::JsonRpc)),
        (None, Some(Binding::JsonRpc), (Version::V0_3, Binding::JsonRpc)),
        (Some(Version::V0_3), Some(Binding::HttpJson), (Version::V0_3, Binding::HttpJson)),
    ] {
        let options = Options { version, binding, ..Options::default() };
        let client = Client::connect(&url, &options).await.unwrap();
        assert_eq!((client.version(), client.binding()), spoken);
    }
    let options = Options {
        version: Some(Version::V1_0),
        binding: Some(Binding::JsonRpc),
        ..Options::default()
    };
    let error = Client::connect(&url, &options).await.unwrap_err();
    assert!(error.to_string().contains("but this client needs JSONRPC 1.0"), "{error}");
}
