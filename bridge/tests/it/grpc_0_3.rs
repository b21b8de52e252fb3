//! Tests gRPC of 0.3 from a client's view, without a socket.

use std::sync::LazyLock;

use axum::Router;
use bridge::host::{Grpc, GrpcAddress};
use bridge_protocol::{
    a2a::{
        CancelTaskRequest, GetTaskRequest, Message, Operation, Part, Role, SendMessageRequest,
        SubscribeToTaskRequest,
    },
    dialect::{Call, Losses, Version},
    protobuf::{Messages, path},
    wire::Wire,
};
use serde_json::{Value, json};

use crate::{
    app::{get, text},
    grpc::{Answered, app, decoded, hello, listed, post_to},
};

static MESSAGES: LazyLock<Messages> = LazyLock::new(Messages::new);

pub(crate) async fn call(app: &Router, metadata: &[(&str, &str)], call: &Call) -> Answered {
    let message = MESSAGES.write_call(call, &mut Losses::new());
    let path = path(Version::V0_3, call.operation()).unwrap();
    post_to(app, metadata, &path, &message).await
}

fn items(operation: Operation, answered: &Answered) -> Vec<Value> {
    assert_eq!(answered.code, 0, "{}", answered.error);
    let messages = answered.messages.iter();
    let read = messages.map(|message| MESSAGES.read_answer(operation, message).unwrap());
    read.collect()
}

/// Makes a call and returns its answer in ProtoJSON.
async fn ask(app: &Router, asked: &Call) -> Value {
    let answered = call(app, &[], asked).await;
    let mut items = items(asked.operation(), &answered);
    assert_eq!(items.len(), 1);
    items.remove(0)
}

async fn task(app: &Router) -> Value {
    ask(app, &Call::SendMessage(hello("m-1", None))).await["task"].take()
}

fn id(task: &Value) -> &str {
    task["id"].as_str().unwrap()
}

fn read<T: Wire>(value: Value) -> T {
    T::read(value).unwrap()
}

#[tokio::test]
async fn a_task_is_the_same_as_over_http_json() {
    let app = app(&["echo"], Grpc::Here).await;
    let sent = task(&app).await;
    assert_eq!(sent["status"]["state"], "TASK_STATE_COMPLETED");
    assert_eq!(sent["history"][0]["content"][0]["text"], "hi");
    let got = ask(&app, &Call::GetTask(GetTaskRequest::new(id(&sent)))).await;
    assert_eq!(got, sent);
    let over_http = text(get(&app, &format!("/a2a/v1/tasks/{}", id(&sent)), None).await).await;
    let mut over_http: Value = serde_json::from_str(&over_http).unwrap();
    // Whatever is empty is absent from the one, and a list in the other.
    for artifact in over_http["artifacts"].as_array_mut().unwrap() {
        let artifact = artifact.as_object_mut().unwrap();
        artifact.retain(|_, value| *value != json!(""));
    }
    assert_eq!(over_http, sent);
}

#[tokio::test]
async fn a_stream_shows_the_task_and_what_follows() {
    let app = app(&["echo"], Grpc::Here).await;
    let request = Call::SendStreamingMessage(hello("m-1", None));
    let streamed = call(&app, &[], &request).await;
    let items = items(Operation::SendStreamingMessage, &streamed);
    let kinds: Vec<_> = items.iter().map(|item| item.as_object().unwrap()).collect();
    let kinds: Vec<_> = kinds.iter().flat_map(|item| item.keys()).collect();
    assert_eq!(kinds, ["task", "artifactUpdate", "statusUpdate"]);
    let last = &items[2]["statusUpdate"];
    assert_eq!(
        (&last["status"]["state"], &last["final"]),
        (&json!("TASK_STATE_COMPLETED"), &json!(true))
    );
    let id = id(&items[0]["task"]);
    let metadata = [("last-event-id", &*format!("{id}/1"))];
    let again = Call::SubscribeToTask(SubscribeToTaskRequest::new(id));
    let again = call(&app, &metadata, &again).await;
    let ends = self::items(Operation::SubscribeToTask, &again);
    assert_eq!(ends.last(), items.last());
}

