//! The tools of an agent under evaluation.

use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use jiff::Timestamp;
use mcp_tools::{
    allow_list::AllowList,
    context::{AcknowledgeError, Acknowledger, AgentContext, Settings},
    tools,
};
use rmcp::model::CallToolResult;
use serde_json::{Value, json};

const NOW: &str = "2026-01-31T12:00:00Z";

fn now() -> Timestamp {
    NOW.parse().unwrap()
}

fn context() -> AgentContext {
    AgentContext::new(Settings {
        allowed: AllowList::default(),
        client: crate::connecting::short(),
        acknowledger: None,
        clock: Arc::new(now),
    })
}

fn tell(context: &AgentContext, id: &str, data: &Value) {
    let message = json!({"messageId": id, "parts": [{"data": data}]});
    context.incoming_messages().receive("green", message, now());
}

async fn call(context: &AgentContext, name: &str, arguments: Value) -> CallToolResult {
    let tool = tools::standard();
    let tool = tool.iter().find(|tool| tool.describe().name == name).unwrap();
    tool.call(context, serde_json::from_value(arguments).unwrap()).await
}

async fn answer(context: &AgentContext, name: &str, arguments: Value) -> Value {
    let result = call(context, name, arguments).await;
    assert_eq!(result.is_error, Some(false), "{result:?}");
    result.structured_content.unwrap()
}

async fn failure(context: &AgentContext, name: &str, arguments: Value) -> String {
    let result = call(context, name, arguments).await;
    assert_eq!(result.is_error, Some(true), "{result:?}");
    result.content[0].as_text().unwrap().text.clone()
}

#[test]
fn the_tools_describe_themselves() {
    let tools = tools::standard();
    let described: Vec<_> = tools.iter().map(|tool| tool.describe()).collect();
    insta::assert_json_snapshot!(described);
}

#[tokio::test]
async fn wrong_arguments_are_named() {
    let context = context();
    for (tool, arguments, expected) in [
        ("list_messages", json!({"kind": "spam"}), "kind: expected one of task_info, mcp_details"),
        (
            "list_messages",
            json!({"after": -1}),
            "after: expected a whole number from 0 up, found the number -1",
        ),
        ("list_messages", json!({"acknowledged": "no"}), "acknowledged: expected true or false"),
        ("list_messages", json!({"filter": 1}), "filter: expected no such argument"),
        (
            "message_history",
            json!({"limit": 0}),
            "limit: expected a number from 1 to 20, found the number 0",
        ),
        (
            "acknowledge_messages",
            json!({"message_ids": ["x"]}),
            "message_ids[0]: expected the message_id of a received",
        ),
        ("connect_to_mcp_server", json!({"server": 1}), "server: expected a string"),
        ("connect_to_mcp_server", json!({"url": "x"}), "url: expected no such argument"),
    ] {
        let said = failure(&context, tool, arguments).await;
        assert!(said.starts_with(expected), "{tool}: {said}");
    }
}

#[tokio::test]
async fn messages_are_listed_and_shown_without_secrets() {
    let context = context();
    tell(&context, "m1", &json!({"task_id": "t", "benchmark": "b", "goal": "Buy a lamp."}));
    let server =
        json!({"url": "http://localhost:1/", "headers": {"Authorization": "Bearer tok-12345"}});
    tell(&context, "m2", &json!({"mcp_connection_details": server}));
    let inbox = context.incoming_messages();
    inbox.receive(
        "green",
        json!({"messageId": "m3", "parts": [{"text": "The token is tok-12345. Bearer tok-12345"}]}),
        now(),
    );
    inbox.acknowledge(&["m1".to_owned()]);
    insta::assert_json_snapshot!([
        answer(&context, "list_messages", json!({})).await,
        answer(&context, "list_messages", json!({"kind": "mcp_details"})).await,
        answer(&context, "list_messages", json!({"acknowledged": true, "after": null})).await,
        answer(&context, "message_history", json!({"limit": 1})).await,
        answer(&context, "message_history", json!({"before": 3, "limit": 1})).await,
    ]);
}

