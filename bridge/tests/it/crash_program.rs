//! `bridge serve` under load is killed repeatedly, at different moments, with one folder: all acknowledged answers must
//! be there afterwards unchanged, and no task may be left without its end.
//!
//! Five rounds by default; `BRIDGE_KILLS=50` for the full measurement. The figures are printed.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
    time::Duration,
};

use serde_json::{Value, json};
use tokio::{
    sync::{Mutex, watch},
    task::JoinSet,
    time::{Instant, sleep, timeout},
};

use crate::{client::Client, program::Bridge};

/// The number of clients at a time.
const CLIENTS: usize = 8;

/// The agents that they talk to.
const AGENTS: [&str; 3] = ["sample", "echo", "hanging"];

/// The messages that each client repeats: turns that are waited for, turns that run in the background, and turns that
/// have to wait for the one before them.
const SCRIPT: [Line; 8] = [
    Line::waiting("sample", "hello"),
    Line::waiting("sample", "-multi"),
    Line::waiting("sample", "more").in_the_same_task(),
    Line::at_once("echo", "hello"),
    Line::at_once("echo", "more").in_the_same_task(),
    Line::at_once("hanging", "hello"),
    Line::at_once("hanging", "more").in_the_same_task(),
    Line::at_once("sample", "-stream"),
];

/// One of this many messages is sent again after a restart.
const REPEATED: usize = 5;

/// The time limit after a restart until no task is running.
const SETTLE: Duration = Duration::from_secs(120);

/// The numbers of answers after which a round is killed, a moment later.
const ANSWERS: [usize; 5] = [40, 5, 90, 20, 150];

/// One message of a client.
#[derive(Clone, Copy)]
struct Line {
    agent: &'static str,
    text: &'static str,
    returns_at_once: bool,
    goes_on: bool,
}

/// A message that a client sent, and the task in its answer.
#[derive(Clone, Debug)]
struct SentMessage {
    agent: &'static str,
    params: Value,
    task: Value,
}

#[derive(Debug, Default)]
struct Figures {
    kills: usize,
    acknowledged: usize,
    lost: usize,
    changed: usize,
    stuck: usize,
    /// Messages that were sent again and did not find their task as it was.
    run_twice: usize,
    /// Tasks whose answer was lost because of the kill; they may exist or not.
    unacknowledged: usize,
}

/// The answers by message.
type Log = Arc<Mutex<BTreeMap<String, SentMessage>>>;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn acknowledged_answers_survive_kills_of_the_program() {
    let kills = std::env::var("BRIDGE_KILLS").map_or(5, |text| text.parse().unwrap());
    let folder = tempfile::tempdir().unwrap();
    let store = format!("sled:{}", folder.path().display());
    let mut figures = Figures::default();
    let log = Log::default();
    for round in 0..kills {
        let mut bridge = serve(&store);
        verify(&bridge, &log, &mut figures).await;
        load_until_killed(&mut bridge, round, &log).await;
        figures.kills += 1;
    }
    let bridge = serve(&store);
    verify(&bridge, &log, &mut figures).await;
    figures.acknowledged = log.lock().await.len();
    println!("{figures:?}");
    assert!(figures.acknowledged > kills, "{figures:?}");
    let wrong = [figures.lost, figures.changed, figures.stuck, figures.run_twice];
    assert_eq!(wrong, [0; 4], "{figures:?}");
}

fn serve(store: &str) -> Bridge {
    let builtins = AGENTS.map(|name| ["--builtin", name]);
    Bridge::serve(&[&["--store", store], builtins.as_flattened()].concat())
}

/// Runs clients until this number of answers has come, then kills the program while other requests are open.
async fn load_until_killed(bridge: &mut Bridge, round: usize, log: &Log) {
    let (count, mut counted) = watch::channel(0);
    let mut clients = JoinSet::new();
    for number in 0..CLIENTS {
        let client = Client::of(bridge.url());
        let (log, count) = (log.clone(), count.clone());
        clients
            .spawn(async move { talk(&client, &format!("{round}-{number}"), &log, &count).await });
    }
    let enough = ANSWERS[round % ANSWERS.len()];
    let waited = timeout(SETTLE, counted.wait_for(|count| *count >= enough)).await;
    waited.expect("answers come").unwrap();
    // A moment that does not follow from an answer.
    sleep(Duration::from_micros(997 * (round as u64 % 13))).await;
    bridge.kill();
    timeout(SETTLE, clients.join_all()).await.expect("clients see that the program is gone");
}

/// Goes through the script until no answer comes, and takes down what was answered.
async fn talk(client: &Client, name: &str, log: &Log, count: &watch::Sender<usize>) {
    let mut last = Value::Null;
    for (number, line) in SCRIPT.iter().cycle().enumerate() {
        let id = format!("{name}-{number}");
        let params = line.params(&id, &last["id"]);
        let Some(answer) = client.call(line.agent, "SendMessage", &params).await else {
            return;
        };
        let task = answer["result"]["task"].clone();
        assert!(task.is_object(), "{params}: {answer}");
        last = task.clone();
        let agent = line.agent;
        log.lock().await.insert(id, SentMessage { agent, params, task });
        count.send_modify(|count| *count += 1);
    }
}

