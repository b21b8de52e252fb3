//! Tests skills that need more than their card: a caller who names one must have the credentials, with every binding.

use std::sync::atomic::{AtomicUsize, Ordering};

use axum::Router;
#[cfg(feature = "grpc")]
use bridge_protocol::a2a::Operation;
use insta::assert_snapshot;
use serde_json::{Value, json};

use super::{ISSUER, hosted, secrets, token, tokens, ways::ApiCall};

/// Anybody may ask, and what it can do needs a token with a scope, a key, or nothing.
fn card(requirements: &Value) -> Value {
    let skill = |id: &str, needs: Value| {
        json!({"id": id, "name": id, "description": "d", "tags": [],
            "input_schema": {"type": "object"}, "securityRequirements": needs})
    };
    json!({
        "securitySchemes": {
            "staff": {"httpAuthSecurityScheme": {"scheme": "Bearer"}},
            "key": {"apiKeySecurityScheme": {"location": "header", "name": "X-Key"}},
        },
        "securityRequirements": requirements,
        "skills": [
            skill("refund", json!([{"schemes": {"staff": {"list": ["ask", "pay"]}}}])),
            skill("audit", json!([{"schemes": {"key": {"list": []}}}])),
            skill("talk", json!([])),
        ],
    })
}

async fn app(requirements: &Value) -> Router {
    let checks = [("staff", tokens()), ("key", secrets(&[("ci", "s3cret")]))];
    hosted(&card(requirements), &checks).await
}

fn either() -> Value {
    json!([{"schemes": {"staff": {"list": []}}}, {"schemes": {"key": {"list": []}}}])
}

/// Returns a message id that no other message has.
fn fresh() -> String {
    static NEXT: AtomicUsize = AtomicUsize::new(0);
    format!("m-{}", NEXT.fetch_add(1, Ordering::Relaxed))
}

/// Returns a request for every way to name a skill, in every binding. In 0.1, clients name their tasks: each round uses
/// another one.
fn ways(skill: &str, round: usize) -> Vec<(&'static str, ApiCall)> {
    let message = |more: &Value| {
        let mut message =
            json!({"messageId": fresh(), "role": "ROLE_USER", "parts": [{"text": "hi"}]});
        for (name, value) in more.as_object().unwrap() {
            message[name] = value.clone();
        }
        json!({"message": message})
    };
    let old = |parts: Value| json!({"message": {"kind": "message", "messageId": fresh(), "role": "user", "parts": parts}});
    let data = json!({"skill_id": skill, "parameters": {}});
    let named = message(&json!({"metadata": {"skillId": skill}}));
    let called = message(&json!({"parts": [{"data": data}]}));
    let function = json!({"function_call": {"name": skill, "parameters": []}});
    let mut asked = message(&json!({}));
    asked["metadata"] = json!({"skill": skill});
    vec![
        ("1.0", ApiCall::Rpc("1.0", "SendMessage", called.clone())),
        ("1.0, stream", ApiCall::Rpc("1.0", "SendStreamingMessage", named.clone())),
        ("0.3", ApiCall::Rpc("0.3", "message/send", old(json!([{"kind": "data", "data": data}])))),
        (
            "0.3, stream",
            ApiCall::Rpc("0.3", "message/stream", old(json!([{"kind": "data", "data": function}]))),
        ),
        (
            "0.1, bare",
            ApiCall::Post(
                "/tasks/send".to_owned(),
                json!({"id": format!("t-{round}"), "message": {"role": "user",
                    "parts": [{"type": "data", "data": data}]}}),
            ),
        ),
        ("HTTP+JSON", ApiCall::Post("/a2a/message:send".to_owned(), asked.clone())),
        ("HTTP+JSON, stream", ApiCall::Post("/a2a/message:stream".to_owned(), called.clone())),
        (
            "HTTP+JSON of 0.3",
            ApiCall::Post(
                "/a2a/v1/message:send".to_owned(),
                old(json!([{"kind": "data", "data": data}])),
            ),
        ),
        (
            "execute",
            ApiCall::Post(
                "/execute".to_owned(),
                json!({"jsonrpc": "2.0", "id": 7, "method": skill, "params": {}}),
            ),
        ),
        #[cfg(feature = "grpc")]
        ("gRPC", ApiCall::Grpc(Operation::SendMessage, called)),
        #[cfg(feature = "grpc")]
        ("gRPC, stream", ApiCall::Grpc(Operation::SendStreamingMessage, named)),
    ]
}

