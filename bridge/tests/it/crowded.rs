//! Tests that a flood of clients does not keep bots from calling back.

use std::{
    io::{BufRead as _, BufReader},
    process::{Child, Command, Stdio},
    sync::Arc,
    time::Duration,
};

use axum::response::IntoResponse as _;
use reqwest::StatusCode;
use serde_json::{Value, json};
use tokio::{
    sync::Notify,
    task::JoinSet,
    time::{sleep, timeout},
};

use crate::{client::Client, remote::standin::StandIn};

const LIMIT: Duration = Duration::from_secs(120);

/// The limit of open files, a quarter of which is for turns.
const FILES: usize = 150;
const TURNS: usize = FILES / 4;

/// The program with a bot, killed when this is dropped.
struct Bridge {
    child: Child,
    url: String,
}

impl Bridge {
    fn serve(bot: &StandIn, limits: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let config = folder.path().join("bridge.toml");
        let agent = format!("[[agents]]\nname = 'a'\nbot = '{}'\n", bot.url);
        std::fs::write(&config, format!("store = 'memory'\n{agent}[limits]\n{limits}")).unwrap();
        let mut shell = Command::new("sh");
        let script = format!("ulimit -n {FILES} && exec \"$0\" \"$@\"");
        shell.args(["-c", &script, env!("CARGO_BIN_EXE_bridge")]);
        shell.args(["serve", "--listen", "127.0.0.1:0", "--config"]).arg(&config);
        let mut child = shell.stderr(Stdio::piped()).spawn().unwrap();
        let mut lines = BufReader::new(child.stderr.take().unwrap()).lines().map_while(Result::ok);
        let url = lines.find_map(|line| Some(line.split_once("listening on ")?.1.to_owned()));
        // The pipe is read on, so that the program can log.
        std::thread::spawn(move || lines.for_each(drop));
        Self { child, url: url.unwrap() }
    }
}

impl Drop for Bridge {
    fn drop(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }
}

fn message(id: &str, text: &str) -> Value {
    let message = json!({"messageId": id, "role": "ROLE_USER", "parts": [{"text": text}]});
    json!({ "message": message })
}

/// Sends this many messages whose turns never end. Each task returns when its message was refused.
fn flood(url: &str, messages: usize, http: &reqwest::Client) -> JoinSet<()> {
    let mut flood = JoinSet::new();
    for number in 0..messages {
        let body = json!({"jsonrpc": "2.0", "id": 1, "method": "SendMessage",
            "params": message(&format!("m-{number}"), "hold")});
        let request = http.post(format!("{url}/a2a/a")).header("a2a-version", "1.0").json(&body);
        flood.spawn(async move {
            if let Ok(answer) = request.send().await {
                drop(answer.bytes().await);
            }
        });
    }
    flood
}

/// Returns the answer of a turn whose bot speaks after a flood of messages has begun.
async fn answer_in_flood(
    http: reqwest::ClientBuilder,
    limits: &str,
    messages: usize,
    is_refused: bool,
) -> Value {
    let go = Arc::new(Notify::new());
    let gone = go.clone();
    let bot = StandIn::that(move |post| {
        let go = gone.clone();
        async move {
            match post.text() {
                "hold" => std::future::pending::<()>().await,
                _ => go.notified().await,
            }
            post.say("done").await;
            StatusCode::OK.into_response()
        }
    })
    .await;
    let bridge = Bridge::serve(&bot, limits);
    let client = Client::of(&bridge.url);
    let turn = tokio::spawn(async move {
        client.call("a", "SendMessage", &message("first", "go")).await.unwrap()
    });
    let posts = async |count: usize| {
        while bot.posts().len() < count {
            sleep(Duration::from_millis(10)).await;
        }
    };
    timeout(LIMIT, posts(1)).await.unwrap();
    let mut flood = flood(&bridge.url, messages, &http.no_proxy().build().unwrap());
    timeout(LIMIT, posts(TURNS)).await.unwrap();
    if is_refused {
        timeout(LIMIT, flood.join_next()).await.unwrap();
    }
    go.notify_one();
    let answer = timeout(LIMIT, turn).await.unwrap().unwrap();
    answer["result"]["task"]["artifacts"][0]["parts"][0]["text"].clone()
}

#[tokio::test]
async fn a_bot_calls_back_when_clients_have_taken_all_connections() {
    let http = reqwest::Client::builder().http1_only();
    assert_eq!(answer_in_flood(http, "", 2 * FILES, true).await, "done");
}

#[tokio::test]
async fn a_bot_calls_back_when_clients_have_taken_all_requests() {
    let http = reqwest::Client::builder().http2_prior_knowledge();
    assert_eq!(answer_in_flood(http, "requests = 100", 190, true).await, "done");
}

#[tokio::test]
async fn turns_on_few_connections_take_no_more_than_their_share_of_open_files() {
    let http = reqwest::Client::builder().http2_prior_knowledge();
    assert_eq!(answer_in_flood(http, "", 190, false).await, "done");
}
