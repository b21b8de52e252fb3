//! A minimal server: it reads a request and writes an answer of the same shape. It stores nothing except, on request,
//! lines in a file that are fsynced together. A server that stores every task cannot be faster than that.

use std::{
    borrow::Cow,
    convert::Infallible,
    fs::File,
    io::Write as _,
    path::Path,
    sync::atomic::{AtomicU64, Ordering},
};

use axum::{
    Router,
    body::{Body, Bytes},
    extract::State,
    http::{StatusCode, header::CONTENT_TYPE},
    response::{IntoResponse as _, Response},
    routing::post,
    serve::ListenerExt as _,
};
use futures_util::{StreamExt as _, stream};
use serde::Deserialize;
use tokio::{
    net::TcpListener,
    sync::{mpsc, oneshot},
};

use crate::Outcome;

/// The number of times that a send waits for the disk.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Commits {
    /// Once, before it is answered.
    One,
    /// Also before the agent would receive the message, which a server must do if it may lose nothing that it
    /// acknowledged.
    Two,
}

/// A file to which whole lines are appended.
#[derive(Clone)]
pub(crate) struct Log {
    lines: mpsc::Sender<(Vec<u8>, oneshot::Sender<()>)>,
    commits: Commits,
}

impl Log {
    /// Creates the file in this folder. Its own thread writes it.
    pub(crate) fn create(folder: &Path, commits: Commits) -> Outcome<Self> {
        let (lines, waiting) = mpsc::channel(4096);
        let file = File::create(folder.join("log"))?;
        std::thread::spawn(move || write_lines(file, waiting));
        Ok(Self { lines, commits })
    }

    /// Commits the request and the answer of a send.
    pub(crate) async fn commit(&self, request: Vec<u8>, answer: Vec<u8>) {
        if matches!(self.commits, Commits::Two) {
            self.write(request).await;
        }
        self.write(answer).await;
    }

    async fn write(&self, line: Vec<u8>) {
        let (written, is_written) = oneshot::channel();
        if self.lines.send((line, written)).await.is_ok() {
            // The thread answers each line or ends the process.
            let _ = is_written.await;
        }
    }
}

/// Serves on a port, and commits to a file in this folder.
pub(crate) async fn serve(port: u16, file: Option<(&Path, Commits)>) -> Outcome<()> {
    let log = file.map(|(folder, commits)| Log::create(folder, commits)).transpose()?;
    let listener = TcpListener::bind(("127.0.0.1", port)).await?;
    let listener = listener.tap_io(|connection| {
        // Otherwise each event of a stream would wait for the acknowledgement of the one before.
        let _ = connection.set_nodelay(true);
    });
    let app = Router::new().route("/", post(answer)).with_state(log);
    axum::serve(listener, app).await?;
    Ok(())
}

/// Writes all waiting lines with one write and one fsync.
fn write_lines(mut file: File, mut waiting: mpsc::Receiver<(Vec<u8>, oneshot::Sender<()>)>) {
    let (mut lines, mut bytes) = (Vec::new(), Vec::new());
    while waiting.blocking_recv_many(&mut lines, 4096) > 0 {
        bytes.clear();
        lines.iter().for_each(|(line, _)| bytes.extend_from_slice(line));
        if let Err(error) = file.write_all(&bytes).and_then(|()| file.sync_data()) {
            eprintln!("writing the log: {error}");
            std::process::exit(1);
        }
        for (_, written) in lines.drain(..) {
            // The waiter may be gone.
            let _ = written.send(());
        }
    }
}

#[derive(Deserialize)]
struct Request<'r> {
    id: u64,
    #[serde(borrow)]
    method: Cow<'r, str>,
    #[serde(borrow)]
    params: Params<'r>,
}

#[derive(Deserialize)]
struct Params<'r> {
    #[serde(borrow)]
    id: Option<Cow<'r, str>>,
    #[serde(borrow)]
    message: Option<Message<'r>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Message<'r> {
    #[serde(borrow)]
    message_id: Cow<'r, str>,
    #[serde(borrow)]
    parts: Vec<Part<'r>>,
}

#[derive(Deserialize)]
struct Part<'r> {
    #[serde(borrow)]
    text: Option<Cow<'r, str>>,
}

/// The parts of a task, each as JSON.
struct Task {
    name: String,
    message: String,
    text: String,
}

async fn answer(State(log): State<Option<Log>>, body: Bytes) -> Response {
    static NEXT: AtomicU64 = AtomicU64::new(1);
    let Ok(Request { id, method, params }) = serde_json::from_slice(&body) else {
        return (StatusCode::BAD_REQUEST, "expected a request as the load sends it")
            .into_response();
    };
    let name =
        || format!("\"00000000-0000-4000-8000-{:012x}\"", NEXT.fetch_add(1, Ordering::Relaxed));
    let Some(message) = params.message else {
        let name = params.id.map_or_else(name, |id| quoted(&id));
        let (message, text) = (quoted("m"), quoted("hello, agent"));
        return json(id, &Task { name, message, text }.json("COMPLETED"));
    };
    let text = message.parts.first().and_then(|part| part.text.as_deref()).unwrap_or_default();
    let task = Task { name: name(), message: quoted(&message.message_id), text: quoted(text) };
    if let Some(log) = &log {
        let answer = task.json("COMPLETED").into_bytes();
        log.commit(body.to_vec(), answer).await;
    }
    match &*method {
        "SendStreamingMessage" => events(id, &task, text.starts_with("hold")),
        _ => json(id, &format!("{{\"task\":{}}}", task.json("COMPLETED"))),
    }
}

fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

impl Task {
    /// Returns the task in this state as JSON.
    fn json(&self, state: &str) -> String {
        let Self { name, message, text } = self;
        format!(
            r#"{{"id":{name},"contextId":"c","status":{},"artifacts":[{}],"history":[{{"messageId":{message},"role":"ROLE_USER","parts":[{{"text":{text}}}]}}]}}"#,
            status(state),
            self.artifact(),
        )
    }

    fn artifact(&self) -> String {
        let Self { name, text, .. } = self;
        format!(r#"{{"artifactId":{name},"name":"echo","parts":[{{"text":{text}}}]}}"#)
    }
}

fn status(state: &str) -> String {
    format!(r#"{{"state":"TASK_STATE_{state}","timestamp":"2026-01-01T00:00:00.000Z"}}"#)
}

/// Returns a stream of task, artifact and end, each in its own chunk. A held stream stops after the task.
fn events(id: u64, task: &Task, is_held: bool) -> Response {
    let ids = format!(r#""taskId":{},"contextId":"c""#, task.name);
    let events = [
        format!(r#"{{"task":{}}}"#, task.json("SUBMITTED")),
        format!(r#"{{"artifactUpdate":{{{ids},"artifact":{}}}}}"#, task.artifact()),
        format!(r#"{{"statusUpdate":{{{ids},"status":{}}}}}"#, status("COMPLETED")),
    ];
    let events = events.map(|event| {
        let event = format!("data: {}\n\n", response(id, &event));
        Ok::<_, Infallible>(Bytes::from(event))
    });
    let shown = if is_held { 1 } else { events.len() };
    let shown = stream::iter(events.into_iter().take(shown));
    let body = match is_held {
        true => Body::from_stream(shown.chain(stream::pending())),
        false => Body::from_stream(shown),
    };
    ([(CONTENT_TYPE, "text/event-stream")], body).into_response()
}

fn response(id: u64, result: &str) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{result}}}"#)
}

fn json(id: u64, result: &str) -> Response {
    ([(CONTENT_TYPE, "application/json")], response(id, result)).into_response()
}
