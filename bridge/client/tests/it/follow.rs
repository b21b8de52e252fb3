//! Tests of calls that are followed, so that the task's id is known before the end.

use std::sync::atomic::{AtomicBool, Ordering};

use axum::{body::Body, http::Response};
use bridge_client::{
    Options,
    discovery::{DiscoveryOptions, discover},
    invocation::{Invocation, InvocationError, Invoker, Outcome, State},
};
use serde_json::{Map, Value, json};

use crate::server::{Answer, reply, result, serve};

const CARD: &str = "/.well-known/agent-card.json";

/// Returns the task ids in the order in which they were reported, and the outcome of the call.
async fn followed(
    streams: bool,
    answer: Answer,
) -> (Vec<String>, Result<Outcome, InvocationError>) {
    let card = json!({
        "name": "New", "skills": [{"id": "check"}], "capabilities": {"streaming": streams},
        "supportedInterfaces": [{"url": "URL", "protocolBinding": "JSONRPC", "protocolVersion": "1.0"}],
    });
    let (url, _) = serve(CARD, card, answer).await;
    let options = DiscoveryOptions { allow_private: true, ..DiscoveryOptions::default() };
    let found = discover(&url, &options).await.unwrap();
    let invoker = Invoker::new(&found, &Options::default()).unwrap();
    let invocation = Invocation::new("m-1", "check", Map::new());
    let mut begun = Vec::new();
    let outcome = invoker.follow(&invocation, |id| begun.push(id.to_owned())).await;
    (begun, outcome)
}

fn events(items: &[Value]) -> Response<Body> {
    let event = |item: &Value| {
        let envelope = json!({"jsonrpc": "2.0", "id": 1, "result": item});
        format!("data: {envelope}\n\n")
    };
    reply(200, "text/event-stream", &items.iter().map(event).collect::<String>())
}

fn status(state: &str) -> Value {
    json!({"statusUpdate": {"taskId": "t-1", "contextId": "c-1", "status": {"state": state}}})
}

#[tokio::test]
async fn a_stream_tells_its_task_at_once() {
    let answer = || {
        let artifact = json!({"artifactId": "a", "parts": [{"data": {"plan": "p"}}]});
        events(&[
            status("TASK_STATE_WORKING"),
            json!({"artifactUpdate": {"taskId": "t-1", "contextId": "c-1", "artifact": artifact}}),
            status("TASK_STATE_COMPLETED"),
        ])
    };
    let (begun, outcome) = followed(true, answer).await;
    let outcome = outcome.unwrap();
    assert_eq!(outcome.state, State::Completed);
    assert_eq!(outcome.result_data, Some(json!({"plan": "p"})));
    assert_eq!(begun, ["t-1", "t-1"]);
}

#[tokio::test]
async fn a_message_is_a_whole_answer_and_silence_is_none() {
    let message = || {
        let said = json!({"messageId": "a-1", "role": "ROLE_AGENT", "parts": [{"text": "hi"}]});
        events(&[json!({ "message": said })])
    };
    let (begun, outcome) = followed(true, message).await;
    assert_eq!((begun.len(), outcome.unwrap().text.as_str()), (0, "hi"));
    let (_, outcome) = followed(true, || events(&[])).await;
    let error = outcome.unwrap_err().to_string();
    assert!(error.ends_with("the stream broke: it ended without an answer"), "{error}");
}

/// Some agents of 0.3 send their texts so.
#[tokio::test]
async fn a_message_in_the_stream_of_a_task_is_no_answer() {
    let answer = || {
        let said = json!({"messageId": "a-1", "role": "ROLE_AGENT", "parts": [{"text": "wait"}]});
        let artifact = json!({"artifactId": "a", "parts": [{"data": {"plan": "p"}}]});
        events(&[
            status("TASK_STATE_WORKING"),
            json!({ "message": said }),
            json!({"artifactUpdate": {"taskId": "t-1", "contextId": "c-1", "artifact": artifact}}),
            status("TASK_STATE_COMPLETED"),
        ])
    };
    let (_, outcome) = followed(true, answer).await;
    let outcome = outcome.unwrap();
    assert_eq!(outcome.task_id.as_deref(), Some("t-1"));
    assert_eq!(outcome.result_data, Some(json!({"plan": "p"})));
}

#[tokio::test]
async fn a_message_answers_if_its_task_is_left_at_work() {
    let answer = || {
        let said = json!({"messageId": "a-1", "role": "ROLE_AGENT", "parts": [{"text": "done"}]});
        events(&[status("TASK_STATE_WORKING"), json!({ "message": said })])
    };
    let (begun, outcome) = followed(true, answer).await;
    assert_eq!((begun, outcome.unwrap().text.as_str()), (vec!["t-1".to_owned()], "done"));
}

#[tokio::test]
async fn who_refuses_a_stream_in_its_first_event_is_asked_without_one() {
    static REFUSED: AtomicBool = AtomicBool::new(false);
    let answer = || {
        if REFUSED.swap(true, Ordering::Relaxed) {
            return result(
                &json!({"task": {"id": "t-2", "status": {"state": "TASK_STATE_COMPLETED"}}}),
            );
        }
        let error = json!({"code": -32004, "message": "no streams"});
        let refusal = json!({"jsonrpc": "2.0", "id": 1, "error": error});
        reply(200, "text/event-stream", &format!("data: {refusal}\n\n"))
    };
    let (_, outcome) = followed(true, answer).await;
    assert_eq!(outcome.unwrap().state, State::Completed);
}

#[tokio::test]
async fn an_agent_without_streams_answers_before_it_is_done() {
    let answer = || {
        result(&json!({"task": {
            "id": "t-2", "status": {"state": "TASK_STATE_COMPLETED"}, "artifacts": [],
        }}))
    };
    let (begun, outcome) = followed(false, answer).await;
    assert_eq!(begun, ["t-2"]);
    assert_eq!(outcome.unwrap().state, State::Completed);
}
