//! Whole requests: whatever comes, each is answered, in the form that was asked for, and never with the
//! confession that the bridge broke.

use std::{sync::Arc, time::Duration};

use axum::{
    Router,
    body::Body,
    http::{HeaderMap, Request, StatusCode, header::CONTENT_TYPE},
};
use bridge::{
    agent::{Agent, TurnSettings},
    host::Host,
    push::{AllowedTargets, PushSettings},
    store::MemoryStore,
};
use bridge_protocol::a2a::{AgentCard, ErrorKind};
use http_body_util::BodyExt as _;
use serde_json::Value;
use tokio::{runtime::Runtime, time::timeout};
use tower::ServiceExt as _;

use super::{Verdict, corpus, corpus::TASK, fuzz, json as documents};
use crate::{
    app::{rpc, say},
    world::CommandAgent,
};

/// The time limit of an answer; no operation here waits for anything.
const LIMIT: Duration = Duration::from_secs(120);

/// The time without an event after which a stream is left.
const QUIET: Duration = Duration::from_millis(20);

/// The number of requests after which the app is created again, so that its task is as before.
const REQUESTS: usize = 200;

/// An app, a task that waits for input, and how often it was asked.
pub(super) struct Served {
    runtime: Runtime,
    app: Router,
    task: String,
    asked: usize,
}

/// The answer to a request.
pub(super) struct Answer {
    pub(super) status: StatusCode,
    pub(super) headers: HeaderMap,
    pub(super) body: Vec<u8>,
    pub(super) trailers: HeaderMap,
}

impl Served {
    pub(super) fn new() -> Self {
        let mut runtime = tokio::runtime::Builder::new_current_thread();
        let runtime = runtime.enable_all().build().unwrap();
        let app = runtime.block_on(app());
        let asked = runtime.block_on(rpc(&app, Some("1.0"), "SendMessage", say("ask", "ask")));
        let task = asked["result"]["task"]["id"].as_str().unwrap().to_owned();
        Self { runtime, app, task, asked: 0 }
    }

    /// Returns the id of the existing task. It must be called before each input.
    pub(super) fn task(&mut self) -> String {
        self.asked += 1;
        if self.asked > REQUESTS {
            *self = Self::new();
        }
        self.task.clone()
    }

    /// Sends a request and waits for its answer, of a stream for what it has to say at once.
    pub(super) fn send(&self, request: Request<Body>) -> Result<Answer, String> {
        let answered = answered(self.app.clone(), request);
        let answer = self.runtime.block_on(async { timeout(LIMIT, answered).await });
        answer.map_err(|_| "no answer".to_owned())
    }

    fn ask(&mut self, path: &str, version: Option<&str>, body: &[u8]) -> Verdict {
        let task = format!("\"{}\"", self.task());
        let body = String::from_utf8_lossy(body);
        let body = body.replace(&format!("\"{TASK}\""), &task);
        let mut request = Request::post(path).header(CONTENT_TYPE, "application/json");
        if let Some(version) = version {
            request = request.header("a2a-version", version);
        }
        let answer = self.send(request.body(Body::from(body)).unwrap())?;
        let documents = answer.documents();
        documents
            .and_then(|documents| documents.iter().try_for_each(check))
            .map_err(|problem| format!("{path} {version:?}: {}: {problem}", answer.shown()))
    }
}

impl Answer {
    /// Returns the JSON in it: its body, or the data of each event.
    pub(super) fn documents(&self) -> Result<Vec<Value>, String> {
        let text = String::from_utf8_lossy(&self.body);
        let lines = text.lines().filter_map(|line| line.strip_prefix("data: "));
        let texts: Vec<&str> = if self.is_stream() { lines.collect() } else { vec![&text] };
        let read = |text: &&str| serde_json::from_str(text).map_err(|error| error.to_string());
        texts.iter().map(read).collect()
    }

    pub(super) fn is_stream(&self) -> bool {
        self.headers.get(CONTENT_TYPE).is_some_and(|value| value == "text/event-stream")
    }

    pub(super) fn shown(&self) -> String {
        let body = String::from_utf8_lossy(&self.body);
        format!("answered {} {body}", self.status)
    }
}

/// Returns an app that may deliver only to one name of this machine, where nothing listens.
async fn app() -> Router {
    let mut allowed = AllowedTargets::default();
    allowed.allow("localhost").unwrap();
    allowed.nowhere_else = true;
    let agent = Agent {
        name: "agent".into(),
        card: AgentCard::named("Obedient", "Does what it is told."),
        executor: Arc::new(CommandAgent::default()),
        settings: TurnSettings::default(),
    };
    let settings = PushSettings { allowed, ..PushSettings::default() };
    let host = Host::new(Arc::new(MemoryStore::new()), [agent]).push(Some(settings));
    host.router("http://localhost:3978").await.unwrap()
}

async fn answered(app: Router, request: Request<Body>) -> Answer {
    let (parts, mut body) = app.oneshot(request).await.unwrap().into_parts();
    let mut answer = Answer {
        status: parts.status,
        headers: parts.headers,
        body: Vec::new(),
        trailers: HeaderMap::new(),
    };
    // The stream of a running task does not end: its events are sent at once.
    let pause = if answer.is_stream() { QUIET } else { LIMIT };
    while let Ok(Some(Ok(frame))) = timeout(pause, body.frame()).await {
        match frame.into_data() {
            Ok(piece) => answer.body.extend_from_slice(&piece),
            Err(frame) => answer.trailers = frame.into_trailers().unwrap_or_default(),
        }
    }
    answer
}

/// Returns an answer of JSON-RPC, which is not that the bridge is broken.
pub(super) fn check(answer: &Value) -> Verdict {
    let Some(error) = answer.get("error") else {
        return Ok(());
    };
    let code = error["code"].as_i64().ok_or("an error without a code")?;
    match ErrorKind::from_code(code) {
        None => Err(format!("{code} is no code")),
        Some(ErrorKind::Internal) => Err("it broke".to_owned()),
        Some(_) => Ok(()),
    }
}

#[test]
fn requests() {
    let mut served = Served::new();
    fuzz("requests", &corpus::requests(), documents::change, |input| {
        for (path, version) in [("/a2a", None), ("/a2a", Some("1.0")), ("/a2a/tasks/send", None)] {
            served.ask(path, version, input)?;
        }
        Ok(())
    });
}