#[tokio::test]
async fn long_lists_and_long_messages_come_in_pieces() {
    let context = context();
    for n in 0..60 {
        tell(&context, &n.to_string(), &json!({ "n": n }));
    }
    tell(&context, "long", &json!({"text": "x".repeat(100_000)}));
    let first = answer(&context, "list_messages", json!({})).await;
    assert_eq!((&first["count"], &first["next_after"]), (&json!(61), &json!(50)));
    let rest = answer(&context, "list_messages", json!({"after": first["next_after"]})).await;
    assert_eq!((&rest["count"], &rest["next_after"]), (&json!(11), &Value::Null));
    let history = answer(&context, "message_history", json!({})).await;
    assert_eq!(history["earlier"], json!(41));
    assert!(history["messages"][19]["beginning_of_message"].as_str().unwrap().len() < 20_000);
}

#[tokio::test]
async fn the_files_of_a_message_do_not_hide_its_text() {
    let context = context();
    let (picture, paper) = ("AAAA".repeat(10_000), "BBBB".repeat(10_000));
    let parts = json!([
        {"raw": picture, "mediaType": "image/png"},
        {"raw": paper, "mediaType": "application/pdf", "filename": "paper.pdf"},
        {"raw": "CCCC", "mediaType": "text/plain"},
        {"text": "Which animal is it?"},
    ]);
    context.incoming_messages().receive("green", json!({"messageId": "m", "parts": parts}), now());
    let result = call(&context, "message_history", json!({})).await;
    let shown = &result.structured_content.as_ref().unwrap()["messages"][0]["message"]["parts"];
    assert_eq!(shown[0]["raw"], "(image 1 of this answer)");
    assert_eq!(shown[1]["raw"], "(40000 characters of base64, not shown)");
    assert_eq!(
        (&shown[2]["raw"], &shown[3]["text"]),
        (&json!("CCCC"), &json!("Which animal is it?"))
    );
    let [_, image] = &result.content[..] else { panic!("{:?}", result.content) };
    assert_eq!(image.as_image().unwrap().data, picture);
}

/// Records acknowledgements, or refuses them.
#[derive(Default)]
struct Peer {
    told: Mutex<Vec<String>>,
    refuses: bool,
}

#[async_trait]
impl Acknowledger for Peer {
    async fn acknowledge(&self, message_ids: &[String]) -> Result<(), AcknowledgeError> {
        if self.refuses {
            let reason = "it is gone".to_owned();
            return Err(AcknowledgeError::NotTaken(reason));
        }
        self.told.lock().unwrap().extend_from_slice(message_ids);
        Ok(())
    }
}

#[tokio::test]
async fn acknowledgements_reach_the_peer() {
    let (context, peer) = (context(), Arc::new(Peer::default()));
    context.set_acknowledger(peer.clone());
    for id in ["m1", "m2", "m3"] {
        tell(&context, id, &json!({}));
    }
    let some = answer(&context, "acknowledge_messages", json!({"message_ids": ["m2"]})).await;
    assert_eq!(some, json!({"acknowledged": ["m2"]}));
    let rest = answer(&context, "acknowledge_messages", json!({})).await;
    assert_eq!(rest, json!({"acknowledged": ["m1", "m3"]}));
    answer(&context, "acknowledge_messages", json!({})).await;
    assert_eq!(*peer.told.lock().unwrap(), ["m2", "m1", "m3"]);
}

#[tokio::test]
async fn messages_are_not_acknowledged_before_the_peer_knows() {
    let context = context();
    tell(&context, "m1", &json!({}));
    context.set_acknowledger(Arc::new(Peer { refuses: true, ..Peer::default() }));
    let said = failure(&context, "acknowledge_messages", json!({})).await;
    assert!(said.contains("it is gone"), "{said}");
    assert!(!context.incoming_messages().history()[0].acknowledged);
}

#[tokio::test]
async fn a_peer_that_did_not_ask_is_not_told() {
    let context = context();
    tell(&context, "m1", &json!({}));
    let answer = answer(&context, "acknowledge_messages", json!({})).await;
    assert!(answer["note"].as_str().unwrap().contains("none was sent"), "{answer}");
    assert!(context.incoming_messages().history()[0].acknowledged);
}
