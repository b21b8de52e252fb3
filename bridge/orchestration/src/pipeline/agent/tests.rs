//! Tests which agents are stopped, and how agents that cannot be stopped are reported.

use axum::{Json, Router, extract::State, http::Uri};
use serde_json::json;
use tokio::{net::TcpListener, sync::Notify};

use super::*;
use crate::pipeline::call_context::CallContext;

#[test]
fn errors_have_a_text_for_readers() {
    for (input, expected) in [
        (json!({"plan": "p"}), "p"),
        (json!({"plan": ["p"]}), r#"{"plan":["p"]}"#),
        (json!({"a": "b", "c": "d"}), r#"{"a":"b","c":"d"}"#),
        (json!({}), "{}"),
    ] {
        assert_eq!(as_text(input.as_object().unwrap()), expected);
    }
}

/// An agent that never answers a call, and answers a cancel request with this value.
#[derive(Clone)]
struct Hanging {
    called: Arc<Notify>,
    cancel: Value,
}

async fn answer(State(hanging): State<Hanging>, uri: Uri) -> Json<Value> {
    if uri.path() == "/tasks/cancel" {
        return Json(hanging.cancel);
    }
    hanging.called.notify_one();
    std::future::pending().await
}

/// Returns an agent with this card that is served by `app`.
async fn agent(mut card: Value, app: Router, call_context: &CallContext) -> Agent {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    tokio::spawn(async move { axum::serve(listener, app).await });
    card["name"] = json!("plan");
    card["skills"] = json!([{"id": "x", "input_schema": {"type": "object"}}]);
    let card: Value = serde_json::from_str(&card.to_string().replace("HERE", &url)).unwrap();
    let found = Discovered::from_card(card, format!("{url}/card.json").parse().unwrap()).unwrap();
    let skill = found.skill("x").unwrap().clone();
    call_context.agent(Arc::new(found), skill)
}

/// Returns the report about an agent with this card whose call was dropped.
async fn report_after_drop(card: Value, cancel: Value) -> Vec<String> {
    let called = Arc::new(Notify::new());
    let hanging = Hanging { called: called.clone(), cancel };
    let app = Router::new().fallback(answer).with_state(hanging);
    let call_context = CallContext::default();
    let agent = agent(card, app, &call_context).await;
    let input = Map::new();
    tokio::select! {
        ended = agent.work(&input) => panic!("{ended:?}"),
        () = called.notified() => {}
    }
    call_context.cancellations.finish().await
}

#[tokio::test]
async fn possibly_running_agents_are_reported() {
    let canceled =
        json!({"jsonrpc": "2.0", "id": 1, "result": {"id": "t", "status": {"state": "canceled"}}});
    let refused =
        |code: i64| json!({"jsonrpc": "2.0", "id": 1, "error": {"code": code, "message": "no"}});
    let v0_1 = || json!({"base_url": "HERE"});
    let interface = json!({"url": "HERE/", "protocolBinding": "JSONRPC", "protocolVersion": "1.0"});
    for (card, cancel, expected) in [
        (
            json!({"url": "HERE"}),
            json!({}),
            Some(
                "plan could not be stopped, because it takes each skill as a method and has no tasks",
            ),
        ),
        (
            json!({"supportedInterfaces": [interface]}),
            json!({}),
            Some("plan could not be stopped, because it had not named its task"),
        ),
        (v0_1(), canceled, None),
        // The task has ended in the meantime.
        (v0_1(), refused(-32002), None),
        (v0_1(), refused(-32001), Some("plan was asked to cancel task ")),
    ] {
        let finish = report_after_drop(card, cancel).await;
        match expected {
            None => assert_eq!(finish, Vec::<String>::new()),
            Some(expected) => {
                assert_eq!(finish.len(), 1, "{finish:?}");
                assert!(finish[0].starts_with(expected), "{finish:?}");
                assert!(finish[0].contains("may still be working"), "{finish:?}");
            }
        }
    }
}

#[tokio::test]
async fn a_task_that_asks_a_question_is_canceled() {
    let canceled = Arc::new(Mutex::new(Vec::new()));
    let paths = canceled.clone();
    let app = Router::new().fallback(async move |uri: Uri| {
        lock(&paths).push(uri.path().to_owned());
        let state = if uri.path() == "/tasks/cancel" { "canceled" } else { "input-required" };
        Json(json!({"jsonrpc": "2.0", "id": 1, "result": {"id": "t", "status": {"state": state}}}))
    });
    let call_context = CallContext::default();
    let agent = agent(json!({"base_url": "HERE"}), app, &call_context).await;
    let asked = agent.work(&Map::new()).await.unwrap_err();
    assert!(matches!(asked, AttemptError::InputRequired(_)), "{asked:?}");
    assert_eq!(call_context.cancellations.finish().await, Vec::<String>::new());
    assert_eq!(*lock(&canceled), ["/tasks/send", "/tasks/cancel"]);
}