impl Line {
    const fn waiting(agent: &'static str, text: &'static str) -> Self {
        Self { agent, text, returns_at_once: false, goes_on: false }
    }

    const fn at_once(agent: &'static str, text: &'static str) -> Self {
        Self { returns_at_once: true, ..Self::waiting(agent, text) }
    }

    const fn in_the_same_task(self) -> Self {
        Self { goes_on: true, ..self }
    }

    fn params(&self, id: &str, last_task: &Value) -> Value {
        let part = json!({"text": self.text});
        let mut message = json!({"messageId": id, "role": "ROLE_USER", "parts": [part]});
        if self.goes_on {
            message["taskId"] = last_task.clone();
        }
        json!({"message": message, "configuration": {"returnImmediately": self.returns_at_once}})
    }
}

/// Compares what a restarted program shows with all that was answered before.
async fn verify(bridge: &Bridge, log: &Log, figures: &mut Figures) {
    let client = Client::of(bridge.url());
    settle(&client, figures).await;
    let listed = list(&client, &json!({})).await;
    let mut unknown: BTreeSet<_> = listed.iter().map(id).collect();
    let is_listed = unknown.clone();
    let log = log.lock().await;
    for (number, told) in log.values().enumerate() {
        let id = id(&told.task);
        unknown.remove(id);
        let got = client.call(told.agent, "GetTask", &json!({"id": id})).await.unwrap();
        let now = &got["result"];
        if now.is_null() || !is_listed.contains(id) {
            figures.lost += 1;
        } else if !told.is_followed_by(now) {
            eprintln!("changed: {}\nnow: {now}", told.task);
            figures.changed += 1;
        }
        if number % REPEATED == 0 {
            let again = client.call(told.agent, "SendMessage", &told.params).await.unwrap();
            figures.run_twice += usize::from(again["result"]["task"] != *now);
        }
    }
    figures.unacknowledged = unknown.len();
}

fn id(task: &Value) -> &str {
    task["id"].as_str().unwrap()
}

/// Waits until no task is worked on any more; those that still are then are stuck.
async fn settle(client: &Client, figures: &mut Figures) {
    let deadline = Instant::now() + SETTLE;
    loop {
        let mut open = list(client, &json!({"status": "TASK_STATE_WORKING"})).await;
        open.extend(list(client, &json!({"status": "TASK_STATE_SUBMITTED"})).await);
        if open.is_empty() {
            return;
        }
        if Instant::now() > deadline {
            figures.stuck += open.len();
            return;
        }
        sleep(Duration::from_millis(20)).await;
    }
}

/// Returns the tasks of every agent, from all pages.
async fn list(client: &Client, filter: &Value) -> Vec<Value> {
    let mut tasks = Vec::new();
    for agent in AGENTS {
        let mut params = filter.clone();
        params["pageSize"] = 100.into();
        loop {
            let page = client.call(agent, "ListTasks", &params).await.unwrap();
            let page = &page["result"];
            tasks.extend(page["tasks"].as_array().unwrap().iter().cloned());
            params["pageToken"] = page["nextPageToken"].clone();
            if page["nextPageToken"] == "" {
                break;
            }
        }
    }
    tasks
}

impl SentMessage {
    /// Returns whether a task agrees with an earlier answer: existing messages must not change, and only a turn that
    /// was open or came later may change anything.
    fn is_followed_by(&self, now: &Value) -> bool {
        let (before, after) = (said(&self.task), said(now));
        let kept = before.iter().all(|message| after.contains(message));
        // Of a turn that was not waited for it is only known that it was open.
        let waited = self.params["configuration"]["returnImmediately"] == false;
        let is_last = by_users(&before) == by_users(&after);
        kept && match state(&self.task) {
            "TASK_STATE_COMPLETED" | "TASK_STATE_FAILED" => self.task == *now,
            "TASK_STATE_INPUT_REQUIRED" if waited && is_last => self.task == *now,
            _ => match state(now) {
                "TASK_STATE_COMPLETED" | "TASK_STATE_INPUT_REQUIRED" => true,
                "TASK_STATE_FAILED" => says_why(now),
                _ => false,
            },
        }
    }
}

fn state(task: &Value) -> &str {
    task["status"]["state"].as_str().unwrap()
}

/// Returns all messages of a task, that of its status too.
fn said(task: &Value) -> Vec<&Value> {
    let history = task["history"].as_array().into_iter().flatten();
    history.chain(task["status"].get("message")).collect()
}

fn by_users(messages: &[&Value]) -> usize {
    messages.iter().filter(|message| message["role"] == "ROLE_USER").count()
}

fn says_why(task: &Value) -> bool {
    let text = task["status"]["message"]["parts"][0]["text"].as_str();
    text.is_some_and(|text| text.contains("was restarted"))
}
