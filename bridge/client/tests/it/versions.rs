//! Tests of the choice of versions, and of the requests in each.

use bridge_client::{Binding, Client, Fault, Options};
use bridge_protocol::{
    a2a::{DeleteTaskPushNotificationConfigRequest, ListTasksRequest, SendMessageResponse},
    dialect::Version,
    wire::Wire as _,
};
use serde_json::{Value, json};

use crate::server::{card_0_3, card_1_0, hello, reply, result, serve};

const CARD: &str = "/.well-known/agent-card.json";

fn both() -> Value {
    json!({"name": "Both", "supportedInterfaces": [
        {"url": "URL", "protocolBinding": "JSONRPC", "protocolVersion": "0.3"},
        {"url": "URL", "protocolBinding": "JSONRPC", "protocolVersion": "1.0"},
    ]})
}

fn options(version: Option<Version>) -> Options {
    Options { version, ..Options::default() }
}

/// The first interface of a card is the preferred one (8.3.2).
#[tokio::test]
async fn the_first_interface_of_the_card_is_used_unless_another_is_wanted() {
    for (card, wanted, spoken) in [
        (card_1_0(), None, Version::V1_0),
        (card_0_3(), None, Version::V0_3),
        (both(), None, Version::V0_3),
        (both(), Some(Version::V1_0), Version::V1_0),
    ] {
        let (url, _) = serve(CARD, card, || result(&json!({}))).await;
        let client = Client::connect(&url, &options(wanted)).await.unwrap();
        assert_eq!(client.version(), spoken);
    }
}

#[tokio::test]
async fn a_card_without_a_usable_interface_is_refused() {
    let (url, _) = serve(CARD, card_0_3(), || result(&json!({}))).await;
    let error = Client::connect(&url, &options(Some(Version::V1_0))).await.unwrap_err();
    let grpc = if cfg!(feature = "grpc") { " or GRPC 1.0" } else { "" };
    assert_eq!(
        error.to_string(),
        format!(
            "card at {url}: the card offers JSONRPC 0.3, but this client needs JSONRPC 1.0 or HTTP+JSON 1.0{grpc}"
        )
    );
}

/// A card with one interface.
fn card_of(binding: &str, version: &str) -> Value {
    json!({"name": "Odd", "supportedInterfaces": [
        {"url": "URL", "protocolBinding": binding, "protocolVersion": version},
    ]})
}

#[tokio::test]
async fn the_version_of_json_rpc_is_not_taken_for_that_of_a2a() {
    let (url, _) = serve(CARD, card_of("jsonrpc", "2.0"), || result(&json!({}))).await;
    for (wanted, spoken) in [
        (None, Version::V1_0),
        (Some(Version::V0_3), Version::V0_3),
        (Some(Version::V1_0), Version::V1_0),
    ] {
        let client = Client::connect(&url, &options(wanted)).await.unwrap();
        assert_eq!(client.version(), spoken);
    }
}

#[tokio::test]
async fn an_interface_that_is_understood_precedes_one_of_a_later_version() {
    let mut card = both();
    card["supportedInterfaces"][0]["protocolVersion"] = json!("2.0");
    card["supportedInterfaces"][1]["protocolVersion"] = json!("0.3");
    let (url, _) = serve(CARD, card, || result(&json!({}))).await;
    let client = Client::connect(&url, &Options::default()).await.unwrap();
    assert_eq!(client.version(), Version::V0_3);
}

/// Some agents write a version as their binding, or a version that does not exist.
#[tokio::test]
async fn what_an_interface_does_not_tell_may_be_required() {
    for (card, version, binding) in [
        (card_of("0.3.0", "0.3"), None, Some(Binding::JsonRpc)),
        (card_of("JSONRPC", "latest"), Some(Version::V0_3), None),
        (card_of("http", "v0.3"), Some(Version::V0_3), Some(Binding::HttpJson)),
    ] {
        let (url, _) = serve(CARD, card, || result(&json!({}))).await;
        let error = Client::connect(&url, &Options::default()).await.unwrap_err().to_string();
        assert!(error.ends_with("; set version and binding to try one all the same"), "{error}");
        let options = Options { version, binding, ..Options::default() };
        let client = Client::connect(&url, &options).await.unwrap();
        assert_eq!(client.version(), Version::V0_3);
    }
}

