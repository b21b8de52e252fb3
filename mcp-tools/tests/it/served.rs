//! Episodes over HTTP.

use std::time::Duration;

use async_trait::async_trait;
use mcp_tools::{
    client::{ConnectError, Connection},
    environments::{BUILTINS, Environment, EnvironmentError, Score, TaskInfo, builtin, tool},
    episodes::{EndReason, Limits},
    secret::Secret,
    server::ServerSettings,
};
use reqwest::{
    RequestBuilder, StatusCode,
    header::{ACCEPT, CONTENT_TYPE, HeaderMap, WWW_AUTHENTICATE},
};
use rmcp::model::{CallToolResult, JsonObject, Tool};
use serde_json::{Value, json};

use crate::{
    agent::{ERAS, call, connect, shown},
    evaluator::{Evaluator, LIMITS},
};

const SESSION: &str = "mcp-session-id";

#[tokio::test]
async fn an_order_is_placed_in_each_era() {
    let evaluator = Evaluator::start().await;
    for era in ERAS {
        let opened = evaluator.open("shop", 5);
        let client = connect(&evaluator.url, &opened.token, era).await.unwrap();
        let tools = client.tools().await.unwrap();
        assert_eq!(tools.last().unwrap().name, "submit");

        let list = shown(&client, "show_list", &json!({})).await;
        let product = fitting(&client, &list).await;
        let arguments = json!({"product": product, "quantity": list["quantity"]});
        shown(&client, "add_to_cart", &arguments).await;
        let cart = shown(&client, "set_address", &json!({"address": list["address"]})).await;
        let total = json!({"total_cents": cart["total_cents"]});
        shown(&client, "confirm_order", &total).await;
        call(&client, "submit", &json!({})).await;

        let outcome = evaluator.episodes.finished(&opened.id).await.unwrap();
        assert!(outcome.submitted() && outcome.score.success, "{outcome:?}");
        client.close().await;
    }
}

/// Returns the cheapest product on the list whose stock is sufficient.
async fn fitting(client: &Connection, list: &Value) -> Value {
    let query = format!("{} {}", list["colour"], list["kind"]).replace('"', "");
    let found = shown(client, "search", &json!({"query": query})).await;
    let mut products = found["products"].as_array().unwrap().clone();
    products.sort_by_key(|product| product["price_cents"].as_u64());
    for product in products {
        let product = shown(client, "show_product", &json!({"product": product["product"]})).await;
        if product["stock"].as_u64() >= list["quantity"].as_u64() {
            return product["product"].clone();
        }
    }
    panic!("nothing fits {list}");
}

/// An environment whose only tool takes this time.
struct Slow(Duration);

#[async_trait]
impl Environment for Slow {
    fn task(&self) -> TaskInfo {
        let [task_id, benchmark, goal] = ["slow.look", "slow", "Look."].map(str::to_owned);
        TaskInfo { task_id, benchmark, goal }
    }

    fn tools(&self) -> Vec<Tool> {
        vec![tool("look", "Takes its time.", json!({}), &[])]
    }

    async fn call(&mut self, _tool: &str, _arguments: JsonObject) -> CallToolResult {
        tokio::time::sleep(self.0).await;
        CallToolResult::structured(json!({"seen": true}))
    }

    async fn score(&mut self) -> Result<Score, EnvironmentError> {
        Ok(Score::nothing())
    }
}

#[tokio::test]
async fn a_session_is_not_idle_during_a_call() {
    let session_idle = Duration::from_secs(2);
    let settings = ServerSettings { session_idle, ..ServerSettings::default() };
    let evaluator = Evaluator::with(settings).await;
    let opened = evaluator.open_with(Box::new(Slow(session_idle * 3)), LIMITS);
    let [session, _] = ERAS;
    let client = connect(&evaluator.url, &opened.token, session).await.unwrap();
    assert_eq!(shown(&client, "look", &json!({})).await, json!({"seen": true}));
}

#[tokio::test]
async fn two_episodes_at_once_do_not_mix() {
    let evaluator = Evaluator::start().await;
    let (one, other) = (evaluator.open("shop", 5), evaluator.open("shop", 5));
    let [session, stateless] = ERAS;
    let first = connect(&evaluator.url, &one.token, session).await.unwrap();
    let second = connect(&evaluator.url, &other.token, stateless).await.unwrap();
    shown(&first, "add_to_cart", &json!({"product": "p01"})).await;
    let cart = shown(&second, "show_cart", &json!({})).await;
    assert_eq!(cart["lines"], json!([]));
    call(&first, "submit", &json!({})).await;
    shown(&second, "show_cart", &json!({})).await;
    assert!(evaluator.episodes.outcome(&one.id).await.is_some());
    assert!(evaluator.episodes.outcome(&other.id).await.is_none());
}

