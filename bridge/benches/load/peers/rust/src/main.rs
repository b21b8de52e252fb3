//! The echo of the load program on the official Rust SDK: `load-peer PORT`.

use std::{sync::Arc, time::Duration};

use a2a::{
    A2AError, AgentCapabilities, Artifact, Part, StreamResponse, Task, TaskArtifactUpdateEvent,
    TaskState, TaskStatus, TaskStatusUpdateEvent, new_artifact_id,
};
use a2a_server::{
    AgentExecutor, DefaultRequestHandler, ExecutorContext, InMemoryTaskStore,
    jsonrpc::jsonrpc_router,
};
use axum::serve::ListenerExt as _;
use futures::stream::{self, BoxStream, StreamExt as _};

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

type Event = Result<StreamResponse, A2AError>;

struct Echo;

fn status(state: TaskState) -> TaskStatus {
    TaskStatus {
        state,
        message: None,
        timestamp: Some(chrono::Utc::now()),
    }
}

impl AgentExecutor for Echo {
    fn execute(&self, context: ExecutorContext) -> BoxStream<'static, Event> {
        let (task_id, context_id) = context.task_info();
        let Some(message) = context.message else {
            return stream::empty().boxed();
        };
        let text: String = message
            .parts
            .iter()
            .filter_map(|part| part.as_text())
            .collect();
        async_stream::stream! {
            yield Ok(StreamResponse::Task(Task {
                id: task_id.clone(),
                context_id: context_id.clone(),
                status: status(TaskState::Submitted),
                artifacts: None,
                history: Some(vec![message]),
                metadata: None,
            }));
            if text.starts_with("hold") {
                tokio::time::sleep(Duration::from_secs(3600)).await;
            }
            let artifact = Artifact {
                artifact_id: new_artifact_id(),
                name: Some("echo".into()),
                description: None,
                parts: vec![Part::text(text)],
                metadata: None,
                extensions: None,
            };
            yield Ok(StreamResponse::ArtifactUpdate(TaskArtifactUpdateEvent {
                task_id: task_id.clone(),
                context_id: context_id.clone(),
                artifact,
                append: None,
                last_chunk: Some(true),
                metadata: None,
            }));
            let status = status(TaskState::Completed);
            yield Ok(StreamResponse::StatusUpdate(TaskStatusUpdateEvent { task_id, context_id, status, metadata: None }));
        }
        .boxed()
    }

    fn cancel(&self, _: ExecutorContext) -> BoxStream<'static, Event> {
        stream::empty().boxed()
    }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let port: u16 = std::env::args().nth(1).ok_or("expected a port")?.parse()?;
    let capabilities = AgentCapabilities {
        streaming: Some(true),
        push_notifications: None,
        extensions: None,
        extended_agent_card: None,
    };
    let handler =
        DefaultRequestHandler::new(Echo, InMemoryTaskStore::new()).with_capabilities(capabilities);
    let listener = tokio::net::TcpListener::bind(("127.0.0.1", port)).await?;
    let listener = listener.tap_io(|connection| {
        let _ = connection.set_nodelay(true);
    });
    axum::serve(listener, jsonrpc_router(Arc::new(handler))).await?;
    Ok(())
}
