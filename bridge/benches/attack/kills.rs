//! Kills the program while messages are on their way to a bot behind a URL, and looks what became of each.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, PoisonError},
    time::{Duration, Instant},
};

use axum::{Json, Router, extract::State, routing::post};
use serde_json::{Value, json};
use tokio::{net::TcpListener, task::JoinSet, time::sleep};

use crate::frame::{Failed, Program, Scene, ask};

/// How many send at the same time.
const CALLERS: usize = 6;
/// How long after a start tasks may still be worked on.
const SETTLE: Duration = Duration::from_secs(20);

/// How often the bot got each text.
type Got = Arc<Mutex<BTreeMap<String, usize>>>;

pub(crate) async fn run(scene: &mut Scene) -> Result<(), Failed> {
    let kills = scene.pick(12, 3);
    let got = Got::default();
    let flag = format!("bot={}", bot(Arc::clone(&got)).await?);
    let arguments = ["--bot", flag.as_str()];
    let client = reqwest::Client::builder().no_proxy().build()?;
    let (mut folder, mut told) = (tempfile::tempdir()?, Vec::new());
    for round in 0..kills {
        let program = Program::again(folder, &arguments)?;
        let url = format!("{}/a2a/bot", program.url());
        let mut callers = JoinSet::new();
        for number in 0..CALLERS {
            let (client, url) = (client.clone(), url.clone());
            callers.spawn(async move { talk(&client, &url, &format!("{round}-{number}")).await });
        }
        sleep(Duration::from_millis(300 + 37 * (round % 7))).await;
        folder = program.kill()?;
        told.extend(callers.join_all().await.into_iter().flatten());
    }
    let program = Program::again(folder, &arguments)?;
    let url = format!("{}/a2a/bot", program.url());
    let mut states = BTreeMap::<String, usize>::new();
    let begun = Instant::now();
    for id in &told {
        let state = settled(&client, &url, id, begun).await?;
        *states.entry(state).or_default() += 1;
    }
    let twice = got.lock().unwrap_or_else(PoisonError::into_inner);
    let twice = twice.values().filter(|count| **count > 1).count();
    scene.note(format_args!(
        "{kills} kills, {} acknowledged: {states:?}",
        told.len()
    ));
    let is_open = |state: &&String| {
        matches!(
            state.as_str(),
            "TASK_STATE_WORKING" | "TASK_STATE_SUBMITTED"
        )
    };
    scene.must(
        !states.keys().any(|state| is_open(&state)),
        "no acknowledged message is left lying",
    );
    scene.must(
        !states.contains_key("null"),
        "no acknowledged message is lost",
    );
    scene.must(
        twice == 0,
        format_args!("a bot gets a message once, {twice} came again"),
    );
    Ok(())
}

/// A bot that answers at once.
async fn bot(got: Got) -> Result<String, Failed> {
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let url = format!("http://{}/api/messages", listener.local_addr()?);
    let app = Router::new()
        .route("/api/messages", post(answer))
        .with_state(got);
    tokio::spawn(async move { axum::serve(listener, app).await });
    Ok(url)
}

async fn answer(State(got): State<Got>, Json(activity): Json<Value>) -> Json<Value> {
    if activity["type"] == "message" {
        let text = activity["text"].as_str().unwrap_or_default().to_owned();
        *got.lock()
            .unwrap_or_else(PoisonError::into_inner)
            .entry(text)
            .or_default() += 1;
    }
    Json(json!({"activities": [{"type": "message", "text": "Here it is."}]}))
}

/// Sends until no answer comes; answers with the tasks that it was told of.
async fn talk(client: &reqwest::Client, url: &str, name: &str) -> Vec<String> {
    let mut told = Vec::new();
    for number in 0.. {
        let text = format!("{name}-{number}");
        let message = json!({"messageId": text, "role": "ROLE_USER", "parts": [{"text": text}]});
        let params = json!({"message": message, "configuration": {"returnImmediately": true}});
        let asked = json!({"jsonrpc": "2.0", "id": 1, "method": "SendMessage", "params": params});
        let Ok(answer) = ask(client, url, &asked).await else {
            break;
        };
        told.extend(answer["result"]["task"]["id"].as_str().map(str::to_owned));
    }
    told
}

/// The state of a task when nobody works on it any more, or it took too long.
async fn settled(
    client: &reqwest::Client,
    url: &str,
    id: &str,
    begun: Instant,
) -> Result<String, Failed> {
    let asked = json!({"jsonrpc": "2.0", "id": 1, "method": "GetTask", "params": {"id": id}});
    loop {
        let answer = ask(client, url, &asked).await?;
        let state = answer["result"]["status"]["state"]
            .as_str()
            .unwrap_or("null");
        let is_open = matches!(state, "TASK_STATE_WORKING" | "TASK_STATE_SUBMITTED");
        if !is_open || begun.elapsed() > SETTLE {
            return Ok(state.to_owned());
        }
        sleep(Duration::from_millis(50)).await;
    }
}