#[tokio::test]
async fn a_second_client_finds_the_episode_as_the_first_left_it() {
    let evaluator = Evaluator::start().await;
    let opened = evaluator.open("shop", 5);
    let [session, stateless] = ERAS;
    let first = connect(&evaluator.url, &opened.token, session).await.unwrap();
    shown(&first, "add_to_cart", &json!({"product": "p01"})).await;
    first.close().await;
    let second = connect(&evaluator.url, &opened.token, stateless).await.unwrap();
    let cart = shown(&second, "show_cart", &json!({})).await;
    assert_eq!(cart["lines"][0]["product"], "p01");
}

#[tokio::test]
async fn calls_after_the_end_change_nothing() {
    let evaluator = Evaluator::start().await;
    for era in ERAS {
        let opened = evaluator.open("sum", 5);
        let client = connect(&evaluator.url, &opened.token, era).await.unwrap();
        call(&client, "submit", &json!({"answer": 1})).await;
        let outcome = evaluator.episodes.outcome(&opened.id).await.unwrap();
        for tool in ["submit", "list_numbers"] {
            let result = call(&client, tool, &json!({})).await;
            assert_eq!(result.is_error, Some(true));
            let text = &result.content[0].as_text().unwrap().text;
            assert_eq!(text, "the episode is over: it was submitted");
        }
        assert_eq!(evaluator.episodes.outcome(&opened.id).await, Some(outcome));
    }
}

#[tokio::test]
async fn the_steps_are_limited() {
    let evaluator = Evaluator::start().await;
    let limits = Limits { steps: 1, ..LIMITS };
    let opened = evaluator.open_with(builtin("sum", 1).unwrap(), limits);
    let [session, _] = ERAS;
    let client = connect(&evaluator.url, &opened.token, session).await.unwrap();
    shown(&client, "list_numbers", &json!({})).await;
    let result = call(&client, "list_numbers", &json!({})).await;
    assert_eq!(result.is_error, Some(true));
    let outcome = evaluator.episodes.outcome(&opened.id).await.unwrap();
    assert_eq!(outcome.ended, EndReason::StepLimit);
}

/// Returns an `initialize` request of a client with sessions.
fn initialize(evaluator: &Evaluator) -> RequestBuilder {
    let body = json!({
        "jsonrpc": "2.0",
        "id": 1,
        "method": "initialize",
        "params": {
            "protocolVersion": "2025-11-25",
            "capabilities": {},
            "clientInfo": {"name": "test", "version": "1"},
        },
    });
    post(evaluator, &body)
}

fn post(evaluator: &Evaluator, body: &Value) -> RequestBuilder {
    reqwest::Client::new()
        .post(&evaluator.url)
        .header("accept", "application/json, text/event-stream")
        .json(body)
}

fn list_tools(evaluator: &Evaluator) -> RequestBuilder {
    post(evaluator, &json!({"jsonrpc": "2.0", "id": 2, "method": "tools/list"}))
}

/// Returns the status of a response and its `WWW-Authenticate` header.
async fn answered(request: RequestBuilder) -> (StatusCode, String) {
    let response = request.send().await.unwrap();
    let challenge = response.headers().get(WWW_AUTHENTICATE).cloned();
    let challenge = challenge.map(|value| value.to_str().unwrap().to_owned());
    (response.status(), challenge.unwrap_or_default())
}

#[tokio::test]
async fn unauthorized_requests_get_a_reason() {
    let evaluator = Evaluator::start().await;
    let (ended, closed) = (evaluator.open("sum", 1), evaluator.open("sum", 1));
    let expired =
        evaluator.open_with(builtin("sum", 1).unwrap(), Limits { time: Duration::ZERO, ..LIMITS });
    evaluator.episodes.close(&closed.id).await.unwrap();
    let unknown =
        r#"Bearer error="invalid_token", error_description="the token is not known here""#;
    let too_late = r#"Bearer error="invalid_token", error_description="the token has expired""#;
    let cases = [
        (None, "Bearer"),
        (Some("Basic dXNlcjpwYXNz".to_owned()), "Bearer"),
        (Some("Bearer".to_owned()), "Bearer"),
        (Some("Bearer wrong".to_owned()), unknown),
        (Some(format!("Bearer {}", ended.id)), unknown),
        (Some(format!("Bearer {}", closed.token.expose())), unknown),
        (Some(format!("Bearer {}", expired.token.expose())), too_late),
    ];
    for (authorization, challenge) in cases {
        for request in [initialize(&evaluator), list_tools(&evaluator)] {
            let request = match &authorization {
                Some(value) => request.header("authorization", value),
                None => request,
            };
            let wanted = (StatusCode::UNAUTHORIZED, challenge.to_owned());
            assert_eq!(answered(request).await, wanted, "{authorization:?}");
        }
    }
}

