//! Records the standard streams of an MCP server that a participant starts.
//!
//! The participant starts this program instead of the server (`__record-stdio --to URL -- CMD ARGS...`, see
//! [`record`]). The wrapper starts the server and passes lines on in both directions, after posting each to
//! the recorder, so that the transcript never shows an effect before its cause. As over HTTP, each JSON-RPC
//! request is an exchange of its own, with the method `STDIO` instead of HTTP's.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex},
};

use axum::{
    Router,
    body::Bytes,
    extract::{DefaultBodyLimit, Path, State},
    http::StatusCode,
    routing::post,
};
use bridge_program::lock;
use serde_json::Value;

use super::{body, exchange::HopRecord};
use green_agent_transcript::{Body, Content, Direction};

/// The longest accepted line, in bytes. A longer one ends the connection.
pub(super) const LINE_LIMIT: usize = 16 * 1024 * 1024;

/// The path for lines from the participant.
pub(super) const FORWARD: &str = "forward";

/// The path for lines from the server.
pub(super) const BACK: &str = "back";

/// Records lines, and finds the exchange that an answer belongs to.
#[derive(Debug)]
struct Tap {
    book: HopRecord,
    /// The exchanges of requests that are not answered yet, by the text of their ids.
    open: Mutex<BTreeMap<String, u64>>,
}

/// Returns the routes of the recorder's side: lines are posted to `/forward` and `/back`.
pub(super) fn app(book: HopRecord) -> Router {
    let tap = Arc::new(Tap { book, open: Mutex::default() });
    Router::new()
        .route("/{direction}", post(take))
        .layer(DefaultBodyLimit::max(LINE_LIMIT))
        .with_state(tap)
}

async fn take(
    State(tap): State<Arc<Tap>>,
    Path(direction): Path<String>,
    line: Bytes,
) -> StatusCode {
    let direction = match direction.as_str() {
        FORWARD => Direction::Forward,
        BACK => Direction::Back,
        _ => return StatusCode::NOT_FOUND,
    };
    tap.record(direction, &line);
    StatusCode::NO_CONTENT
}

impl Tap {
    fn record(&self, direction: Direction, line: &[u8]) {
        let Some(body) = body::keep(line.trim_ascii()) else {
            return;
        };
        let (exchange, content) = match direction {
            Direction::Forward => self.request(body),
            Direction::Back => self.answer(body),
        };
        self.book.record(exchange, direction, content);
    }

    fn request(&self, body: Body) -> (u64, Content) {
        let exchange = self.book.transcript.next_exchange();
        let asks = body.json().is_some_and(|body| body["method"].is_string());
        if let Some(id) = id_of(&body).filter(|_| asks) {
            lock(&self.open).insert(id, exchange);
        }
        let content = Content::Request {
            method: "STDIO".to_owned(),
            path: "/".to_owned(),
            headers: BTreeMap::new(),
            body: Some(body),
        };
        (exchange, content)
    }

    /// Returns the exchange of an answer. A message that answers no request, such as a notification, gets a separate
    /// exchange.
    fn answer(&self, body: Body) -> (u64, Content) {
        let asks = body.json().is_some_and(|body| body["method"].is_string());
        let answered = id_of(&body).filter(|_| !asks).and_then(|id| lock(&self.open).remove(&id));
        let content = Content::Reply { status: 200, headers: BTreeMap::new(), body: Some(body) };
        let exchange = answered.unwrap_or_else(|| self.book.transcript.next_exchange());
        (exchange, content)
    }
}

fn id_of(body: &Body) -> Option<String> {
    let id = body.json()?.get("id").filter(|id| !id.is_null())?;
    Some(Value::to_string(id))
}
