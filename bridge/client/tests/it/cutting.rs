//! A server that cuts its streams as scripted while the task goes on.

use std::{
    collections::VecDeque,
    sync::{Arc, Mutex},
};

use axum::{
    Json, Router,
    body::{Body, Bytes},
    extract::State,
    http::{HeaderMap, Response},
    response::IntoResponse as _,
    routing::{get, post},
};
use bridge_protocol::{
    a2a::{SEQUENCE_EXTENSION, StreamResponse, Task},
    wire::{Wire as _, to_value},
};
use futures_util::{StreamExt as _, stream};
use serde_json::{Value, json};
use tokio::net::TcpListener;
use url::Url;

use crate::server::reply;

/// The way in which a server resumes its streams.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Manner {
    /// Events have ids, and a resumed stream continues after one of them.
    Ids,
    /// The same, and by an extension the ids are the numbers of the events.
    Numbered,
    /// The task first, then the later events, without ids.
    Snapshot,
    /// The same, but the last event before is repeated after the task.
    Repeats,
    /// The server sends only the later events, as servers of 0.3 do.
    Later,
    /// The server refuses to resume.
    Refuses,
    /// The server does not stream.
    Silent,
    /// The server never answers who resumes.
    Hangs,
}

/// One connection: the number of events sent, and of those that are lost after it.
pub(crate) type Cut = (usize, usize);

/// The script of the server.
#[derive(Clone, Debug)]
pub(crate) struct Script {
    pub(crate) manner: Manner,
    /// All events; the task is the first.
    pub(crate) log: Vec<Value>,
    pub(crate) cuts: VecDeque<Cut>,
    /// The number of subscriptions answered with HTTP 503 before one is accepted.
    pub(crate) busy: usize,
}

/// The events so far.
#[derive(Debug)]
pub(crate) struct Stage {
    script: Script,
    happened: usize,
    /// The id of the request being answered.
    id: Value,
    /// The methods called.
    pub(crate) asked: Vec<String>,
}

pub(crate) type Shared = Arc<Mutex<Stage>>;

/// Starts a server with this script.
pub(crate) async fn serve(script: Script) -> (Url, Shared) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let base = format!("http://{}/", listener.local_addr().unwrap());
    let streaming = (script.manner == Manner::Silent).then_some(false);
    let extensions = match script.manner {
        Manner::Numbered => json!([{"uri": SEQUENCE_EXTENSION}]),
        _ => json!([]),
    };
    let card = json!({"name": "Cutter",
        "capabilities": {"streaming": streaming, "extensions": extensions},
        "supportedInterfaces":
            [{"url": base, "protocolBinding": "JSONRPC", "protocolVersion": "1.0"}]});
    let stage = Stage { script, happened: 1, id: Value::Null, asked: Vec::new() };
    let shared = Arc::new(Mutex::new(stage));
    let app = Router::new()
        .route("/.well-known/agent-card.json", get(async move || Json(card)))
        .route("/", post(answer))
        .with_state(shared.clone());
    tokio::spawn(async move { axum::serve(listener, app).await });
    (Url::parse(&base).unwrap(), shared)
}

/// Returns the state of the task after these events.
pub(crate) fn task(log: &[Value]) -> Task {
    let mut events = log.iter().map(|event| StreamResponse::read(event.clone()).unwrap());
    let mut task = Task::begun_by(events.next().unwrap()).unwrap();
    events.for_each(|event| task.apply(event));
    task
}

