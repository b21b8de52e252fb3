//! Bridges that stop or are killed while a bot is still working: another one continues, and each turn ends once.

use std::{process::Stdio, sync::Arc, time::Duration};

use axum::response::IntoResponse as _;
use futures_util::StreamExt as _;
use reqwest::StatusCode;
use serde_json::{Value, json};
use tokio::{
    io::{AsyncBufReadExt as _, BufReader, Lines},
    process::{ChildStdout, Command},
    sync::Semaphore,
    time::{Instant, sleep, timeout},
};

use super::{
    address::Address,
    replicas::{LONG, Talk},
    server::{Database, Server},
};
use crate::{interop::interop, remote::standin::StandIn, venv};

/// The bot's action before it pauses.
#[derive(Clone, Copy, PartialEq)]
enum FirstAction {
    Speaking,
    Silently,
}

/// Starts a bot that ends the conversation when it may, and answers the bridge's request only then.
async fn slow(begins: FirstAction, may: Arc<Semaphore>) -> StandIn {
    StandIn::that(move |post| {
        let may = may.clone();
        // The bot continues when the bridge that called it has ended.
        let working = tokio::spawn(async move {
            if begins == FirstAction::Speaking {
                post.say("a moment, please").await;
            }
            may.acquire().await.unwrap().forget();
            post.say("at last").await;
            post.send(json!({"text": "done", "type": "endOfConversation"})).await;
        });
        async move {
            working.await.unwrap();
            StatusCode::OK.into_response()
        }
    })
    .await
}

/// Two bridges behind one address, with a bot that is slow.
struct Pair {
    database: Database,
    _address: Address,
    bot: StandIn,
    may: Arc<Semaphore>,
    one: Talk,
    other: Talk,
}

impl Pair {
    async fn start(begins: FirstAction) -> Self {
        let may = Arc::new(Semaphore::new(0));
        let bot = slow(begins, may.clone()).await;
        let database = Server::shared().database().await;
        let address = Address::start().await;
        let keys = format!("callback_url = '{}'\n[drain]\nturns = '1s'", address.url);
        let agent = format!("[[agents]]\nname = 'bot'\nbot = '{}'\n", bot.url);
        let [one, other] = [(); 2].map(|()| Talk::of(&database, &keys, &agent));
        // From the beginning the bot reaches the one that lives on.
        address.leads_to([other.bridge.url()]);
        Self { database, _address: address, bot, may, one, other }
    }

    /// Waits until the bot has the message, and has sent its first output.
    async fn bot_is_at_work(&self, begins: FirstAction) {
        let said = match begins {
            FirstAction::Speaking => {
                "SELECT count(*) FROM bridge.events WHERE convert_from(body, 'UTF8') LIKE '%a moment%'"
            }
            FirstAction::Silently => "SELECT 1::bigint",
        };
        let begun = Instant::now();
        while self.bot.posts().is_empty() || self.database.number(said).await == 0 {
            assert!(begun.elapsed() < LONG, "the bot was not called");
            sleep(Duration::from_millis(5)).await;
        }
    }

    /// Waits until the other bridge is the only one.
    async fn is_alone(&self) {
        let begun = Instant::now();
        while self.database.number("SELECT count(*) FROM bridge.replicas").await > 1 {
            assert!(begun.elapsed() < LONG, "nobody takes the turn over");
            sleep(Duration::from_millis(5)).await;
        }
    }

    /// Waits until there are tasks in these states, the newest first. One turn has ended, once, and the bot's answer is in one
    /// of them.
    async fn is_ended_once(&self, states: &[&str]) {
        let begun = Instant::now();
        let page = loop {
            let page = self.other.call("bot", "ListTasks", json!({"includeArtifacts": true}));
            let page = page.await;
            let tasks = page["tasks"].as_array().unwrap().iter();
            let found = tasks.map(|task| task["status"]["state"].as_str().unwrap());
            if found.eq(states.iter().copied()) {
                break page;
            }
            assert!(begun.elapsed() < LONG, "expected {states:?}, found {page}");
            sleep(Duration::from_millis(20)).await;
        };
        assert_eq!(self.bot.posts().len(), 1);
        assert_eq!(page.to_string().matches("\"at last\"").count(), 1, "{page}");
        let ends =
            "SELECT coalesce(sum(regexp_count(convert_from(body, 'UTF8'), 'turnEnded')), 0)::bigint
            FROM bridge.events";
        // The task is shown as ended before its turn is.
        let ended = loop {
            match self.database.number(ends).await {
                0 => sleep(Duration::from_millis(20)).await,
                ended => break ended,
            }
            assert!(begun.elapsed() < LONG, "the turn does not end: {page}");
        };
        assert_eq!(ended, 1, "{page}");
    }
}

/// The bot has shown that it has the message, so its turn stays open.
#[tokio::test(flavor = "multi_thread")]
async fn a_slow_bot_ends_its_turn_though_the_bridge_of_the_turn_dies() {
    let mut pair = Pair::start(FirstAction::Speaking).await;
    pair.one.send("bot", json!({"messageId": "m"}), false).await;
    pair.bot_is_at_work(FirstAction::Speaking).await;
    pair.one.bridge.kill();
    pair.is_alone().await;
    pair.may.add_permits(1);
    pair.is_ended_once(&["TASK_STATE_COMPLETED"]).await;
}

