//! A server that only speaks HTTP+SSE of MCP 2024-11-05, and requires a token.

use std::{convert::Infallible, sync::Arc};

use axum::{
    Json, Router,
    extract::{Request, State},
    http::{HeaderMap, StatusCode, header},
    middleware::{self, Next},
    response::{
        IntoResponse as _, Response,
        sse::{Event, Sse},
    },
    routing::{get, post},
};
use futures_util::{Stream, StreamExt as _, stream};
use serde_json::{Value, json};
use tokio::{
    net::TcpListener,
    sync::{Mutex, mpsc},
};

use super::troubled_http::TOKEN;

type Answers = mpsc::UnboundedSender<Value>;

/// The channel for the answers of the last stream.
type Streams = Arc<Mutex<Option<Answers>>>;

pub(super) struct OldHttp(String);

impl OldHttp {
    pub(super) async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let app = Router::new()
            .route("/sse", get(events))
            .route("/messages", post(message))
            .layer(middleware::from_fn(guard))
            .with_state(Streams::default());
        tokio::spawn(async move { axum::serve(listener, app).await });
        Self(format!("http://{address}/sse"))
    }

    pub(super) fn url(&self) -> &str {
        &self.0
    }
}

async fn guard(headers: HeaderMap, request: Request, next: Next) -> Response {
    let expected = format!("Bearer {TOKEN}");
    match headers.get(header::AUTHORIZATION) {
        Some(value) if value == expected.as_str() => next.run(request).await,
        _ => StatusCode::UNAUTHORIZED.into_response(),
    }
}

async fn events(
    State(streams): State<Streams>,
) -> Sse<impl Stream<Item = Result<Event, Infallible>>> {
    let (answers, received) = mpsc::unbounded_channel();
    *streams.lock().await = Some(answers);
    let endpoint = Event::default().event("endpoint").data("/messages?session=1");
    let answers = stream::unfold(received, |mut received| async {
        let answer: Value = received.recv().await?;
        Some((Event::default().event("message").data(answer.to_string()), received))
    });
    Sse::new(stream::once(async { endpoint }).chain(answers).map(Ok))
}

async fn message(State(streams): State<Streams>, Json(message): Json<Value>) -> StatusCode {
    let result = match message["method"].as_str().unwrap() {
        "initialize" => json!({
            "protocolVersion": "2024-11-05",
            "capabilities": {"tools": {}},
            "serverInfo": {"name": "old", "version": "1"}
        }),
        "tools/list" => json!({"tools": [{"name": "echo", "inputSchema": {"type": "object"}}]}),
        "tools/call" => {
            json!({"content": [{"type": "text", "text": message["params"]["arguments"]["text"]}]})
        }
        _notification => return StatusCode::ACCEPTED,
    };
    let answer = json!({"jsonrpc": "2.0", "id": message["id"], "result": result});
    streams.lock().await.as_ref().unwrap().send(answer).unwrap();
    StatusCode::ACCEPTED
}
