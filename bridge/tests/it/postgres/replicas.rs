//! Several bridges on one database: each message may reach another one, and each of them may be killed.

use std::{
    sync::{Arc, Mutex},
    time::Duration,
};

use axum::{Router, body::Bytes};
use futures_util::{StreamExt as _, stream::BoxStream};
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::time::{Instant, sleep, timeout};

use super::server::{Database, Server};
use crate::{client::Client, program::Bridge};

pub(super) const LONG: Duration = Duration::from_secs(60);

/// Returns a bridge on the database, which others take for dead after two seconds, with these keys and agents besides
/// the usual.
fn bridge(database: &Database, folder: &tempfile::TempDir, keys: &str, more: &str) -> Bridge {
    let config = folder.path().join("bridge.toml");
    let agents = ["echo", "hanging", "sample"]
        .map(|name| {
            format!(
                "[[agents]]\nname = '{name}'\nbuiltin = '{name}'\nturns = 'answers'\nqueue = 100\n"
            )
        })
        .concat();
    let text = format!(
        "{keys}\n[push]\nallow = ['loopback']\n[store]\nplace = '{}'\nlease = '2s'\n{agents}{more}",
        database.url
    );
    std::fs::write(&config, text).unwrap();
    Bridge::serve(&["--config", config.to_str().unwrap()])
}

pub(super) struct Talk {
    client: Client,
    url: String,
    _folder: tempfile::TempDir,
    pub(super) bridge: Bridge,
}

impl Talk {
    pub(super) fn with(database: &Database) -> Self {
        Self::of(database, "", "")
    }

    /// Starts a bridge with these keys and agents besides the usual ones.
    pub(super) fn of(database: &Database, keys: &str, agents: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let bridge = bridge(database, &folder, keys, agents);
        Self {
            client: Client::of(bridge.url()),
            url: bridge.url().to_owned(),
            _folder: folder,
            bridge,
        }
    }

    pub(super) async fn call(&self, agent: &str, method: &str, params: Value) -> Value {
        let answer = self.client.call(agent, method, &params).await.unwrap();
        assert!(answer["error"].is_null(), "{method}: {answer}");
        answer["result"].clone()
    }

    pub(super) async fn send(&self, agent: &str, message: Value, waits: bool) -> Value {
        let mut message = message;
        message["role"] = "ROLE_USER".into();
        if message["parts"].is_null() {
            message["parts"] = json!([{"text": "hello"}]);
        }
        let configuration = json!({"returnImmediately": !waits});
        let params = json!({"message": message, "configuration": configuration});
        self.call(agent, "SendMessage", params).await["task"].clone()
    }

    pub(super) async fn task(&self, agent: &str, id: &Value) -> Value {
        self.call(agent, "GetTask", json!({"id": id})).await
    }

    /// Waits until a task has this state.
    pub(super) async fn becomes(&self, agent: &str, id: &Value, state: &str) -> Value {
        let begun = Instant::now();
        loop {
            let task = self.task(agent, id).await;
            if task["status"]["state"] == state {
                return task;
            }
            assert!(begun.elapsed() < LONG, "expected {state}: {task}");
            sleep(Duration::from_millis(20)).await;
        }
    }

