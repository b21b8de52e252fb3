//! Streams of others: what an agent sends to the client, and what a bot answers.

use std::{
    sync::{Arc, Mutex},
    time::Duration,
};

use axum::{
    Json, Router,
    body::Body,
    extract::State,
    http::{Response, header::CONTENT_TYPE},
    routing::{get, post},
};
use bridge::{
    bot::remote::{Channel, ChannelSettings, Delivery, RemoteBot, RemoteSettings, TurnEndRules},
    host::Host,
    store::MemoryStore,
};
use bridge_client::{Client, Options};
use bridge_protocol::a2a::{Message, Part, Role, SendMessageRequest};
use futures_util::StreamExt as _;
use serde_json::{Value, json};
use tokio::{net::TcpListener, runtime::Runtime, time::timeout};

use super::{Verdict, bytes, corpus, fuzz};
use crate::app::rpc;

/// The time limit of one stream, whose content is available at once.
pub(super) const LIMIT: Duration = Duration::from_secs(120);

/// The next answer.
type Next = Arc<Mutex<Vec<u8>>>;

fn runtime() -> Runtime {
    let mut runtime = tokio::runtime::Builder::new_multi_thread();
    runtime.worker_threads(1).enable_all().build().unwrap()
}

async fn stream(State(next): State<Next>) -> Response<Body> {
    let body = Body::from(next.lock().unwrap().clone());
    Response::builder().header(CONTENT_TYPE, "text/event-stream").body(body).unwrap()
}

/// Serves an app with streams, and tells where.
async fn serve(app: Router<Next>, next: &Next) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/", listener.local_addr().unwrap());
    let (app, card) = (app.with_state(next.clone()), card(&url));
    let app = app.route("/.well-known/agent-card.json", get(async move || Json(card)));
    tokio::spawn(async move { axum::serve(listener, app).await });
    url
}

fn card(url: &str) -> Value {
    json!({"name": "New", "supportedInterfaces": [
        {"url": url, "protocolBinding": "JSONRPC", "protocolVersion": "1.0"}
    ]})
}

/// Events as they are sent, one for each document.
fn events(documents: &[Vec<u8>], wrap: impl Fn(&str) -> String) -> Vec<Vec<u8>> {
    let event = |document: &Vec<u8>| {
        let text = wrap(&String::from_utf8_lossy(document));
        format!("event: message\nid: t/1\ndata: {text}\n\n")
    };
    let all: Vec<String> = documents.iter().map(event).collect();
    all.chunks(3).map(|some| some.concat().into_bytes()).collect()
}

#[test]
fn agents_streams() {
    let updates = corpus::recorded(|document| {
        ["task", "statusUpdate", "artifactUpdate"].iter().any(|name| document.get(name).is_some())
            || document.get("result").is_some()
    });
    let seeds = events(&updates, |text| match text.contains("\"result\"") {
        true => text.to_owned(),
        false => format!(r#"{{"jsonrpc": "2.0", "id": 1, "result": {text}}}"#),
    });
    let (runtime, next) = (runtime(), Next::default());
    let url = runtime.block_on(serve(Router::new().route("/", post(stream)), &next));
    let (url, options) = (url.parse().unwrap(), Options::default());
    let client = runtime.block_on(Client::connect(&url, &options)).unwrap();
    fuzz("agents_streams", &seeds, bytes::change, |input| {
        *next.lock().unwrap() = input.to_vec();
        let read = async {
            let message = Message::new("m", Role::User, vec![Part::text("hi")]);
            let sent = client.send_streaming_message(SendMessageRequest::new(message)).await;
            if let Ok(mut items) = sent {
                while let Some(Ok(_)) = items.next().await {}
            }
        };
        let ended = runtime.block_on(async { timeout(LIMIT, read).await });
        ended.map_err(|_| "the stream does not end".to_owned())
    });
}

#[test]
fn bots_streams() {
    let activities = corpus::recorded(|document| {
        document.get("type").is_some_and(Value::is_string) && document.get("conversation").is_some()
    });
    let seeds = events(&activities, str::to_owned);
    let (runtime, next) = (runtime(), Next::default());
    let bot = runtime.block_on(serve(Router::new().route("/", post(stream)), &next));
    let mut app = runtime.block_on(bridge(&bot));
    let mut count = 0_u64;
    fuzz("bots_streams", &seeds, bytes::change, |input| {
        *next.lock().unwrap() = input.to_vec();
        count += 1;
        if count.is_multiple_of(2_000) {
            app = runtime.block_on(bridge(&bot));
        }
        let message = json!({"messageId": format!("m-{count}"), "role": "ROLE_USER", "parts": [{"text": "hi"}]});
        let asked = rpc(&app, Some("1.0"), "SendMessage", json!({ "message": message }));
        let answer = runtime.block_on(async { timeout(LIMIT, asked).await });
        let answer = answer.map_err(|_| "no answer".to_owned())?;
        judge(&answer)
    });
}

/// Checks that the task has ended or waits for its caller, whatever the bot said.
fn judge(answer: &Value) -> Verdict {
    let state = answer["result"]["task"]["status"]["state"].as_str();
    match state {
        Some("TASK_STATE_WORKING" | "TASK_STATE_SUBMITTED") | None => Err(format!("{answer}")),
        Some(_) => Ok(()),
    }
}

async fn bridge(bot: &str) -> Router {
    let store = Arc::new(MemoryStore::new());
    let here = "http://127.0.0.1:9/".parse().unwrap();
    let channel = Channel::new(store.clone(), ChannelSettings::at(here)).unwrap();
    let ending = TurnEndRules {
        quiet: Duration::from_millis(1),
        settle: Some(Duration::from_millis(1)),
        patience: Duration::from_millis(1),
        ..TurnEndRules::default()
    };
    let settings =
        RemoteSettings { delivery: Delivery::Stream, ending, ..RemoteSettings::default() };
    let bot = RemoteBot { settings, ..RemoteBot::new("bot", bot.parse().unwrap()) };
    let host = Host::new(store, [channel.agent(bot)]).connector(channel);
    host.router("http://127.0.0.1:9").await.unwrap()
}
