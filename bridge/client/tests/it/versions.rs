//! Which version is spoken, and what goes over the wire in each.

use bridge_client::{Client, Fault, Options};
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
    Options {
        version,
        ..Options::default()
    }
}

#[tokio::test]
async fn the_newest_version_of_the_card_is_spoken_unless_another_is_wanted() {
    for (card, wanted, spoken) in [
        (card_1_0(), None, Version::V1_0),
        (card_0_3(), None, Version::V0_3),
        (both(), None, Version::V1_0),
        (both(), Some(Version::V0_3), Version::V0_3),
    ] {
        let (url, _) = serve(CARD, card, || result(&json!({}))).await;
        let client = Client::connect(&url, &options(wanted)).await.unwrap();
        assert_eq!(client.version(), spoken);
    }
}

#[tokio::test]
async fn a_card_without_a_usable_interface_is_refused() {
    let (url, _) = serve(CARD, card_0_3(), || result(&json!({}))).await;
    let error = Client::connect(&url, &options(Some(Version::V1_0)))
        .await
        .unwrap_err();
    let grpc = match cfg!(feature = "grpc") {
        true => " or GRPC 1.0",
        false => "",
    };
    assert_eq!(
        error.to_string(),
        format!(
            "card at {url}: the card offers JSONRPC 0.3, but this client needs JSONRPC 1.0 or HTTP+JSON 1.0{grpc}"
        )
    );
}

#[tokio::test]
async fn cards_of_0_2_are_found() {
    let card = json!({"name": "Oldest", "url": "URL"});
    let (url, _) = serve("/.well-known/agent.json", card, || result(&json!({}))).await;
    let client = Client::connect(&url, &Options::default()).await.unwrap();
    assert_eq!(
        (client.card().name.as_str(), client.version()),
        ("Oldest", Version::V0_3)
    );
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
async fn what_a_version_lacks_is_not_asked() {
    let (url, asked) = serve(CARD, card_0_3(), || result(&json!({}))).await;
    let client = Client::connect(&url, &Options::default()).await.unwrap();
    let error = client
        .list_tasks(ListTasksRequest::default())
        .await
        .unwrap_err();
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
    // Whatever else is asked must be answered.
    assert!(client.send_message(hello()).await.is_err());
}
