//! Rows that cannot be read: each costs only its own task.

use std::time::Duration;

use bridge::{
    caller::Caller,
    store::{Event, Idle, PostgresStore, Store, StoreError, testing::Sample},
};
use bridge_protocol::a2a::{TaskState, TaskStatus};
use jiff::Timestamp;
use serde_json::json;
use tokio::time::{Instant, sleep};

use super::{
    replicas::Talk,
    server::{Database, Server},
};

/// Tasks `a` to `e` with these events each, of which `a`, `b` and `d` are damaged.
async fn damaged(database: &Database, events: &[Event]) -> PostgresStore {
    let store = PostgresStore::open(&database.settings()).await.unwrap();
    for task in ["a", "b", "c", "d", "e"] {
        let sample = Sample::new(task);
        let mut all = vec![sample.created()];
        all.extend_from_slice(events);
        let append = sample.append(0, 1, all);
        store.append(&sample.caller, append).await.unwrap();
    }
    let damage = "UPDATE bridge.tasks SET head = '{' WHERE task IN ('a', 'b', 'd')";
    database.execute(damage).await;
    store
}

fn status(state: TaskState) -> Event {
    Event::Status { status: TaskStatus::new(state), metadata: None }
}

#[tokio::test(flavor = "multi_thread")]
async fn open_turns_are_found_despite_damaged_tasks() {
    let queued = Event::TurnQueued {
        turn: 1,
        message_id: "m".to_owned(),
        names_context: None,
        traceparent: None,
    };
    let names = |heads: Vec<bridge::store::Head>| -> Vec<String> {
        heads.into_iter().map(|head| head.task.to_string()).collect()
    };
    for (events, which) in [
        ([queued], "turns"),
        ([status(TaskState::InputRequired)], "waiting"),
        ([status(TaskState::Completed)], "ended"),
    ] {
        let database = Server::shared().database().await;
        let store = damaged(&database, &events).await;
        for (limit, expected) in [(1, &["c"][..]), (2, &["c", "e"]), (9, &["c", "e"])] {
            let found = match which {
                "turns" => store.open_turns("", limit).await,
                "waiting" => {
                    store.idle_tasks(Idle::Waiting, "sample", None, Timestamp::MAX, limit).await
                }
                _ => store.idle_tasks(Idle::Ended, "sample", None, Timestamp::MAX, limit).await,
            };
            assert_eq!(names(found.unwrap()), expected, "{which}, {limit}");
        }
        assert_eq!(store.damage().tasks, 3, "{which}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_damaged_task_does_not_exist_for_other_callers() {
    let database = Server::shared().database().await;
    let store = damaged(&database, &[]).await;
    let error = store.head(&Sample::new("a").caller, "a").await.unwrap_err();
    assert!(matches!(error, StoreError::Damaged { .. }), "{error}");
    for task in ["a", "c", "none"] {
        let error = store.task(&Caller::new("mallory"), task).await.unwrap_err();
        assert!(matches!(error, StoreError::NotFound { .. }), "{error}");
    }
}

/// A bridge that starts beside damaged tasks does what the others need, and counts the damage.
#[tokio::test(flavor = "multi_thread")]
async fn a_bridge_recovers_and_expires_the_others() {
    let database = Server::shared().database().await;
    let mut one = Talk::with(&database);
    let mut tasks = Vec::new();
    for number in 0..3 {
        let message = json!({"messageId": format!("m{number}")});
        tasks.push(one.send("hanging", message, false).await["id"].clone());
    }
    one.bridge.kill();
    // Pending writes to the database are completed first, because an append would write the head again.
    database.is_left().await;
    let id = tasks[1].as_str().unwrap();
    let damage = format!("UPDATE bridge.tasks SET head = '{{' WHERE task = '{id}'");
    database.execute(&damage).await;
    let two = Talk::with(&database);
    for task in [&tasks[0], &tasks[2]] {
        two.becomes("hanging", task, "TASK_STATE_FAILED").await;
    }
    let begun = Instant::now();
    loop {
        let metrics = reqwest::get(format!("{}/metrics", two.bridge.url())).await;
        let text = metrics.unwrap().text().await.unwrap();
        if text.contains("bridge_store_damaged_tasks 1") {
            break;
        }
        assert!(begun.elapsed() < Duration::from_secs(60), "{text}");
        sleep(Duration::from_millis(20)).await;
    }
}
