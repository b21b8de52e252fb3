//! A caller sees its own tasks only: whatever is asked in whichever way, another's id is answered as one
//! that never was.

use std::sync::Arc;

use axum::{
    Router,
    body::Body,
    http::{Request, StatusCode},
};
use bridge::{
    agent::{Agent, TurnSettings},
    caller::Caller,
    executor::FnExecutor,
    service::{Context, Reply, Service, Settings},
    store::MemoryStore,
    turns::Turns,
};
use bridge_protocol::{
    a2a::{AgentCard, ErrorKind, Operation, SendMessageResponse},
    dialect::Version,
};
use serde_json::{Value, json};
use tower::ServiceExt as _;

use super::{ISSUER, guarded, send, token, tokens};
use crate::app;

/// An id that never was, as long as those that are.
pub(super) const NEVER: &str = "00000000-0000-4000-8000-000000000000";

/// A request for an operation on a task; a row for each binding's form.
pub(super) struct Ask {
    pub(super) what: &'static str,
    method: &'static str,
    path: fn(&str) -> String,
    headers: &'static [(&'static str, &'static str)],
    pub(super) body: fn(&str) -> Value,
}

/// JSON-RPC with these parameters about a task.
macro_rules! rpc {
    ($version:literal, $method:literal, |$id:ident| $params:tt) => {
        Ask {
            what: concat!("JSON-RPC ", $version, " ", $method),
            method: "POST",
            path: |_| "/a2a".to_owned(),
            headers: &[("a2a-version", $version)],
            body: |$id| json!({"jsonrpc": "2.0", "id": 7, "method": $method, "params": $params}),
        }
    };
}

/// HTTP+JSON at this path, which has the task's id, with this body.
macro_rules! rest {
    ($method:literal, $path:literal, |$id:ident| $body:tt) => {
        Ask {
            what: concat!("HTTP+JSON ", $method, " ", $path),
            method: $method,
            path: |id| $path.replace("ID", id),
            headers: &[],
            body: |$id| json!($body),
        }
    };
    ($method:literal, $path:literal) => {
        rest!($method, $path, |_id| {})
    };
}

/// Every operation that names a task, in every version.
pub(super) const ASKS: &[Ask] = &[
    rpc!("1.0", "SendMessage", |id| {"message":
        {"messageId": "x", "role": "ROLE_USER", "taskId": id, "parts": [{"text": "hi"}]}}),
    rpc!("1.0", "SendStreamingMessage", |id| {"message":
        {"messageId": "x", "role": "ROLE_USER", "taskId": id, "parts": [{"text": "hi"}]}}),
    rpc!("1.0", "GetTask", |id| {"id": id}),
    rpc!("1.0", "CancelTask", |id| {"id": id}),
    rpc!("1.0", "SubscribeToTask", |id| {"id": id}),
    rpc!("1.0", "CreateTaskPushNotificationConfig", |id| {"taskId": id, "url": "https://hook.test/"}),
    rpc!("1.0", "GetTaskPushNotificationConfig", |id| {"taskId": id, "id": "c"}),
    rpc!("1.0", "ListTaskPushNotificationConfigs", |id| {"taskId": id}),
    rpc!("1.0", "DeleteTaskPushNotificationConfig", |id| {"taskId": id, "id": "c"}),
    rpc!("0.3", "message/send", |id| {"message": {"kind": "message",
        "messageId": "x", "role": "user", "taskId": id, "parts": [{"kind": "text", "text": "hi"}]}}),
    rpc!("0.3", "message/stream", |id| {"message": {"kind": "message",
        "messageId": "x", "role": "user", "taskId": id, "parts": [{"kind": "text", "text": "hi"}]}}),
    rpc!("0.3", "tasks/get", |id| {"id": id}),
    rpc!("0.3", "tasks/cancel", |id| {"id": id}),
    rpc!("0.3", "tasks/resubscribe", |id| {"id": id}),
    rpc!("0.3", "tasks/pushNotificationConfig/set", |id| {"taskId": id,
        "pushNotificationConfig": {"url": "https://hook.test/"}}),
    rpc!("0.3", "tasks/pushNotificationConfig/get", |id| {"id": id}),
    rpc!("0.3", "tasks/pushNotificationConfig/list", |id| {"id": id}),
    rpc!("0.3", "tasks/pushNotificationConfig/delete", |id| {"id": id,
        "pushNotificationConfigId": "c"}),
    rpc!("0.1", "tasks/get", |id| {"id": id}),
    rpc!("0.1", "tasks/cancel", |id| {"id": id}),
    rest!("POST", "/a2a/message:send", |id| {"message":
        {"messageId": "x", "role": "ROLE_USER", "taskId": id, "parts": [{"text": "hi"}]}}),
    rest!("POST", "/a2a/message:stream", |id| {"message":
        {"messageId": "x", "role": "ROLE_USER", "taskId": id, "parts": [{"text": "hi"}]}}),
    rest!("GET", "/a2a/tasks/ID"),
    rest!("POST", "/a2a/tasks/ID:cancel"),
    rest!("GET", "/a2a/tasks/ID:subscribe"),
    rest!("POST", "/a2a/tasks/ID:subscribe"),
    rest!("POST", "/a2a/tasks/ID/pushNotificationConfigs", |_id| {"url": "https://hook.test/"}),
    rest!("GET", "/a2a/tasks/ID/pushNotificationConfigs"),
    rest!("GET", "/a2a/tasks/ID/pushNotificationConfigs/c"),
    rest!("DELETE", "/a2a/tasks/ID/pushNotificationConfigs/c"),
    rest!("GET", "/a2a/v1/tasks/ID"),
    rest!("POST", "/a2a/v1/tasks/ID:cancel"),
    rest!("GET", "/a2a/v1/tasks/ID:subscribe"),
    rest!("GET", "/a2a/v1/tasks/ID/pushNotificationConfigs"),
    Ask {
        what: "0.1 /tasks/get",
        method: "POST",
        path: |_| "/tasks/get".to_owned(),
        headers: &[],
        body: |id| json!({"jsonrpc": "2.0", "id": 7, "method": "tasks/get", "params": {"id": id}}),
    },
];

