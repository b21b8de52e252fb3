//! An agent on the official Rust SDK (crate `a2a-server-lf`): A2A 1.0 over JSON-RPC at `/rpc`, over
//! HTTP+JSON below `/rest` and over gRPC at the same port.

use std::sync::Arc;

use a2a::{
    A2AError, AgentCard, Artifact, Message, Part, Role, StreamResponse, Task,
    TaskArtifactUpdateEvent, TaskState, TaskStatus, TaskStatusUpdateEvent,
};
use a2a_grpc::GrpcHandler;
use a2a_pb::proto::a2a_service_server::A2aServiceServer;
use a2a_server::{
    AgentExecutor, DefaultRequestHandler, ExecutorContext, InMemoryPushConfigStore,
    InMemoryTaskStore, StaticAgentCard, agent_card::agent_card_router, jsonrpc::jsonrpc_router,
    rest::rest_router,
};
use futures::{StreamExt as _, stream, stream::BoxStream};
use serde_json::json;

type Event = Result<StreamResponse, A2AError>;

struct Agent;

impl AgentExecutor for Agent {
    fn execute(&self, context: ExecutorContext) -> BoxStream<'static, Event> {
        let message = context.message.clone().unwrap();
        let text: String = message.parts.iter().filter_map(Part::as_text).collect();
        let begun = context
            .stored_task
            .is_none()
            .then(|| begin(&context, message));
        let mut events: Vec<_> = begun.into_iter().collect();
        events.push(status(&context, TaskState::Working, "thinking"));
        match text.as_str() {
            "ask" => events.push(status(&context, TaskState::InputRequired, "what?")),
            "wait" => {
                return stream::iter(events)
                    .map(Ok)
                    .chain(stream::pending())
                    .boxed();
            }
            text => {
                events.push(piece(&context, "You said: ", false));
                events.push(piece(&context, text, true));
                events.push(status(&context, TaskState::Completed, "done"));
            }
        }
        stream::iter(events).map(Ok).boxed()
    }

    fn cancel(&self, context: ExecutorContext) -> BoxStream<'static, Event> {
        let event = status(&context, TaskState::Canceled, "stopped");
        stream::iter([Ok(event)]).boxed()
    }
}

fn begin(context: &ExecutorContext, message: Message) -> StreamResponse {
    let (id, context_id) = context.task_info();
    StreamResponse::Task(Task {
        id,
        context_id,
        status: TaskStatus {
            state: TaskState::Submitted,
            message: None,
            timestamp: None,
        },
        artifacts: None,
        history: Some(vec![message]),
        metadata: None,
    })
}

fn status(context: &ExecutorContext, state: TaskState, text: &str) -> StreamResponse {
    let (task_id, context_id) = context.task_info();
    StreamResponse::StatusUpdate(TaskStatusUpdateEvent {
        task_id,
        context_id,
        status: TaskStatus {
            state,
            message: Some(Message::new(Role::Agent, vec![Part::text(text)])),
            timestamp: None,
        },
        metadata: None,
    })
}

fn piece(context: &ExecutorContext, text: &str, append: bool) -> StreamResponse {
    let (task_id, context_id) = context.task_info();
    StreamResponse::ArtifactUpdate(TaskArtifactUpdateEvent {
        task_id,
        context_id,
        artifact: Artifact {
            artifact_id: "answer".into(),
            name: Some("Answer".into()),
            description: None,
            parts: vec![Part::text(text)],
            metadata: None,
            extensions: None,
        },
        append: Some(append),
        last_chunk: Some(append),
        metadata: None,
    })
}

#[tokio::main(flavor = "current_thread")]
async fn main() {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let host = listener.local_addr().unwrap().to_string();
    let card = card(&host);
    let handler = DefaultRequestHandler::new(Agent, InMemoryTaskStore::new());
    let handler = handler
        .with_capabilities(card.capabilities.clone())
        .with_push_config_store(InMemoryPushConfigStore::new())
        .with_extended_agent_card(card.clone());
    let handler = Arc::new(handler);
    let grpc = A2aServiceServer::new(GrpcHandler::new(handler.clone()));
    let app = axum::Router::new()
        .nest("/rpc", jsonrpc_router(handler.clone()))
        .nest("/rest", rest_router(handler))
        .route_service("/lf.a2a.v1.A2AService/{method}", grpc)
        .merge(agent_card_router(Arc::new(StaticAgentCard::new(card))));
    eprintln!("listening on http://{host}");
    axum::serve(listener, app).await.unwrap();
}

fn card(host: &str) -> AgentCard {
    let at =
        |url, binding| json!({"url": url, "protocolBinding": binding, "protocolVersion": "1.0"});
    serde_json::from_value(json!({
        "name": "a2a-server-lf 0.5.3", "description": "answers", "version": "1",
        "supportedInterfaces": [
            at(format!("http://{host}/rpc"), "JSONRPC"),
            at(format!("http://{host}/rest"), "HTTP+JSON"),
            at(host.to_owned(), "GRPC"),
        ],
        "capabilities": {"streaming": true, "pushNotifications": true, "extendedAgentCard": true},
        "skills": [], "defaultInputModes": ["text/plain"], "defaultOutputModes": ["text/plain"],
    }))
    .unwrap()
}
