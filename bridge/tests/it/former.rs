//! The folder of a store that an earlier version of the program wrote; `tests/former/README.md` says how it was made.

use std::{fs, path::Path, time::Duration};

use bridge_protocol::{
    a2a::{Artifact, Part},
    wire::{Wire as _, to_value},
};
use serde_json::{Value, json};
use tokio::{
    process::Command,
    time::{Instant, sleep},
};

use crate::{
    app::say,
    client::Client,
    program::{Bridge, output},
};

const FORMER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/former");
const LIMIT: Duration = Duration::from_secs(60);

/// Returns the folder, and the information about it from the program that wrote it.
async fn former(folder: &Path) -> (String, Value) {
    let mut command = Command::new("tar");
    command.args(["-xzf", "store.tar.gz", "-C"]).arg(folder).current_dir(FORMER);
    let (code, _, error) = output(&mut command, LIMIT).await;
    assert_eq!(code, Some(0), "{error}");
    let expected = fs::read(format!("{FORMER}/expected.json")).unwrap();
    let mut expected = serde_json::from_slice(&expected).unwrap();
    join_texts(&mut expected);
    (format!("sled:{}", folder.display()), expected)
}

/// Joins the texts of artifacts, which the earlier version left in the pieces in which they came.
fn join_texts(expected: &mut Value) {
    let agents = expected["tasks"].as_object_mut().unwrap().values_mut();
    let tasks = agents.flat_map(|tasks| tasks.as_array_mut().unwrap());
    let artifacts = tasks.filter_map(|task| task.get_mut("artifacts")?.as_array_mut());
    for artifact in artifacts.flatten() {
        let parts = artifact["parts"].as_array().unwrap();
        let mut joined = Artifact::new("", Vec::new());
        joined.append_parts(parts.iter().map(|part| Part::read(part.clone()).unwrap()));
        artifact["parts"] = to_value(&joined.parts);
    }
}

async fn check(store: &str, tasks: usize) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_bridge"));
    command.args(["store", "check", "--store", store]);
    let (code, told, error) = output(&mut command, LIMIT).await;
    assert_eq!(code, Some(0), "{told}{error}");
    let whole = format!("{tasks} tasks, 0 of them damaged\n");
    assert!(told.ends_with(&whole), "{told}");
}

struct Talk {
    client: Client,
    bridge: Bridge,
}

impl Talk {
    fn with(store: &str) -> Self {
        let config = tempfile::NamedTempFile::new().unwrap();
        let agents = ["echo", "hanging", "sample"].map(|name| {
            format!("[[agents]]\nname = '{name}'\nbuiltin = '{name}'\nturns = 'answers'\n")
        });
        let text = format!("[push]\nallow = ['loopback']\n{}", agents.concat());
        fs::write(config.path(), text).unwrap();
        let config = config.path().to_str().unwrap();
        let bridge = Bridge::serve(&["--store", store, "--config", config]);
        Self { client: Client::of(bridge.url()), bridge }
    }

    async fn call(&self, agent: &str, method: &str, params: Value) -> Value {
        let answer = self.client.call(agent, method, &params).await.unwrap();
        assert!(answer["error"].is_null(), "{method}: {answer}");
        answer["result"].clone()
    }

    async fn becomes(&self, agent: &str, task: &Value, state: &str) -> Value {
        let begun = Instant::now();
        loop {
            let found = self.call(agent, "GetTask", json!({"id": task})).await;
            if found["status"]["state"] == state {
                return found;
            }
            assert!(begun.elapsed() < LIMIT, "expected {state}: {found}");
            sleep(Duration::from_millis(10)).await;
        }
    }
}

#[tokio::test]
async fn data_of_an_earlier_version_are_unchanged() {
    let folder = tempfile::tempdir().unwrap();
    let (store, expected) = former(folder.path()).await;
    let tasks = expected["tasks"].as_object().unwrap();
    let count = tasks.values().map(|tasks| tasks.as_array().unwrap().len());
    check(&store, count.sum()).await;
    let talk = Talk::with(&store);
    for agent in ["echo", "sample"] {
        let all = json!({"includeArtifacts": true, "historyLength": 100});
        let listed = talk.call(agent, "ListTasks", all).await;
        assert_eq!(listed["tasks"], tasks[agent], "{agent}");
        for task in tasks[agent].as_array().unwrap() {
            let found = talk.call(agent, "GetTask", json!({"id": task["id"]}));
            assert_eq!(found.await, *task);
        }
    }
    let of_task = json!({"taskId": expected["talk"]});
    let hooks = talk.call("sample", "ListTaskPushNotificationConfigs", of_task);
    let task = expected["talk"].as_str().unwrap();
    assert_eq!(hooks.await, expected["hooks"][task]);
}

#[tokio::test]
async fn turns_of_an_earlier_version_continue() {
    let folder = tempfile::tempdir().unwrap();
    let (store, expected) = former(folder.path()).await;
    let mut talk = Talk::with(&store);
    let failed = talk.becomes("hanging", &expected["began"], "TASK_STATE_FAILED");
    let failed = failed.await["status"]["message"].to_string();
    assert!(failed.contains("was restarted"), "{failed}");
    let waited = talk.becomes("hanging", &expected["waits"], "TASK_STATE_WORKING");
    waited.await;
    // A message that came before is known, and the bot's state is what it was.
    let mut again = say("m-13", "two");
    again["message"]["taskId"] = expected["talk"].clone();
    let known = talk.call("sample", "SendMessage", again.clone()).await;
    assert_eq!(known["task"]["id"], expected["talk"]);
    again["message"]["messageId"] = "m-14".into();
    again["message"]["parts"][0]["text"] = "end".into();
    let ended = talk.call("sample", "SendMessage", again).await;
    assert_eq!(ended["task"]["status"]["state"], "TASK_STATE_COMPLETED");
    let result = ended["task"]["artifacts"].to_string();
    assert!(result.contains("one") && result.contains("two"), "{ended}");
    let new = talk.call("echo", "SendMessage", say("new", "hello")).await;
    talk.bridge.kill();
    let talk = Talk::with(&store);
    let id = json!({"id": new["task"]["id"]});
    let found = talk.call("echo", "GetTask", id).await;
    assert_eq!(found["status"], new["task"]["status"]);
    drop(talk);
    let tasks = expected["tasks"].as_object().unwrap();
    let count = tasks.values().map(|tasks| tasks.as_array().unwrap().len());
    check(&store, count.sum::<usize>() + 1).await;
}