    /// Opens a task's stream.
    pub(super) async fn open_stream(
        &self,
        agent: &str,
        id: &Value,
    ) -> BoxStream<'static, reqwest::Result<Bytes>> {
        let body =
            json!({"jsonrpc": "2.0", "id": 1, "method": "SubscribeToTask", "params": {"id": id}});
        let request = reqwest::Client::new().post(format!("{}/a2a/{agent}", self.url));
        let answer = request.header("a2a-version", "1.0").json(&body).send();
        answer.await.unwrap().bytes_stream().boxed()
    }

    /// Reads a task's stream to its end.
    pub(super) async fn stream(&self, agent: &str, id: &Value) -> String {
        let mut chunks = self.open_stream(agent, id).await;
        let mut text = String::new();
        while let Some(chunk) = chunks.next().await {
            text.push_str(&String::from_utf8_lossy(&chunk.unwrap()));
        }
        text
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_message_a_stream_and_a_cancel_may_reach_another_bridge() {
    let database = Server::shared().database().await;
    let (one, two) = (Talk::with(&database), Talk::with(&database));
    let first = one.send("hanging", json!({"messageId": "m1", "contextId": "c"}), false);
    let first = first.await;
    assert_eq!(first["status"]["state"], "TASK_STATE_WORKING");
    // The same message is the same task, wherever it arrives.
    let again = two.send("hanging", json!({"messageId": "m1", "contextId": "c"}), false);
    assert_eq!(again.await["id"], first["id"]);
    // A message to a conversation in which the other one works has to wait.
    let second = two.send("hanging", json!({"messageId": "m2", "contextId": "c"}), false);
    let second = second.await;
    assert_eq!(second["status"]["state"], "TASK_STATE_SUBMITTED");
    let canceling = async {
        sleep(Duration::from_millis(300)).await;
        two.call("hanging", "CancelTask", json!({"id": first["id"]})).await
    };
    let streaming = timeout(LONG, two.stream("hanging", &first["id"]));
    let (streamed, canceled) = tokio::join!(streaming, canceling);
    assert!(streamed.unwrap().contains("TASK_STATE_CANCELED"));
    assert_eq!(canceled["status"]["state"], "TASK_STATE_CANCELED");
    // The holder of the conversation continues with the turns that wait in the log.
    one.becomes("hanging", &second["id"], "TASK_STATE_WORKING").await;
    let answered = two.send("echo", json!({"messageId": "m3"}), true).await;
    assert_eq!(one.task("echo", &answered["id"]).await, answered);
}

#[tokio::test(flavor = "multi_thread")]
async fn turns_of_a_killed_bridge_are_taken_up() {
    let database = Server::shared().database().await;
    let (mut one, two) = (Talk::with(&database), Talk::with(&database));
    let begun = one.send("hanging", json!({"messageId": "m1", "contextId": "c"}), false);
    let begun = begun.await;
    let queued = one.send("hanging", json!({"messageId": "m2", "contextId": "c"}), false);
    let queued = queued.await;
    let elsewhere = two.send("hanging", json!({"messageId": "m3", "contextId": "d"}), false);
    let elsewhere = elsewhere.await;
    one.bridge.kill();
    let failed = two.becomes("hanging", &begun["id"], "TASK_STATE_FAILED").await;
    let told = failed["status"]["message"]["parts"][0]["text"].as_str().unwrap();
    assert!(told.contains("was restarted"), "{told}");
    two.becomes("hanging", &queued["id"], "TASK_STATE_WORKING").await;
    let untouched = two.task("hanging", &elsewhere["id"]).await;
    assert_eq!(untouched["status"]["state"], "TASK_STATE_WORKING");
    // A restarted bridge touches nothing that others work on.
    let three = Talk::with(&database);
    let untouched = three.task("hanging", &queued["id"]).await;
    assert_eq!(untouched["status"]["state"], "TASK_STATE_WORKING");
    // Other bridges need not wait for a bridge that stops in order.
    two.bridge.terminate();
    three.becomes("hanging", &queued["id"], "TASK_STATE_FAILED").await;
    three.becomes("hanging", &elsewhere["id"], "TASK_STATE_FAILED").await;
}

/// Messages of one conversation at three bridges at the same time: each is answered once.
/// A lease that was returned just before a failover may be there again after it.
#[tokio::test(flavor = "multi_thread")]
async fn a_lease_that_comes_back_delays_its_conversation_for_seconds() {
    let database = Server::shared().database().await;
    let (one, two) = (Talk::with(&database), Talk::with(&database));
    let message = |id: &str| json!({"messageId": id, "contextId": "c"});
    let first = one.send("hanging", message("m1"), false).await;
    let keep = "CREATE TABLE kept AS SELECT * FROM bridge.conversations";
    database.execute(keep).await;
    one.call("hanging", "CancelTask", json!({"id": first["id"]})).await;
    let begun = Instant::now();
    while database.number("SELECT count(*) FROM bridge.conversations").await > 0 {
        assert!(begun.elapsed() < LONG, "the lease is not returned");
        sleep(Duration::from_millis(20)).await;
    }
    let back = "INSERT INTO bridge.conversations SELECT * FROM kept";
    database.execute(back).await;
    let second = two.send("hanging", message("m2"), false).await;
    let works = two.becomes("hanging", &second["id"], "TASK_STATE_WORKING");
    timeout(LONG / 2, works).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn three_bridges_serve_one_conversation() {
    let database = Server::shared().database().await;
    let bridges = [(); 3].map(|()| Talk::with(&database));
    let send = |number: usize| {
        let message = json!({"messageId": format!("m{number}"), "contextId": "c"});
        bridges[number % 3].send("echo", message, true)
    };
    let answers = futures_util::future::join_all((0..60).map(send)).await;
    for answer in &answers {
        assert_eq!(answer["status"]["state"], "TASK_STATE_COMPLETED", "{answer}");
    }
    let page = bridges[0].call("echo", "ListTasks", json!({"pageSize": 100})).await;
    assert_eq!(page["totalSize"], 60);
    let begun = Instant::now();
    while database.number("SELECT count(*) FROM bridge.conversations").await > 0 {
        assert!(begun.elapsed() < LONG, "a lease was left");
        sleep(Duration::from_millis(20)).await;
    }
}

/// The events that a webhook received: the states of the statuses, in order.
#[derive(Clone, Default)]
struct Hook(Arc<Mutex<Vec<String>>>);

impl Hook {
    async fn start() -> (Self, String) {
        let hook = Self::default();
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let noted = hook.clone();
        let take = async move |body: Bytes| {
            let body: Value = serde_json::from_slice(&body).unwrap();
            let state = body["statusUpdate"]["status"]["state"].as_str();
            noted.0.lock().unwrap().extend(state.map(str::to_owned));
        };
        let app = Router::new().fallback(take);
        tokio::spawn(async move { axum::serve(listener, app).await });
        (hook, url)
    }

    async fn gets(&self, expected: &str) {
        let begun = Instant::now();
        while self.0.lock().unwrap().iter().all(|state| state != expected) {
            assert!(begun.elapsed() < LONG, "{:?}", self.0.lock().unwrap());
            sleep(Duration::from_millis(20)).await;
        }
    }
}

/// A webhook that was set at one bridge receives the events of another, once, and also when its bridge is killed.
#[tokio::test(flavor = "multi_thread")]
async fn a_webhook_gets_changes_that_any_bridge_makes() {
    let database = Server::shared().database().await;
    let (one, mut two) = (Talk::with(&database), Talk::with(&database));
    for is_killed in [false, true] {
        let (hook, url) = Hook::start().await;
        let message = json!({"messageId": format!("m-{is_killed}")});
        let task = one.send("hanging", message, false).await;
        let setting = json!({"taskId": task["id"], "id": "a", "url": url});
        two.call("hanging", "CreateTaskPushNotificationConfig", setting).await;
        if is_killed {
            two.bridge.kill();
        }
        one.call("hanging", "CancelTask", json!({"id": task["id"]})).await;
        hook.gets("TASK_STATE_CANCELED").await;
        let got = hook.0.lock().unwrap().clone();
        assert_eq!(got, ["TASK_STATE_CANCELED"]);
    }
}