#[tokio::test]
async fn cards_of_0_2_are_found() {
    let card = json!({"name": "Oldest", "url": "URL"});
    let (url, _) = serve("/.well-known/agent.json", card, || result(&json!({}))).await;
    let client = Client::connect(&url, &Options::default()).await.unwrap();
    assert_eq!((client.card().name.as_str(), client.version()), ("Oldest", Version::V0_3));
}

/// An agent that speaks 0.3 may have a card with the fields by which the client recognises 0.1.
#[tokio::test]
async fn a_card_that_looks_like_0_1_may_be_used_in_0_3() {
    let card = json!({"name": "Old", "url": "URL", "authentication": {"scheme": "none"}});
    let (url, _) = serve(CARD, card, || result(&json!({}))).await;
    let client = Client::connect(&url, &options(Some(Version::V0_3))).await.unwrap();
    assert_eq!(client.version(), Version::V0_3);
    let error = Client::connect(&url, &options(Some(Version::V1_0))).await.unwrap_err();
    assert!(error.to_string().contains("the card offers JSONRPC 0.1"), "{error}");
}

#[tokio::test]
async fn a_message_is_said_in_1_0() {
    let answer = || {
        result(&json!({"message":
            {"messageId": "a-1", "role": "ROLE_AGENT", "parts": [{"text": "hi"}]}}))
    };
    let (url, asked) = serve(CARD, card_1_0(), answer).await;
    let client = Client::connect(&url, &Options::default()).await.unwrap();
    let SendMessageResponse::Message(message) = client.send_message(hello()).await.unwrap() else {
        panic!("not a message");
    };
    assert_eq!(message.text(), "hi");
    let (headers, body) = asked.lock().unwrap()[0].clone();
    assert_eq!(headers["a2a-version"], "1.0");
    assert_eq!(
        body,
        json!({"jsonrpc": "2.0", "id": 1, "method": "SendMessage", "params": {"message":
            {"messageId": "m-1", "role": "ROLE_USER", "parts": [{"text": "hello"}]}}})
    );
}

#[tokio::test]
async fn a_message_is_said_in_0_3() {
    let answer = || {
        result(&json!({"kind": "task", "id": "t-1", "contextId": "c-1",
            "status": {"state": "completed"}}))
    };
    let (url, asked) = serve(CARD, card_0_3(), answer).await;
    let client = Client::connect(&url, &Options::default()).await.unwrap();
    let SendMessageResponse::Task(task) = client.send_message(hello()).await.unwrap() else {
        panic!("not a task");
    };
    assert!(task.status.state.is_terminal());
    let (headers, body) = asked.lock().unwrap()[0].clone();
    assert!(!headers.contains_key("a2a-version"));
    assert_eq!(body["method"], "message/send");
    assert_eq!(body["params"]["message"]["parts"][0]["kind"], "text");
}

#[tokio::test]
async fn operations_that_a_version_lacks_are_not_called() {
    let (url, asked) = serve(CARD, card_0_3(), || result(&json!({}))).await;
    let client = Client::connect(&url, &Options::default()).await.unwrap();
    let error = client.list_tasks(ListTasksRequest::default()).await.unwrap_err();
    assert!(matches!(error.fault, Fault::NotInVersion("0.3")), "{error}");
    assert!(asked.lock().unwrap().is_empty());
}