/// It is unknown whether the bot has the message, so its turn fails, once; later output of the bot is a separate task.
#[tokio::test(flavor = "multi_thread")]
async fn a_silent_bot_fails_once_when_the_bridge_of_its_turn_dies() {
    let mut pair = Pair::start(FirstAction::Silently).await;
    let task = pair.one.send("bot", json!({"messageId": "m"}), false);
    let task = task.await;
    pair.bot_is_at_work(FirstAction::Silently).await;
    pair.one.bridge.kill();
    let failed = pair.other.becomes("bot", &task["id"], "TASK_STATE_FAILED").await;
    let told = failed["status"]["message"]["parts"][0]["text"].as_str();
    assert!(told.unwrap().contains("is not sent again"), "{failed}");
    pair.may.add_permits(1);
    pair.is_ended_once(&["TASK_STATE_COMPLETED", "TASK_STATE_FAILED"]).await;
}

async fn line(lines: &mut Lines<BufReader<ChildStdout>>) -> String {
    let line = timeout(LONG, lines.next_line()).await;
    line.expect("the client says more").unwrap().unwrap_or_default()
}

/// The stream of another client breaks when its bridge stops, and continues at another bridge to the end.
#[tokio::test(flavor = "multi_thread")]
async fn a_third_party_client_continues_at_another_bridge_when_one_stops() {
    let python = venv::with(&venv::A2A_SDK_1_0).await.join("bin/python");
    let mut pair = Pair::start(FirstAction::Speaking).await;
    let agents = [&pair.one, &pair.other].map(|talk| format!("{}/a2a/bot", talk.bridge.url()));
    let mut client = Command::new(python)
        .arg(interop("a2a_sdk_resumes.py"))
        .args(agents)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .kill_on_drop(true)
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(client.stdout.take().unwrap()).lines();
    assert_eq!(line(&mut lines).await, "following");
    pair.bot_is_at_work(FirstAction::Speaking).await;
    pair.one.bridge.terminate();
    // A stream that ended without an error would mean that the turn is over.
    let told = line(&mut lines).await;
    assert!(told.starts_with("ended by A2AClientError"), "{told}");
    let left = line(&mut lines).await;
    assert!(left.starts_with("left in TASK_STATE_"), "{left}");
    assert!(!left.contains("COMPLETED") && !left.contains("FAILED"), "{left}");
    assert_eq!(line(&mut lines).await, "following");
    assert_eq!(pair.one.bridge.ended().await, Some(0));
    pair.is_alone().await;
    pair.may.add_permits(1);
    assert_eq!(line(&mut lines).await, "the end is TASK_STATE_COMPLETED");
    pair.is_ended_once(&["TASK_STATE_COMPLETED"]).await;
}

/// Posts a message for which the answer is awaited: the status, and the body.
async fn ask(address: String, body: Value) -> (StatusCode, Value) {
    let request = reqwest::Client::new().post(address).header("a2a-version", "1.0");
    let answer = request.json(&body).send().await.expect("a whole answer");
    (answer.status(), answer.json().await.expect("a whole answer"))
}

/// Others have taken over the work of a bridge: it answers those who wait for its turns before it ends, so that they can ask
/// another one.
#[tokio::test(flavor = "multi_thread")]
async fn a_bridge_that_is_taken_for_dead_answers_whoever_waits() {
    let database = Server::shared().database().await;
    let mut one = Talk::with(&database);
    let agent = format!("{}/a2a/hanging", one.bridge.url());
    let message = |id: &str| json!({"message": {"messageId": id, "role": "ROLE_USER", "parts": [{"text": "hello"}]}});
    let call = json!({"jsonrpc": "2.0", "id": 1, "method": "SendMessage", "params": message("m1")});
    let over_rpc = tokio::spawn(ask(agent.clone(), call));
    let over_rest = tokio::spawn(ask(format!("{agent}/message:send"), message("m2")));
    let streamed = one.send("hanging", json!({"messageId": "m3"}), false).await;
    let mut stream = one.open_stream("hanging", &streamed["id"]).await;
    let mut text = stream.next().await.unwrap().unwrap().to_vec();
    let working = "SELECT count(*) FROM bridge.tasks WHERE state = 'TASK_STATE_WORKING'";
    database.until(working, |tasks| tasks == 3, "the agent is not called").await;
    database.execute("DELETE FROM bridge.replicas").await;
    let (_, called) = timeout(LONG, over_rpc).await.unwrap().unwrap();
    let told = "the server is stopping: send the request again";
    assert_eq!(called["error"]["message"], told, "{called}");
    let (status, refused) = timeout(LONG, over_rest).await.unwrap().unwrap();
    assert_eq!(
        (status, &refused["error"]["message"]),
        (StatusCode::SERVICE_UNAVAILABLE, &told.into())
    );
    while let Some(Ok(piece)) = stream.next().await {
        text.extend_from_slice(&piece);
    }
    let text = String::from_utf8(text).unwrap();
    assert!(
        text.ends_with(": the server is stopping, resume the stream\nretry: 1000\n\n"),
        "{text}"
    );
    assert_eq!(one.bridge.ended().await, Some(4));
}
