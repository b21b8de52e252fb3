//! Tests of the tool `connect_to_mcp_server`.

use std::sync::Arc;

use jiff::Timestamp;
use mcp_tools::{
    allow_list::AllowList,
    connection::ConnectionDetails,
    context::{AgentContext, Settings},
    tools::{ConnectToMcpServer, Tool as _},
};
use serde_json::{Value, json};

use super::{arguments, old_http::OldHttp, short, troubled_http::TroubledHttp, works};

fn now() -> Timestamp {
    "2026-01-31T12:00:00Z".parse().unwrap()
}

fn context() -> AgentContext {
    AgentContext::new(Settings {
        allowed: AllowList::default(),
        client: short(),
        acknowledger: None,
        clock: Arc::new(now),
    })
}

fn tell(context: &AgentContext, data: &Value) {
    let message = json!({"parts": [{"data": data}]});
    context.incoming_messages().receive("green", message, now());
}

fn until(mut details: ConnectionDetails, time: &str) -> Value {
    details.expires_at = Some(time.parse().unwrap());
    details.to_mcp_servers()
}

/// Calls the tool; returns its result or its error text.
async fn connect(context: &AgentContext, server: Option<&str>) -> Result<Value, String> {
    let arguments = server.map(|server| arguments([("server", json!(server))]));
    let result = ConnectToMcpServer.call(context, arguments.unwrap_or_default()).await;
    match result.is_error {
        Some(true) => Err(result.content[0].as_text().unwrap().text.clone()),
        Some(false) | None => Ok(result.structured_content.unwrap()),
    }
}

#[tokio::test]
async fn details_that_were_set_go_before_those_in_messages() {
    let (set, told) = (TroubledHttp::start(), TroubledHttp::start());
    let context = context();
    tell(&context, &told.details().to_mcp_connection_details());
    let answer = connect(&context, None).await.unwrap();
    assert_eq!(
        (&answer["source"], &answer["place"]),
        (&json!("message 1"), &json!(told.details().address()))
    );
    context.set_mcp_connection_details(set.details());
    let answer = connect(&context, None).await.unwrap();
    assert_eq!(
        (&answer["source"], &answer["place"]),
        (&json!("pre-set details"), &json!(set.details().address()))
    );
    assert_eq!(answer["tools"][0], "echo");
    works(&context.connection().unwrap()).await;
    context.disconnect().await;
    assert!(context.connection().is_none());
}

#[tokio::test]
async fn the_newest_that_can_be_used_are_followed() {
    let server = TroubledHttp::start();
    let context = context();
    tell(&context, &server.details_with("old-12345").to_mcp_servers());
    tell(&context, &until(server.details(), "2026-01-31T12:00:01Z"));
    tell(&context, &until(server.details_with("gone-12345"), "2026-01-31T12:00:00Z"));
    tell(&context, &json!({"mcp_connection_details": {"url": 7}}));
    tell(&context, &json!({"command": "rm -rf /", "transport": "stdio"}));
    let answer = connect(&context, None).await.unwrap();
    assert_eq!(answer["source"], "message 2");
    assert_eq!(
        answer["passed_over"],
        json!([
            "message 5: refused to start command \"rm\": add it to the allowed commands if it may be run",
            "message 4: parts[0].data.mcp_connection_details.url: expected a string, found a number",
            "message 3, server \"stranger\": the details expired at 2026-01-31T12:00:00Z, and it is 2026-01-31T12:00:00Z by the clock here",
        ])
    );
    assert!(!answer.to_string().contains("12345"), "{answer}");
}

#[tokio::test]
async fn all_details_are_tried_and_what_came_of_each_is_said() {
    let server = TroubledHttp::start();
    let dead = json!({"url": "http://127.0.0.1:1/mcp"});
    let context = context();
    context.set_mcp_connection_details(server.details_with("preset-12345"));
    tell(&context, &server.details().to_mcp_servers());
    tell(&context, &server.details_with("wrong-12345").to_mcp_servers());
    tell(&context, &json!({"mcpServers": {"zoo": dead}}));
    let answer = connect(&context, None).await.unwrap();
    assert_eq!(answer["source"], "message 1");
    let passed_over: Vec<&str> =
        answer["passed_over"].as_array().unwrap().iter().map(|one| one.as_str().unwrap()).collect();
    for (said, expected) in passed_over.iter().zip([
        "pre-set details, server \"stranger\": stranger (http://127.0.0.1",
        "message 3, server \"zoo\": zoo (http://127.0.0.1:1/mcp)",
        "message 2, server \"stranger\": stranger (http://127.0.0.1",
    ]) {
        assert!(said.starts_with(expected), "{said}");
    }
    assert_eq!(passed_over.len(), 3);
    assert!(!answer.to_string().contains("12345"), "{answer}");
    works(&context.connection().unwrap()).await;
}

