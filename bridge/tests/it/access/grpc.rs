//! Tests callers over gRPC, with their credentials as metadata: another caller's task does not exist, and refused
//! callers get the same errors as with the other bindings.

use std::collections::BTreeSet;

use axum::Router;
use bridge_protocol::{
    a2a::{GetTaskRequest, Operation},
    dialect::{Call, Version},
};
use serde_json::{Value, json};

use super::{
    ISSUER,
    callers::{ASKS, NEVER, app, bearer, task},
    guarded, token, tokens,
    ways::ApiCall,
};
use crate::{
    grpc::{base64, call, decoded},
    grpc_0_3,
};

/// Returns the operations in the table of JSON-RPC for 1.0, whose parameters are gRPC's messages: an operation, and its
/// expected result for a task.
fn asks() -> impl Iterator<Item = (Operation, fn(&str) -> Value)> {
    ASKS.iter().filter_map(|ask| {
        let method = ask.what.strip_prefix("JSON-RPC 1.0 ")?;
        Some((Operation::from_name(method).unwrap(), ask.body))
    })
}

fn about(operation: Operation, body: fn(&str) -> Value, id: &str) -> Call {
    let params = body(id)["params"].clone();
    Version::V1_0.params_to_v1(operation, params, "").unwrap()
}

/// Returns the whole answer with the id out of it: what comes before the messages and behind them, the details as the
/// bytes that they are, and the messages.
async fn answered(
    version: Version,
    app: &Router,
    caller: &str,
    asked: &Call,
    id: &str,
) -> Vec<(String, Vec<u8>)> {
    let caller = [("authorization", caller)];
    let answered = match version {
        Version::V1_0 => call(app, &caller, asked).await,
        Version::V0_1 | Version::V0_3 => grpc_0_3::call(app, &caller, asked).await,
    };
    let headers = answered.status.iter().map(|(name, value)| {
        let value = match name.as_str() {
            "grpc-status-details-bin" => base64(value.to_str().unwrap()),
            _ => value.as_bytes().to_vec(),
        };
        (name.to_string(), value)
    });
    let messages = answered.messages.iter();
    let messages = messages.map(|message| ("message".to_owned(), message.to_vec()));
    let all = headers.chain(messages);
    // Both ids are equally long, so that lengths within the bytes do not change.
    all.map(|(name, value)| (name, without(&value, id.as_bytes()))).collect()
}

fn without(bytes: &[u8], id: &[u8]) -> Vec<u8> {
    let mut bytes = bytes.to_vec();
    while let Some(at) = bytes.windows(id.len()).position(|part| part == id) {
        bytes[at..at + id.len()].fill(b'*');
    }
    bytes
}

#[test]
fn every_operation_that_names_a_task_is_asked() {
    let asked: BTreeSet<&str> = asks().map(|(operation, _)| operation.name()).collect();
    let others = [Operation::ListTasks, Operation::GetExtendedAgentCard];
    let all = Operation::ALL.into_iter().filter(|one| !others.contains(one));
    assert_eq!(asked, all.map(Operation::name).collect());
}

#[tokio::test]
async fn anothers_task_is_answered_as_one_that_never_was() {
    let app = app().await;
    let owner = bearer(ISSUER, "me");
    let id = task(&app, &owner).await;
    for other in [bearer(ISSUER, "you"), bearer("https://other.test", "me")] {
        let versions = [Version::V1_0, Version::V0_3].into_iter();
        for (version, (operation, body)) in
            versions.flat_map(|one| asks().map(move |ask| (one, ask)))
        {
            let (seen, never) = (about(operation, body, &id), about(operation, body, NEVER));
            let seen = answered(version, &app, &other, &seen, &id).await;
            let never = answered(version, &app, &other, &never, NEVER).await;
            assert_eq!(seen, never, "{operation} {version}");
            let status = ("grpc-status".to_owned(), b"5".to_vec());
            assert!(seen.contains(&status), "{operation} {version}: {seen:?}");
        }
    }
    let get = ApiCall::Grpc(Operation::GetTask, json!({"id": id}));
    let own = get.ask(&app, &[("authorization", &owner)]).await;
    assert_eq!(own.status, 200, "the owner still has it: {own:?}");
}

#[tokio::test]
async fn refusals_are_those_of_the_other_bindings() {
    let schemes = json!({"s": {"httpAuthSecurityScheme": {"scheme": "Bearer"}}});
    let needed = json!([{"schemes": {"s": {"list": ["ask", "tell"]}}}]);
    let app = guarded(&schemes, &needed, &[("s", tokens())]).await;
    let poor = format!("Bearer {}", token(ISSUER, "me", &json!({"scope": "ask"})));
    for (shown, code) in [(None, 16), (Some("Bearer e30.e30.e30"), 16), (Some(poor.as_str()), 7)] {
        let shown: Vec<_> = shown.map(|shown| ("authorization", shown)).into_iter().collect();
        let over_grpc = ApiCall::Grpc(Operation::ListTasks, json!({})).ask(&app, &shown).await;
        let over_http = ApiCall::Get("/a2a/tasks".to_owned()).ask(&app, &shown).await;
        assert_eq!(over_grpc.status, over_http.status);
        assert_eq!(over_grpc.challenges, over_http.challenges);
        let (status, error) = (over_grpc.json(), &over_http.json()["error"]);
        assert_eq!(status["code"], code);
        assert_eq!(status["message"], error["message"]);
        assert_eq!(status["details"], error["details"]);
        let older = Call::GetTask(GetTaskRequest::new("t"));
        let older = grpc_0_3::call(&app, &shown, &older).await;
        assert_eq!(older.code, code);
        assert_eq!(decoded(&older.error.message), error["message"]);
    }
}