pub(super) async fn app() -> Router {
    let schemes = json!({"s": {"httpAuthSecurityScheme": {"scheme": "Bearer"}}});
    let requirements = json!([{"schemes": {"s": {"list": []}}}]);
    guarded(&schemes, &requirements, &[("s", tokens())]).await
}

pub(super) fn bearer(issuer: &str, subject: &str) -> String {
    format!("Bearer {}", token(issuer, subject, &json!({})))
}

/// Returns a task of this caller.
pub(super) async fn task(app: &Router, caller: &str) -> String {
    let headers = [("a2a-version", "1.0"), ("authorization", caller)];
    let answer = send(app, "/a2a", &headers).await;
    let answer: Value = serde_json::from_str(&app::text(answer).await).unwrap();
    answer["result"]["task"]["id"].as_str().unwrap().to_owned()
}

/// Returns the answer, without the id in it.
async fn asked(app: &Router, ask: &Ask, caller: &str, id: &str) -> (StatusCode, String) {
    let mut request = Request::builder()
        .method(ask.method)
        .uri((ask.path)(id))
        .header("content-type", "application/json")
        .header("authorization", caller);
    for (name, value) in ask.headers {
        request = request.header(*name, *value);
    }
    let body = match ask.method {
        "POST" => Body::from((ask.body)(id).to_string()),
        _ => Body::empty(),
    };
    let answer = app.clone().oneshot(app::named(request).body(body).unwrap()).await;
    let answer = answer.unwrap();
    let status = answer.status();
    (status, app::text(answer).await.replace(id, "ID"))
}

#[tokio::test]
async fn anothers_task_is_answered_as_one_that_never_was() {
    let app = app().await;
    let owner = bearer(ISSUER, "me");
    let id = task(&app, &owner).await;
    for other in [bearer(ISSUER, "you"), bearer("https://other.test", "me")] {
        for ask in ASKS {
            let seen = asked(&app, ask, &other, &id).await;
            assert_eq!(seen, asked(&app, ask, &other, NEVER).await, "{}", ask.what);
            assert!(!seen.1.contains("You said"), "{}: {}", ask.what, seen.1);
        }
    }
    let got = ASKS.iter().find(|ask| ask.what.ends_with("GetTask")).unwrap();
    let (_, text) = asked(&app, got, &owner, &id).await;
    assert!(text.contains("You said: hi"), "the owner still has it: {text}");
}

#[tokio::test]
async fn a_task_is_only_seen_under_its_tenant() {
    let agent = Agent {
        name: "echo".into(),
        card: AgentCard::named("Echo", "Says it again."),
        executor: Arc::new(FnExecutor(|text: &str| format!("You said: {text}"))),
        settings: TurnSettings::default(),
    };
    let turns = Turns::new(Arc::new(MemoryStore::new()), [agent]);
    let service = Service::new(turns, Settings::default());
    let ask = async |tenant: Option<&str>, operation, params| {
        let mut context = Context::new("echo", Caller::new("me"));
        context.tenant = tenant.map(str::to_owned);
        let call = Version::V1_0.params_to_v1(operation, params, "").unwrap();
        service.call(&context, call).await
    };
    let said = ask(Some("one"), Operation::SendMessage, app::say("m", "hi")).await;
    let Ok(Reply::Message(SendMessageResponse::Task(task))) = said else {
        panic!("a task is answered");
    };
    let get = || json!({"id": task.id});
    let Ok(Reply::Task(_)) = ask(Some("one"), Operation::GetTask, get()).await else {
        panic!("it is seen under its tenant");
    };
    for other in [None, Some("two")] {
        let error = ask(other, Operation::GetTask, get()).await.err().unwrap();
        assert_eq!(error.kind, ErrorKind::TaskNotFound, "{other:?}");
        let Ok(Reply::Tasks(list)) = ask(other, Operation::ListTasks, json!({})).await else {
            panic!("a list is answered");
        };
        assert!(list.tasks.is_empty(), "{other:?}");
    }
}