async fn answer(State(stage): State<Shared>, headers: HeaderMap, body: Bytes) -> Response<Body> {
    let request: Value = serde_json::from_slice(&body).unwrap();
    let method = request["method"].as_str().unwrap().to_owned();
    let after = headers
        .get("last-event-id")
        .map(|id| id.to_str().unwrap().trim_start_matches("t/"))
        .map(|id| id.parse().unwrap());
    let manner = stage.lock().unwrap().script.manner;
    if (method.as_str(), manner) == ("SubscribeToTask", Manner::Hangs) {
        std::future::pending::<()>().await;
    }
    let mut stage = stage.lock().unwrap();
    stage.asked.push(method.clone());
    stage.id = request["id"].clone();
    let result = match method.as_str() {
        "SendStreamingMessage" => return stage.stream(0, None),
        "SubscribeToTask" => return stage.subscribe(after),
        "SendMessage" => json!({"task": to_value(&stage.now())}),
        "GetTask" => {
            stage.happened = (stage.happened + 2).min(stage.script.log.len());
            to_value(&stage.now())
        }
        other => panic!("{other} was not expected"),
    };
    let body = json!({"jsonrpc": "2.0", "id": stage.id, "result": result});
    reply(200, "application/json", &body.to_string())
}

/// Earlier events are sent first, because a body that fails at once would take them along.
async fn cut() -> Result<Bytes, std::io::Error> {
    tokio::task::yield_now().await;
    Err(std::io::Error::other("cut"))
}

impl Stage {
    fn now(&self) -> Task {
        task(&self.script.log[..self.happened])
    }

    fn subscribe(&mut self, after: Option<usize>) -> Response<Body> {
        if self.script.busy > 0 {
            self.script.busy -= 1;
            return reply(503, "text/plain", "restarting");
        }
        let snapshot = json!({"task": to_value(&self.now())});
        let happened = self.happened;
        match self.script.manner {
            Manner::Ids | Manner::Numbered => self.stream(after.map_or(0, |id| id + 1), None),
            Manner::Snapshot => self.stream(happened, Some(snapshot)),
            Manner::Repeats => self.stream(self.repeated(), Some(snapshot)),
            Manner::Later => self.stream(happened, None),
            Manner::Refuses | Manner::Silent | Manner::Hangs => {
                let error = json!({"code": -32004, "message": "no"});
                let body = json!({"jsonrpc": "2.0", "id": self.id, "error": error});
                reply(200, "application/json", &body.to_string())
            }
        }
    }

    /// Returns the event to start with so that the last one is repeated, if a repetition can be distinguished from a
    /// new event: the same piece of an artifact can occur twice.
    fn repeated(&self) -> usize {
        let last = &self.script.log[self.happened - 1];
        let is_piece = last.pointer("/artifactUpdate/append") == Some(&Value::Bool(true));
        self.happened - usize::from(!is_piece)
    }

    /// Returns a stream that starts with this event and breaks at the next cut.
    fn stream(&mut self, from: usize, first: Option<Value>) -> Response<Body> {
        let end = self.script.log.len();
        let (heard, missed) = self.script.cuts.pop_front().unwrap_or((end, 0));
        let until = (from + heard).min(end);
        self.happened = self.happened.max((until + missed).min(end));
        let mut chunks: Vec<Result<Bytes, std::io::Error>> = Vec::new();
        chunks.extend(first.map(|event| Ok(self.event(None, &event))));
        let shown = self.script.log[from.min(end)..until].iter().enumerate();
        chunks.extend(shown.map(|(at, event)| Ok(self.event(Some(from + at), event))));
        let cut = (until < end).then(|| stream::once(cut()));
        let body = Body::from_stream(stream::iter(chunks).chain(stream::iter(cut).flatten()));
        ([("content-type", "text/event-stream")], body).into_response()
    }

    fn event(&self, id: Option<usize>, event: &Value) -> Bytes {
        let envelope = json!({"jsonrpc": "2.0", "id": self.id, "result": event});
        match (id, self.script.manner) {
            (Some(id), Manner::Ids) => format!("id: {id}\ndata: {envelope}\n\n").into(),
            (Some(id), Manner::Numbered) => format!("id: t/{id}\ndata: {envelope}\n\n").into(),
            _ => format!("data: {envelope}\n\n").into(),
        }
    }
}