#[tokio::test]
async fn errors_have_the_names_and_the_codes_of_0_3() {
    let app = app(&["echo"], Grpc::Here).await;
    let ended = task(&app).await;
    let ended = id(&ended);
    let mut more = SendMessageRequest::new(Message::new("m-2", Role::User, vec![Part::text("?")]));
    more.message.task_id = Some(ended.into());
    for (metadata, asked, code, kind, message) in [
        (
            None,
            Call::GetTask(GetTaskRequest::new("t-1")),
            5,
            -32001,
            "TaskNotFoundError: task t-1 not found",
        ),
        (
            Some(("a2a-version", "0.3")),
            Call::CancelTask(CancelTaskRequest::new(ended)),
            9,
            -32002,
            "TaskNotCancelableError: ",
        ),
        (None, Call::SendMessage(more), 12, -32004, "UnsupportedOperationError: "),
        (
            None,
            Call::SendMessage(SendMessageRequest::new(Message::new("m", Role::User, vec![]))),
            3,
            -32602,
            "InvalidParamsError: message.",
        ),
        (
            Some(("a2a-version", "1.0")),
            Call::GetTask(GetTaskRequest::new(ended)),
            9,
            -32009,
            "/a2a.v1.A2AService/GetTask is a method of A2A 0.3, and the request is one of 1.0: send the metadata \
             a2a-version: 0.3, or call the service of 1.0",
        ),
    ] {
        let refused = call(&app, metadata.as_slice(), &asked).await;
        let told = refused.status["grpc-message"].to_str().unwrap();
        assert!(decoded(told).starts_with(message), "{told}");
        assert_eq!((refused.code, refused.error.code), (code, kind), "{told}");
    }
    let unnamed = post_to(&app, &[], "/a2a.v1.A2AService/GetTask", b"").await;
    assert_eq!(unnamed.error.fields(), ["name"]);
    let broken = post_to(&app, &[], "/a2a.v1.A2AService/GetTask", b"\xff").await;
    assert_eq!((broken.code, broken.error.code), (3, -32700));
    let unknown = post_to(&app, &[], "/a2a.v1.A2AService/ListTasks", b"").await;
    assert_eq!(unknown.code, 12);
}

#[tokio::test]
async fn what_takes_too_much_memory_is_refused() {
    let app = app(&["echo"], Grpc::Here).await;
    let data = Value::from(vec![json!({"": 0}); 100_000]);
    let message = Message::new("m", Role::User, vec![Part::data(data)]);
    let asked = Call::SendMessage(SendMessageRequest::new(message));
    let refused = call(&app, &[], &asked).await;
    assert_eq!((refused.code, refused.error.code), (3, -32600));
}

#[tokio::test]
async fn requests_of_0_3_reach_the_first_agent() {
    let app = app(&["first", "second"], Grpc::Here).await;
    let sent = task(&app).await;
    for (agent, expected) in [("first", 200), ("second", 404)] {
        let path = format!("/a2a/{agent}/v1/tasks/{}", id(&sent));
        assert_eq!(get(&app, &path, None).await.status(), expected);
    }
}

#[tokio::test]
async fn settings_are_made_got_listed_and_deleted() {
    let app = app(&["echo"], Grpc::Here).await;
    let task = task(&app).await;
    let of = |more: Value| {
        let mut value = json!({"taskId": id(&task)});
        value.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        value
    };
    let setting = of(json!({"url": "https://hook.example/", "token": "t",
        "authentication": {"scheme": "Bearer", "credentials": "s"}}));
    let made = Call::CreateTaskPushNotificationConfig(read(setting));
    let made = ask(&app, &made).await;
    let config = &made["pushNotificationConfig"];
    assert_eq!(made["name"], format!("tasks/{0}/pushNotificationConfigs/{0}", id(&task)));
    assert_eq!(config["authentication"], json!({"schemes": ["Bearer"], "credentials": "s"}));
    // The SDK for Python writes None where it has no id.
    for setting in ["", "None", id(&task)] {
        let named = Call::GetTaskPushNotificationConfig(read(of(json!({"id": setting}))));
        assert_eq!(ask(&app, &named).await, made, "{setting}");
    }
    let all = Call::ListTaskPushNotificationConfigs(read(of(json!({}))));
    assert_eq!(ask(&app, &all).await, json!({"configs": [made]}));
    let gone = Call::DeleteTaskPushNotificationConfig(read(of(json!({"id": id(&task)}))));
    assert_eq!(call(&app, &[], &gone).await.messages, [""]);
    assert_eq!(ask(&app, &all).await, json!({"configs": []}));
}

#[tokio::test]
async fn a_card_is_got_without_http() {
    let app = app(&["echo"], listed(None, GrpcAddress::HostPort)).await;
    let card = ask(&app, &Call::GetExtendedAgentCard(read(json!({})))).await;
    assert_eq!((&card["name"], &card["protocolVersion"]), (&json!("Echo"), &json!("0.3.0")));
    let grpc = json!({"url": "localhost:3978", "transport": "GRPC"});
    let others = card["additionalInterfaces"].as_array().unwrap();
    assert!(others.contains(&grpc), "{card}");
}
