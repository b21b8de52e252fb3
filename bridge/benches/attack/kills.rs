//! Kills the program while messages are on their way to a bot behind a URL, and checks the outcome of each.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, PoisonError},
    time::{Duration, Instant},
};

use axum::{Json, Router, extract::State, routing::post};
use serde_json::{Value, json};
use tokio::{net::TcpListener, task::JoinSet, time::sleep};

use crate::harness::{Error, Harness, Program, post_rpc};

/// The number of clients that send at the same time.
const CALLERS: usize = 6;
/// The time after a start within which all tasks must have ended.
const SETTLE: Duration = Duration::from_secs(20);

/// The number of times that the bot received each text.
type Received = Arc<Mutex<BTreeMap<String, usize>>>;

pub(crate) async fn run(harness: &mut Harness) -> Result<(), Error> {
    let kills = harness.pick(12, 3);
    let received = Received::default();
    let flag = format!("bot={}", bot(Arc::clone(&received)).await?);
    let arguments = ["--bot", flag.as_str()];
    let client = reqwest::Client::builder().no_proxy().build()?;
    let (mut folder, mut acknowledged) = (tempfile::tempdir()?, Vec::new());
    for round in 0..kills {
        let program = Program::restart(folder, &arguments)?;
        let url = format!("{}/a2a/bot", program.url());
        let mut callers = JoinSet::new();
        for number in 0..CALLERS {
            let (client, url) = (client.clone(), url.clone());
            callers.spawn(async move {
                send_until_failure(&client, &url, &format!("{round}-{number}")).await
            });
        }
        sleep(Duration::from_millis(300 + 37 * (round % 7))).await;
        folder = program.kill()?;
        acknowledged.extend(callers.join_all().await.into_iter().flatten());
    }
    let program = Program::restart(folder, &arguments)?;
    let url = format!("{}/a2a/bot", program.url());
    let mut states = BTreeMap::<String, usize>::new();
    let begun = Instant::now();
    for id in &acknowledged {
        let state = settled(&client, &url, id, begun).await?;
        *states.entry(state).or_default() += 1;
    }
    let twice = received.lock().unwrap_or_else(PoisonError::into_inner);
    let twice = twice.values().filter(|count| **count > 1).count();
    harness.note(format_args!("{kills} kills, {} acknowledged: {states:?}", acknowledged.len()));
    let is_open =
        |state: &&String| matches!(state.as_str(), "TASK_STATE_WORKING" | "TASK_STATE_SUBMITTED");
    harness.check(!states.keys().any(|state| is_open(&state)), "every acknowledged task has ended");
    harness.check(!states.contains_key("null"), "no acknowledged message is lost");
    harness.check(
        twice == 0,
        format_args!("a bot receives a message once, {twice} were received again"),
    );
    Ok(())
}

/// Starts a bot that answers at once, and returns its URL.
async fn bot(received: Received) -> Result<String, Error> {
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let url = format!("http://{}/api/messages", listener.local_addr()?);
    let app = Router::new().route("/api/messages", post(answer)).with_state(received);
    tokio::spawn(async move { axum::serve(listener, app).await });
    Ok(url)
}

async fn answer(State(received): State<Received>, Json(activity): Json<Value>) -> Json<Value> {
    if activity["type"] == "message" {
        let text = activity["text"].as_str().unwrap_or_default().to_owned();
        *received.lock().unwrap_or_else(PoisonError::into_inner).entry(text).or_default() += 1;
    }
    Json(json!({"activities": [{"type": "message", "text": "Here it is."}]}))
}

/// Sends messages until one is not answered. Returns the ids of the acknowledged tasks.
async fn send_until_failure(client: &reqwest::Client, url: &str, name: &str) -> Vec<String> {
    let mut acknowledged = Vec::new();
    for number in 0.. {
        let text = format!("{name}-{number}");
        let message = json!({"messageId": text, "role": "ROLE_USER", "parts": [{"text": text}]});
        let params = json!({"message": message, "configuration": {"returnImmediately": true}});
        let request = json!({"jsonrpc": "2.0", "id": 1, "method": "SendMessage", "params": params});
        let Ok(answer) = post_rpc(client, url, &request).await else {
            break;
        };
        acknowledged.extend(answer["result"]["task"]["id"].as_str().map(str::to_owned));
    }
    acknowledged
}

/// Waits until a task has ended or the time limit has passed, and returns its state.
async fn settled(
    client: &reqwest::Client,
    url: &str,
    id: &str,
    begun: Instant,
) -> Result<String, Error> {
    let request = json!({"jsonrpc": "2.0", "id": 1, "method": "GetTask", "params": {"id": id}});
    loop {
        let answer = post_rpc(client, url, &request).await?;
        let state = answer["result"]["status"]["state"].as_str().unwrap_or("null");
        let is_open = matches!(state, "TASK_STATE_WORKING" | "TASK_STATE_SUBMITTED");
        if !is_open || begun.elapsed() > SETTLE {
            return Ok(state.to_owned());
        }
        sleep(Duration::from_millis(50)).await;
    }
}