#[tokio::test]
async fn a_client_with_a_wrong_token_gets_an_error() {
    let evaluator = Evaluator::start().await;
    for era in ERAS {
        let refused = connect(&evaluator.url, &Secret::new("wrong"), era).await.unwrap_err();
        assert!(matches!(refused, ConnectError::Unauthorized(_)), "{refused:?}");
    }
}

#[tokio::test]
async fn a_refusal_is_an_error_of_json_rpc() {
    let evaluator = Evaluator::start().await;
    let refused = list_tools(&evaluator).send().await.unwrap();
    assert_eq!(refused.headers()[CONTENT_TYPE], "application/json");
    let refused: Value = refused.json().await.unwrap();
    let message = "a bearer token is needed: Authorization: Bearer TOKEN";
    let error = json!({"code": -32000, "message": message});
    let wanted = json!({"jsonrpc": "2.0", "id": null, "error": error});
    assert_eq!(refused, wanted);

    let opened = evaluator.open("sum", 1);
    let both = "application/json, text/event-stream";
    let no_message = "expected one message of JSON-RPC: ";
    let long = " ".repeat(ServerSettings::default().body + 1);
    for (accept, body, status, reason) in [
        (both, "{", StatusCode::BAD_REQUEST, no_message),
        (both, r#"{"id":1,"method":"ping"}"#, StatusCode::BAD_REQUEST, no_message),
        (both, long.as_str(), StatusCode::PAYLOAD_TOO_LARGE, "Payload Too Large"),
        ("text/html", "{}", StatusCode::NOT_ACCEPTABLE, "Not Acceptable: Client must accept"),
    ] {
        let request = reqwest::Client::new().post(&evaluator.url).header("accept", accept);
        let request = request.header(CONTENT_TYPE, "application/json").body(body.to_owned());
        let refused = request.bearer_auth(opened.token.expose()).send().await.unwrap();
        assert_eq!(refused.status(), status, "{reason}");
        let refused: Value = refused.json().await.unwrap();
        let message = refused["error"]["message"].as_str().unwrap();
        assert!(message.starts_with(reason), "{message}");
    }
}

/// People who try a server with curl send `*/*`, and so do clients that name no media types.
#[tokio::test]
async fn a_client_that_accepts_everything_is_served() {
    let evaluator = Evaluator::start().await;
    let opened = evaluator.open("sum", 1);
    for accept in ["*/*", "text/html, */*;q=0.8"] {
        let mut request = initialize(&evaluator).bearer_auth(opened.token.expose());
        request = request.headers(HeaderMap::from_iter([(ACCEPT, accept.parse().unwrap())]));
        assert_eq!(request.send().await.unwrap().status(), StatusCode::OK, "{accept}");
    }
}

/// Some clients of MCP refuse all tools of a server if an argument has no type.
#[tokio::test]
async fn every_argument_has_a_type() {
    let evaluator = Evaluator::start().await;
    let [session, _] = ERAS;
    for (environment, _) in BUILTINS {
        let opened = evaluator.open(environment, 1);
        let client = connect(&evaluator.url, &opened.token, session);
        for tool in client.await.unwrap().tools().await.unwrap() {
            let arguments = tool.input_schema["properties"].as_object().unwrap();
            for (name, schema) in arguments {
                let typed = schema.get("type").or(schema.get("anyOf"));
                assert!(typed.is_some(), "{}: {name}", tool.name);
            }
        }
    }
}

/// Begins a session and returns its id.
async fn session(evaluator: &Evaluator, token: &str) -> String {
    let response = initialize(evaluator).bearer_auth(token).send().await.unwrap();
    assert_eq!(response.status(), StatusCode::OK);
    response.headers()[SESSION].to_str().unwrap().to_owned()
}

#[tokio::test]
async fn a_session_is_of_use_to_its_own_episode_only() {
    let evaluator = Evaluator::start().await;
    let (one, other) = (evaluator.open("sum", 1), evaluator.open("sum", 1));
    let own = session(&evaluator, one.token.expose()).await;
    session(&evaluator, other.token.expose()).await;
    let client = reqwest::Client::new();
    for (token, status) in [(&one.token, StatusCode::OK), (&other.token, StatusCode::NOT_FOUND)] {
        let asked = list_tools(&evaluator).header(SESSION, &own).bearer_auth(token.expose());
        assert_eq!(answered(asked).await.0, status);
        let listening = client.get(&evaluator.url).header("accept", "text/event-stream");
        let listening = listening.header(SESSION, &own).bearer_auth(token.expose());
        assert_eq!(answered(listening).await.0, status);
    }
    let foreign = client.delete(&evaluator.url).header(SESSION, &own);
    answered(foreign.bearer_auth(other.token.expose())).await;
    let asked = list_tools(&evaluator).header(SESSION, &own);
    assert_eq!(answered(asked.bearer_auth(one.token.expose())).await.0, StatusCode::OK);
}

#[tokio::test]
async fn a_call_with_wrong_parameters_is_told_what_is_wrong() {
    let evaluator = Evaluator::start().await;
    let opened = evaluator.open("sum", 1);
    let token = opened.token.expose();
    let own = session(&evaluator, token).await;
    let expected = r#"tools/call: expected params {"name": TOOL, "arguments": {...}}: "#;
    for (method, params, code, reason) in [
        ("tools/call", json!({}), -32602, "missing field `name`"),
        ("tools/call", json!({"name": 7}), -32602, "invalid type: integer `7`, expected a string"),
        (
            "tools/call",
            json!({"name": "submit", "arguments": "{}"}),
            -32602,
            r#"invalid type: string "{}", expected a map"#,
        ),
        ("tools/run", json!({}), -32601, ""),
    ] {
        let asked = json!({"jsonrpc": "2.0", "id": 3, "method": method, "params": params});
        let asked = post(&evaluator, &asked).header(SESSION, &own).bearer_auth(token);
        let answer = asked.send().await.unwrap().text().await.unwrap();
        let answer = answer.lines().filter_map(|line| line.strip_prefix("data: {")).next_back();
        let answer: Value = serde_json::from_str(&format!("{{{}", answer.unwrap())).unwrap();
        let message = match code {
            -32601 => r#"there is no method "tools/run""#.to_owned(),
            _ => format!("{expected}{reason}"),
        };
        assert_eq!(answer["error"], json!({"code": code, "message": message}), "{params}");
    }
    assert!(evaluator.episodes.outcome(&opened.id).await.is_none());
}

#[tokio::test]
async fn a_session_ends_with_its_episode() {
    let evaluator = Evaluator::start().await;
    let opened = evaluator.open("sum", 1);
    let own = session(&evaluator, opened.token.expose()).await;
    evaluator.episodes.close(&opened.id).await.unwrap();
    let asked = list_tools(&evaluator).header(SESSION, &own);
    let asked = asked.bearer_auth(opened.token.expose());
    assert_eq!(answered(asked).await.0, StatusCode::UNAUTHORIZED);
}

#[tokio::test]
async fn sessions_and_bodies_are_limited() {
    let evaluator =
        Evaluator::with(ServerSettings { sessions: 2, body: 2000, ..ServerSettings::default() })
            .await;
    let opened = evaluator.open("sum", 1);
    let token = opened.token.expose();
    let first = session(&evaluator, token).await;
    session(&evaluator, token).await;
    let third = initialize(&evaluator).bearer_auth(token).send().await.unwrap();
    assert_eq!(third.status(), StatusCode::TOO_MANY_REQUESTS);
    assert!(third.headers().get(SESSION).is_none());
    let ended = reqwest::Client::new().delete(&evaluator.url).header(SESSION, &first);
    // The official Python SDK logs any other status as a failure.
    assert_eq!(answered(ended.bearer_auth(token)).await.0, StatusCode::NO_CONTENT);
    session(&evaluator, token).await;

    let long = json!({"jsonrpc": "2.0", "id": 3, "method": "x".repeat(3000)});
    let long = post(&evaluator, &long).bearer_auth(token);
    assert_eq!(answered(long).await.0, StatusCode::PAYLOAD_TOO_LARGE);
}

#[tokio::test]
async fn only_known_hosts_and_origins_may_ask() {
    let evaluator = Evaluator::with(ServerSettings {
        path: "/tools".into(),
        allowed_origins: vec!["https://app.example.com:443".into()],
        ..ServerSettings::default()
    })
    .await;
    let opened = evaluator.open("sum", 1);
    let cases = [
        ("host", "localhost", StatusCode::OK),
        ("host", "evil.example.com", StatusCode::FORBIDDEN),
        ("origin", "https://app.example.com", StatusCode::OK),
        ("origin", "https://evil.example.com", StatusCode::FORBIDDEN),
        ("origin", "null", StatusCode::FORBIDDEN),
    ];
    for (header, value, status) in cases {
        let request = initialize(&evaluator).header(header, value);
        let request = request.bearer_auth(opened.token.expose());
        assert_eq!(answered(request).await.0, status, "{header}: {value}");
    }
}
