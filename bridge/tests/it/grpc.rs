//! Tests gRPC from a client's view, without a socket.

use std::sync::Arc;

use axum::{
    Router,
    body::{Body, Bytes},
    http::{HeaderMap, Request, StatusCode, Version},
};
use bridge::{
    host::{Grpc, GrpcAddress, Host},
    store::MemoryStore,
};
use bridge_protocol::{
    a2a::{
        GetTaskRequest, Message, Part, Role, SendMessageRequest, SendMessageResponse,
        StreamResponse, SubscribeToTaskRequest, Task, TaskState,
    },
    dialect::Call,
    jsonrpc::RpcError,
    protobuf::{self, Proto, SERVICE, v1},
};
use serde_json::Value;
use tower::ServiceExt as _;

use crate::app::{agent, get, rpc, say, text};

/// The answer to a request: messages, then a status.
pub(crate) struct Answered {
    pub(crate) messages: Vec<Bytes>,
    pub(crate) code: i32,
    pub(crate) error: RpcError,
    /// The status as it came, with all that came beside it.
    pub(crate) status: HeaderMap,
}

impl Answered {
    pub(crate) fn one<P: prost::Message + Default, T: Proto<P>>(&self) -> T {
        assert_eq!((self.code, self.messages.len()), (0, 1), "{}", self.error);
        protobuf::read::<P, T>(&self.messages[0]).unwrap()
    }

    pub(crate) fn items(&self) -> Vec<StreamResponse> {
        let read = |message: &Bytes| protobuf::read::<v1::StreamResponse, _>(message).unwrap();
        self.messages.iter().map(read).collect()
    }
}

pub(crate) async fn app(names: &[&str], grpc: Grpc) -> Router {
    let host = Host::new(Arc::new(MemoryStore::new()), names.iter().map(|name| agent(name)));
    host.grpc(grpc).router("http://localhost:3978").await.unwrap()
}

pub(crate) async fn call(app: &Router, metadata: &[(&str, &str)], call: &Call) -> Answered {
    let message = protobuf::write_call(call);
    post(app, metadata, call.operation().name(), &message).await
}

async fn post(app: &Router, metadata: &[(&str, &str)], method: &str, message: &[u8]) -> Answered {
    let is_named = metadata.iter().any(|(name, _)| *name == "a2a-version");
    let version = [("a2a-version", "1.0")].into_iter().filter(|_| !is_named);
    let metadata: Vec<_> = metadata.iter().copied().chain(version).collect();
    post_to(app, &metadata, &format!("/{SERVICE}/{method}"), message).await
}

pub(crate) async fn post_to(
    app: &Router,
    metadata: &[(&str, &str)],
    path: &str,
    message: &[u8],
) -> Answered {
    let length = u32::try_from(message.len()).unwrap().to_be_bytes();
    let frame = [&[0], length.as_slice(), message].concat();
    let mut request = Request::post(path)
        .version(Version::HTTP_2)
        .header("content-type", "application/grpc")
        .header("te", "trailers");
    for (name, value) in metadata {
        request = request.header(*name, *value);
    }
    let request = request.body(Body::from(frame)).unwrap();
    let response = app.clone().oneshot(request).await.unwrap();
    assert_eq!(response.status(), StatusCode::OK);
    assert_eq!(response.headers()["content-type"], "application/grpc");
    read(response.headers().clone(), response.into_body()).await
}

/// Reads an answer. A refusal has its status among the headers, any other answer after its messages.
async fn read(mut status: HeaderMap, body: Body) -> Answered {
    use http_body_util::BodyExt as _;
    let whole = body.collect().await.unwrap();
    status.extend(whole.trailers().cloned().unwrap_or_default());
    let mut bytes = whole.to_bytes();
    let mut messages = Vec::new();
    while !bytes.is_empty() {
        let frame = bytes.split_to(5);
        let length = u32::from_be_bytes(frame[1..].try_into().unwrap());
        messages.push(bytes.split_to(length as usize));
    }
    let of = |name: &str| status.get(name).map_or("", |value| value.to_str().unwrap());
    let code = of("grpc-status").parse().unwrap();
    let details = base64(of("grpc-status-details-bin"));
    let error = protobuf::status::error(code, of("grpc-message"), &details);
    Answered { messages, code, error, status }
}

pub(crate) fn base64(text: &str) -> Vec<u8> {
    use base64::Engine as _;
    base64::prelude::BASE64_STANDARD_NO_PAD.decode(text).unwrap()
}

pub(crate) fn hello(id: &str, tenant: Option<&str>) -> SendMessageRequest {
    SendMessageRequest {
        tenant: tenant.map(str::to_owned),
        ..SendMessageRequest::new(Message::new(id, Role::User, vec![Part::text("hi")]))
    }
}

async fn task(app: &Router, tenant: Option<&str>) -> Task {
    let sent = call(app, &[], &Call::SendMessage(hello("m-1", tenant))).await;
    match sent.one::<v1::SendMessageResponse, SendMessageResponse>() {
        SendMessageResponse::Task(task) => task,
        SendMessageResponse::Message(message) => panic!("{message:?} is no task"),
    }
}