fn bearer(scope: &str) -> String {
    format!("Bearer {}", token(ISSUER, "me", &json!({"scope": scope})))
}

#[tokio::test]
async fn naming_a_skill_requires_its_credentials() {
    let app = app(&either()).await;
    let (poor, rich) = (bearer("ask"), bearer("ask pay"));
    let (poor, rich) = (("authorization", &*poor), ("authorization", &*rich));
    let (key, guess) = (("x-key", "s3cret"), ("x-key", "guess"));
    let cases = [
        ("refund", &[rich][..], 200),
        ("refund", &[rich, key], 200),
        ("refund", &[poor], 403),
        ("refund", &[key], 403),
        ("audit", &[key], 200),
        ("audit", &[rich, key], 200),
        ("audit", &[rich], 403),
        ("audit", &[rich, guess], 401),
        ("talk", &[poor], 200),
        ("talk", &[key], 200),
        // There is no such skill, so it has no requirements.
        ("fly", &[poor], 200),
        // The requirements of the card come first.
        ("talk", &[], 401),
        ("refund", &[guess], 401),
    ];
    for (round, (skill, shown, status)) in cases.into_iter().enumerate() {
        for (what, way) in ways(skill, round) {
            let told = way.ask(&app, shown).await;
            assert_eq!(told.status, status, "{what}: {skill} {shown:?} {told:?}");
            assert_eq!(told.challenges.is_empty(), status == 200, "{what}: {told:?}");
            assert!(!told.text.contains("s3cret") && !told.text.contains("guess"));
        }
    }
}

#[tokio::test]
async fn refusals_say_what_the_skill_needs() {
    let app = app(&either()).await;
    let (poor, key) = (bearer("ask"), ("x-key", "s3cret"));
    let poor = ("authorization", poor.as_str());
    let mut seen = String::new();
    for (title, skill, shown) in
        [("too few scopes", "refund", poor), ("another scheme", "refund", key)]
    {
        for (what, way) in ways(skill, 0) {
            let told = way.ask(&app, &[shown]).await;
            let challenges = told.challenges.join("\n");
            seen += &format!("## {title}, {what}\n{}\n{challenges}\n{}\n", told.status, told.text);
        }
    }
    assert_snapshot!(seen);
}

#[tokio::test]
async fn an_agent_that_is_open_may_have_skills_that_are_not() {
    let app = app(&json!([])).await;
    let rich = bearer("ask pay");
    let cases = [
        ("talk", None, 200),
        ("refund", None, 401),
        ("refund", Some(("authorization", rich.as_str())), 200),
        ("audit", Some(("authorization", rich.as_str())), 403),
        ("audit", Some(("x-key", "s3cret")), 200),
    ];
    for (round, (skill, shown, status)) in cases.into_iter().enumerate() {
        for (what, way) in ways(skill, round) {
            let told = way.ask(&app, shown.as_slice()).await;
            assert_eq!(told.status, status, "{what}: {skill} {shown:?} {told:?}");
        }
    }
}

#[tokio::test]
async fn requirements_of_a_skill_do_not_change_the_caller() {
    // The key is the caller's for the card; the token, which the skill needs, speaks of somebody else.
    let app = app(&json!([{"schemes": {"key": {"list": []}}}])).await;
    let rich = bearer("ask pay");
    let key = ("x-key", "s3cret");
    let (_, way) = ways("refund", 0).remove(0);
    let told = way.ask(&app, &[key, ("authorization", &rich)]).await;
    let id = told.json()["result"]["task"]["id"].clone();
    let get = ApiCall::Rpc("1.0", "GetTask", json!({"id": id}));
    assert_eq!(get.ask(&app, &[key]).await.json()["result"]["id"], id);
}