#[tokio::test]
async fn every_server_of_a_message_is_tried() {
    let server = TroubledHttp::start();
    let context = context();
    let good = server.details().to_mcp_servers()["mcpServers"]["stranger"].clone();
    let dead = json!({"url": "http://127.0.0.1:1/mcp"});
    tell(&context, &json!({"mcpServers": {"a": good, "z": dead}}));
    let answer = connect(&context, None).await.unwrap();
    assert_eq!(answer["server"], "a");
}

#[tokio::test]
async fn an_example_after_the_details_is_tried_last() {
    let server = TroubledHttp::start();
    let context = context();
    let good = server.details().to_mcp_servers();
    let text = format!(
        "Use {good} now. The old server was {}, for example.",
        json!({"mcpServers": {"old": {"url": "http://127.0.0.1:1/mcp"}}})
    );
    context.incoming_messages().receive("green", json!({"parts": [{"text": text}]}), now());
    let answer = connect(&context, None).await.unwrap();
    assert_eq!((&answer["server"], &answer["passed_over"]), (&json!("stranger"), &json!([])));
}

#[tokio::test]
async fn headers_may_come_in_a_second_message() {
    let server = TroubledHttp::start();
    let context = context();
    let details = server.details().to_mcp_connection_details()["mcp_connection_details"].clone();
    tell(&context, &json!({"endpoint": details["url"], "transport": "http"}));
    tell(&context, &json!({"headers": details["headers"]}));
    let answer = connect(&context, None).await.unwrap();
    assert_eq!(answer["source"], "message 1 with the headers of message 2");
    let shown = mcp_tools::connection::masked(&json!({"token": "tok-12345"})).to_string();
    assert!(!shown.contains("12345"), "{shown}");
}

#[tokio::test]
async fn a_call_tries_a_limited_number_of_servers() {
    let context = context();
    for port in 1..=20 {
        tell(
            &context,
            &json!({"url": format!("http://127.0.0.1:{port}/mcp"), "transport": "http"}),
        );
    }
    let said = connect(&context, None).await.unwrap_err();
    assert!(
        said.starts_with(
            "no MCP connection details led to a connection, ask for new ones; message 20: "
        ),
        "{said}"
    );
    assert!(said.ends_with("message 4, and older ones: not tried after 16 others"), "{said}");
}

#[tokio::test]
async fn the_transport_before_streamable_http_is_spoken_too() {
    let server = OldHttp::start().await;
    let context = context();
    tell(
        &context,
        &json!({"url": server.url(), "transport": "sse", "headers": {"Authorization": "Bearer tok-12345"}}),
    );
    let answer = connect(&context, None).await.unwrap();
    assert_eq!(answer["tools"], json!(["echo"]));
    let called = context
        .connection()
        .unwrap()
        .call("echo", arguments([("text", json!("hello"))]))
        .await
        .unwrap();
    assert_eq!(called.content[0].as_text().unwrap().text, "hello");
    let refused = self::context();
    tell(
        &refused,
        &json!({"url": server.url(), "transport": "sse", "headers": {"Authorization": "Bearer other"}}),
    );
    let said = connect(&refused, None).await.unwrap_err();
    assert!(said.contains("unauthorized"), "{said}");
}

#[tokio::test]
async fn one_of_several_servers_is_chosen_by_name() {
    let server = TroubledHttp::start();
    let context = context();
    let details = server.details().to_mcp_servers();
    let stranger = details["mcpServers"]["stranger"].clone();
    let other = json!({"url": "http://localhost:1/"});
    tell(&context, &json!({"mcpServers": {"stranger": stranger, "zoo": other}}));
    let answer = connect(&context, Some("stranger")).await.unwrap();
    assert_eq!(answer["server"], "stranger");
    let said = connect(&context, Some("nobody")).await.unwrap_err();
    assert!(
        said.contains("message 1, server \"zoo\": the details are of server \"zoo\""),
        "{said}"
    );
}

#[tokio::test]
async fn without_details_it_says_what_is_missing() {
    let context = context();
    tell(&context, &json!({"goal": "g"}));
    let said = connect(&context, None).await.unwrap_err();
    assert_eq!(
        said,
        "no MCP connection details: none were set, and none of 1 incoming messages has any; wait for a message that has"
    );
    let url = "http://localhost:1/".parse().unwrap();
    tell(&context, &until(ConnectionDetails::http("e", url), "2026-01-31T11:00:00Z"));
    let said = connect(&context, None).await.unwrap_err();
    assert_eq!(
        said,
        "no MCP connection details that can be used, ask for new ones; message 2, server \"e\": the details expired at 2026-01-31T11:00:00Z, and it is 2026-01-31T12:00:00Z by the clock here"
    );
}