#[tokio::test]
async fn a_task_is_the_same_over_every_binding() {
    let app = app(&["echo"], Grpc::Here).await;
    let sent = task(&app, None).await;
    assert_eq!(sent.status.state, TaskState::Completed);
    let got = call(&app, &[], &Call::GetTask(GetTaskRequest::new(&sent.id))).await;
    assert_eq!(got.one::<v1::Task, Task>(), sent);

    let params = serde_json::json!({"id": sent.id});
    let over_json = rpc(&app, Some("1.0"), "GetTask", params).await;
    assert_eq!(over_json["result"], serde_json::to_value(&sent).unwrap());
}

#[tokio::test]
async fn a_stream_shows_the_task_and_what_follows() {
    let app = app(&["echo"], Grpc::Here).await;
    let request = Call::SendStreamingMessage(hello("m-1", None));
    let streamed = call(&app, &[("a2a-version", "1.0")], &request).await;
    assert_eq!(streamed.code, 0);
    let items = streamed.items();
    let [
        StreamResponse::Task(task),
        StreamResponse::ArtifactUpdate(answer),
        StreamResponse::StatusUpdate(update),
    ] = items.as_slice()
    else {
        panic!("{items:?}");
    };
    assert_eq!(task.status.state, TaskState::Working);
    assert_eq!(answer.artifact.parts, [Part::text("You said: hi")]);
    assert_eq!(update.status.state, TaskState::Completed);

    let id = task.id.as_str();
    let refused = call(&app, &[], &Call::SubscribeToTask(SubscribeToTaskRequest::new(id))).await;
    assert_eq!((refused.code, refused.error.code), (9, -32004));
    let last = format!("{id}/1");
    let metadata = [("last-event-id", last.as_str())];
    let again =
        call(&app, &metadata, &Call::SubscribeToTask(SubscribeToTaskRequest::new(id))).await;
    let ends = again.items();
    assert_eq!(ends.last(), items.last(), "{ends:?}");
}

#[tokio::test]
async fn the_service_tells_the_version_of_a_call_that_names_none() {
    let app = app(&["echo"], Grpc::Here).await;
    let answered = call(&app, &[("a2a-version", "")], &Call::SendMessage(hello("m-1", None))).await;
    assert_eq!(answered.code, 0);
}

#[tokio::test]
async fn errors_say_what_is_wrong() {
    let app = app(&["echo"], Grpc::Here).await;
    let missing = call(&app, &[], &Call::GetTask(GetTaskRequest::new("t-1"))).await;
    assert_eq!((missing.code, missing.error.code), (5, -32001));
    for (metadata, request, code, kind, message) in [
        (
            vec![("a2a-version", "0.3")],
            hello("m-1", None),
            9,
            -32009,
            "/lf.a2a.v1.A2AService/SendMessage is a method of A2A 1.0, and the request is one of 0.3: send the metadata \
             a2a-version: 1.0, or call the service of 0.3",
        ),
        (vec![("a2a-version", "9")], hello("m-1", None), 9, -32009, "A2A 9 is not supported"),
        (vec![("last-event-id", "7")], hello("m-1", None), 3, -32602, "Last-Event-ID: expected"),
        (
            Vec::new(),
            hello("", None),
            3,
            -32602,
            "message.messageId: expected an id, found an empty string",
        ),
        (
            Vec::new(),
            hello(&"m".repeat(5_000), None),
            3,
            -32602,
            "message.messageId: expected at most 4096 bytes, found 5000 bytes",
        ),
        (
            Vec::new(),
            SendMessageRequest::new(Message::new("m-1", Role::User, Vec::new())),
            3,
            -32602,
            "message.parts: expected at least one part",
        ),
    ] {
        let refused = call(&app, &metadata, &Call::SendMessage(request)).await;
        assert_eq!((refused.code, refused.error.code), (code, kind), "{}", refused.error);
        assert!(decoded(&refused.error.message).starts_with(message), "{}", refused.error);
    }
    let refused = post(&app, &[], "GetTask", b"").await;
    assert_eq!(refused.error.fields(), ["id"]);
    let refused = post(&app, &[], "GetTask", b"\xff").await;
    assert_eq!((refused.code, refused.error.code), (3, -32700));
    assert_eq!(post(&app, &[], "GetNothing", b"").await.code, 12);
}

/// Messages are percent-encoded on the wire.
pub(crate) fn decoded(message: &str) -> String {
    message.replace("%20", " ")
}

#[tokio::test]
async fn the_tenant_says_which_agent_is_meant() {
    let app = app(&["first", "second"], Grpc::Here).await;
    let first = task(&app, None).await;
    let second = task(&app, Some("second")).await;
    let of = |tenant: Option<&str>, id: &str| {
        Call::GetTask(GetTaskRequest {
            tenant: tenant.map(str::to_owned),
            ..GetTaskRequest::new(id)
        })
    };
    for (tenant, id, code) in [
        (None, &first.id, 0),
        (Some("first"), &first.id, 0),
        (Some("second"), &first.id, 5),
        (Some("second"), &second.id, 0),
        (None, &second.id, 5),
    ] {
        let answered = call(&app, &[], &of(tenant, id)).await;
        assert_eq!(answered.code, code, "{tenant:?}");
    }
}

