//! Whole requests: whatever comes, each is answered, in the form that was asked for, and never with the
//! confession that the bridge broke.

use std::{sync::Arc, time::Duration};

use axum::{
    Router,
    body::Body,
    http::{Request, StatusCode},
};
use bridge::{
    agent::{Agent, TurnSettings},
    host::Host,
    push::{Allowed, PushSettings},
    store::MemoryStore,
};
use bridge_protocol::a2a::{AgentCard, ErrorKind};
use futures_util::StreamExt as _;
use serde_json::Value;
use tokio::{runtime::Runtime, time::timeout};
use tower::ServiceExt as _;

use super::{Verdict, corpus, corpus::TASK, fuzz, json as documents};
use crate::{
    app::{rpc, say},
    world::Obedient,
};

/// How long an answer may take; nothing here waits for anything.
const LIMIT: Duration = Duration::from_secs(20);

/// How long a stream may be silent before it is left.
const QUIET: Duration = Duration::from_millis(20);

/// After so many requests the app is made anew, so that its task does not stay as it has become.
const REQUESTS: usize = 200;

/// An app, a task that waits for input, and how often it was asked.
struct Served {
    runtime: Runtime,
    app: Router,
    task: String,
    asked: usize,
}

impl Served {
    fn new() -> Self {
        let mut runtime = tokio::runtime::Builder::new_current_thread();
        let runtime = runtime.enable_all().build().unwrap();
        let app = runtime.block_on(app());
        let asked = runtime.block_on(rpc(&app, Some("1.0"), "SendMessage", say("ask", "ask")));
        let task = asked["result"]["task"]["id"].to_string();
        assert!(task.len() > 8, "{asked}");
        Self {
            runtime,
            app,
            task,
            asked: 0,
        }
    }

    fn ask(&mut self, path: &str, version: Option<&str>, body: &[u8]) -> Verdict {
        self.asked += 1;
        if self.asked > REQUESTS {
            *self = Self::new();
        }
        let body = String::from_utf8_lossy(body);
        let body = body.replace(&format!("\"{TASK}\""), &self.task);
        let answered = answered(self.app.clone(), path, version, body.into_bytes());
        let answer = self
            .runtime
            .block_on(async { timeout(LIMIT, answered).await });
        let (status, media_type, text) = answer.map_err(|_| "no answer".to_owned())?;
        let lines = text.lines().filter_map(|line| line.strip_prefix("data: "));
        match media_type.as_str() {
            "text/event-stream" => lines.into_iter().try_for_each(check),
            _ => check(&text),
        }
        .map_err(|problem| format!("{path} {version:?} answered {status} {text}: {problem}"))
    }
}

/// An app that delivers to this machine alone, under one name, where nobody listens.
async fn app() -> Router {
    let mut allowed = Allowed::default();
    allowed.allow("localhost").unwrap();
    allowed.nowhere_else = true;
    let agent = Agent {
        name: "agent".to_owned(),
        card: AgentCard::named("Obedient", "Does what it is told."),
        executor: Arc::new(Obedient::default()),
        settings: TurnSettings::default(),
    };
    let settings = PushSettings {
        allowed,
        ..PushSettings::default()
    };
    let host = Host::new(Arc::new(MemoryStore::new()), [agent]).push(Some(settings));
    host.router("http://localhost:3978").await.unwrap()
}

async fn answered(
    app: Router,
    path: &str,
    version: Option<&str>,
    body: Vec<u8>,
) -> (StatusCode, String, String) {
    let mut request = Request::post(path).header("content-type", "application/json");
    if let Some(version) = version {
        request = request.header("a2a-version", version);
    }
    let request = request.body(Body::from(body)).unwrap();
    let answer = app.oneshot(request).await.unwrap();
    let (status, headers) = (answer.status(), answer.headers());
    let media_type = headers
        .get("content-type")
        .and_then(|value| value.to_str().ok());
    let media_type = media_type.unwrap_or_default().to_owned();
    let is_stream = media_type == "text/event-stream";
    let (mut pieces, mut body) = (answer.into_body().into_data_stream(), Vec::new());
    // The stream of a task that goes on does not end: what it has to say is said at once.
    let pause = if is_stream { QUIET } else { LIMIT };
    while let Ok(Some(Ok(piece))) = timeout(pause, pieces.next()).await {
        body.extend_from_slice(&piece);
    }
    (
        status,
        media_type,
        String::from_utf8_lossy(&body).into_owned(),
    )
}

fn check(text: &str) -> Verdict {
    let answer: Value = serde_json::from_str(text).map_err(|error| error.to_string())?;
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
    fuzz(
        "requests",
        &corpus::requests(),
        documents::change,
        |input| {
            for (path, version) in [
                ("/a2a", None),
                ("/a2a", Some("1.0")),
                ("/a2a/tasks/send", None),
            ] {
                served.ask(path, version, input)?;
            }
            Ok(())
        },
    );
}