#[tokio::test]
async fn a_setting_is_gone_when_nothing_is_said_of_it() {
    let nothing = || reply(200, "application/json", r#"{"jsonrpc":"2.0","id":1}"#);
    let (url, _) = serve(CARD, card_0_3(), nothing).await;
    let client = Client::connect(&url, &Options::default()).await.unwrap();
    let named = DeleteTaskPushNotificationConfigRequest::read(json!({"taskId": "t", "id": "p"}));
    let deleted = client.delete_task_push_notification_config(named.unwrap());
    assert!(deleted.await.is_ok());
    // All other requests must be answered.
    assert!(client.send_message(hello()).await.is_err());
}

fn answered() -> axum::http::Response<axum::body::Body> {
    result(&json!({"message":
        {"messageId": "a-1", "role": "ROLE_AGENT", "parts": [{"text": "hi"}]}}))
}

/// A refused connection has received no request, so the request may be sent elsewhere (5.2).
#[tokio::test]
async fn the_next_interface_is_used_if_a_connection_is_refused() {
    // It holds the port without listening: no other program gets the port, and connections are refused.
    let closed = tokio::net::TcpSocket::new_v4().unwrap();
    closed.bind("127.0.0.1:0".parse().unwrap()).unwrap();
    let port = closed.local_addr().unwrap().port();
    let gone = format!("http://127.0.0.1:{port}/");
    let interface =
        |url: &str| json!({"url": url, "protocolBinding": "JSONRPC", "protocolVersion": "1.0"});
    let card =
        json!({"name": "Moved", "supportedInterfaces": [interface(&gone), interface("URL")]});
    let (url, asked) = serve(CARD, card, answered).await;
    let client = Client::connect(&url, &Options::default()).await.unwrap();
    for _ in 0..2 {
        client.send_message(hello()).await.unwrap();
    }
    assert_eq!(asked.lock().unwrap().len(), 2);

    let card = json!({"name": "Gone", "supportedInterfaces": [interface(&gone)]});
    let (url, _) = serve(CARD, card, answered).await;
    let client = Client::connect(&url, &Options::default()).await.unwrap();
    let error = client.send_message(hello()).await.unwrap_err();
    assert!(matches!(error.fault, Fault::Unconnected(_)), "{error}");
    assert_eq!(&*error.agent, gone);
}

/// The form of Microsoft's Agent Framework, which a2a-sdk reads too.
#[tokio::test]
async fn an_interface_without_a_version_speaks_1_0() {
    let card = json!({"name": "Food", "supportedInterfaces": [
        {"url": "URL", "protocolBinding": "JSONRPC"},
    ], "securitySchemes": {"odd": {"handshakeSecurityScheme": {}}}});
    let (url, asked) = serve(CARD, card, answered).await;
    let client = Client::connect(&url, &Options::default()).await.unwrap();
    assert_eq!(client.version(), Version::V1_0);
    client.send_message(hello()).await.unwrap();
    assert_eq!(asked.lock().unwrap()[0].0["a2a-version"], "1.0");
}

/// LangGraph distinguishes agents by the query; VoltAgent has its own path.
#[tokio::test]
async fn a_card_s_own_address_is_taken_as_it_is() {
    use axum::{Json, Router, extract::RawQuery, routing::get};
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let base = format!("http://{}", listener.local_addr().unwrap());
    let card = async |RawQuery(query): RawQuery| {
        Json(json!({"name": query, "url": "/a2a", "protocolVersion": "0.3.0"}))
    };
    let app = Router::new().route("/.well-known/volt/agent-card.json", get(card));
    let app = app.route("/.well-known/agent-card.json", get(card));
    tokio::spawn(async move { axum::serve(listener, app).await });
    for path in ["/.well-known/agent-card.json", "/.well-known/volt/agent-card.json"] {
        let url = format!("{base}{path}?assistant_id=a").parse().unwrap();
        let client = Client::connect(&url, &Options::default()).await.unwrap();
        assert_eq!(client.card().name, "assistant_id=a", "{path}");
    }
    let missing = |path: &str| format!("{base}{path}").parse::<url::Url>().unwrap();
    for (address, tried) in [
        (
            missing("/none"),
            vec!["/none/.well-known/agent-card.json", "/none/.well-known/agent.json"],
        ),
        (missing("/none.json?a=1"), vec!["/none.json?a=1"]),
    ] {
        let error = Client::connect(&address, &Options::default()).await.unwrap_err();
        let tried: Vec<_> = tried.iter().map(|path| format!("{base}{path}")).collect();
        let expected = format!("card at {}: HTTP status 404", tried.join(" and "));
        assert!(error.to_string().starts_with(&expected), "{error}");
    }
}