#[tokio::test]
async fn the_client_s_deadline_ends_the_call_and_not_the_task() {
    let store = Arc::new(MemoryStore::new());
    let agent = bridge::bot::builtin_agent("hanging", store.clone()).unwrap();
    let app = Host::new(store, [agent]).router("http://localhost:3978").await.unwrap();
    let metadata = [("grpc-timeout", "300m")];
    let late = call(&app, &metadata, &Call::SendMessage(hello("m-1", None))).await;
    assert_eq!(late.code, 4, "{}", late.error);
    let request = Call::SendStreamingMessage(hello("m-1", None));
    let late = call(&app, &metadata, &request).await;
    assert_eq!(late.code, 4, "{}", late.error);
    let items = late.items();
    let Some(StreamResponse::Task(task)) = items.first() else {
        panic!("{items:?}");
    };
    let got = call(&app, &[], &Call::GetTask(GetTaskRequest::new(&task.id))).await;
    assert_eq!(got.one::<v1::Task, Task>().status.state, TaskState::Working);
}

/// As the page "Extending" says; gRPC has no paths.
#[tokio::test]
async fn a_nested_app_speaks_grpc_at_its_root() {
    let agents = app(&["echo"], Grpc::Here).await;
    let nested = Router::new().nest("/agents", agents.clone()).fallback_service(agents);
    let sent = task(&nested, None).await;
    assert_eq!(sent.status.state, TaskState::Completed);
    let card = get(&nested, "/agents/.well-known/agent-card.json", None).await;
    assert_eq!(card.status(), StatusCode::OK);
}

pub(crate) fn listed(address: Option<&str>, form: GrpcAddress) -> Grpc {
    Grpc::Listed { address: address.map(str::to_owned), form }
}

#[tokio::test]
async fn cards_say_where_grpc_is_spoken() {
    for (grpc, expected) in [
        (Grpc::Here, None),
        (listed(None, GrpcAddress::HostPort), Some("localhost:3978")),
        (listed(None, GrpcAddress::Url), Some("http://localhost:3978")),
        (listed(Some("grpc.example:443"), GrpcAddress::HostPort), Some("grpc.example:443")),
        (Grpc::Nowhere, None),
    ] {
        let app = app(&["first", "second"], grpc).await;
        for (path, tenant) in [("", None), ("/a2a/second", Some("second"))] {
            let path = format!("{path}/.well-known/agent-card.json");
            let card = text(get(&app, &path, Some(("a2a-version", "1.0"))).await).await;
            let card: Value = serde_json::from_str(&card).unwrap();
            let interfaces = card["supportedInterfaces"].as_array().unwrap();
            let found = interfaces.iter().filter(|one| one["protocolBinding"] == "GRPC");
            let found: Vec<_> =
                found.map(|one| [&one["protocolVersion"], &one["url"], &one["tenant"]]).collect();
            let of = |version: &str| [version.into(), expected.into(), tenant.into()];
            let all = match (expected, tenant) {
                (None, _) => Vec::new(),
                // 0.3 has no tenants, so it reaches the first agent alone.
                (Some(_), Some(_)) => vec![of("1.0")],
                (Some(_), None) => vec![of("1.0"), of("0.3")],
            };
            let all: Vec<_> = all.iter().map(<[Value; 3]>::each_ref).collect();
            assert_eq!(found, all);
        }
    }
}

#[tokio::test]
async fn requests_that_are_not_grpc_get_an_explanation() {
    let app = app(&["echo"], Grpc::Here).await;
    let path = format!("/{SERVICE}/SendMessage");
    let response = crate::app::post(&app, &path, &[], &say("m-1", "hi")).await;
    assert_eq!(response.status(), StatusCode::UNSUPPORTED_MEDIA_TYPE);
    assert!(text(response).await.contains("expected the content type application/grpc"));
}

/// nginx with `proxy_pass` sends HTTP/1.1, which loses the status behind the answer.
#[tokio::test]
async fn grpc_over_http_1_is_refused_before_it_is_executed() {
    let app = app(&["echo"], Grpc::Here).await;
    let request = |content_type: &str| {
        Request::post(format!("/{SERVICE}/SendMessage"))
            .header("content-type", content_type)
            .header("a2a-version", "1.0")
            .body(Body::from(vec![0; 5]))
            .unwrap()
    };
    let refused = app.clone().oneshot(request("application/grpc")).await.unwrap();
    assert_eq!(refused.status(), StatusCode::OK);
    assert_eq!(refused.headers()["grpc-status"], "12");
    let message = refused.headers()["grpc-message"].to_str().unwrap();
    assert!(message.contains("grpc_pass"), "{message}");
    // A browser's protocol has its status in the body.
    let web = app.oneshot(request("application/grpc-web+proto")).await.unwrap();
    assert_eq!(web.status(), StatusCode::UNSUPPORTED_MEDIA_TYPE);
}
