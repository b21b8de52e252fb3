//! Tests of the data that are needed after a restart.

use bridge_protocol::a2a::{Content, Part, TaskState};

use super::{
    Backend,
    sample::{AGENT, Sample, artifact, at, status},
};
use crate::{
    Event, Idle, ListPosition, ListQuery, RecordKey, Store, StoreError, StoredEvent, TurnState,
    caller::Caller,
};

/// Checks the tasks with open turns, the states of these turns, and the counts of tasks that are not terminal.
pub async fn open_turns_are_listed(backend: &impl Backend) {
    let store = backend.open();
    for task in ["done", "ending", "queued", "started", "waiting"] {
        Sample::new(task).create(&*store, 1).await;
    }
    let started = Event::TurnStarted { turn: 1, open_until: Some(at(9000)), reference: None };
    let ended = || Event::TurnEnded { turn: 1 };
    for (task, event) in [
        ("done", ended()),
        ("done", status(TaskState::Completed, "yes")),
        ("ending", status(TaskState::Canceled, "no")),
        ("started", started),
        ("waiting", status(TaskState::InputRequired, "well?")),
        ("waiting", ended()),
    ] {
        Sample::new(task).then(&*store, 2, event).await;
    }
    let heads = store.open_turns("", 99).await.unwrap();
    assert_eq!(store.owner("done").await.unwrap(), heads[0].owner);
    let unknown = store.owner("none").await;
    assert!(matches!(unknown, Err(StoreError::NotFound { .. })));
    let page = store.open_turns(&heads[0].task, 1).await.unwrap();
    assert_eq!(page, heads[1..2]);
    let turns = heads.into_iter().map(|head| {
        let turn = head.turns.into_iter().next().map(|turn| turn.state);
        (head.task, turn)
    });
    let started = TurnState::Started { open_until: Some(at(9000)), reference: None };
    assert_eq!(
        turns.collect::<Vec<_>>(),
        [
            ("ending".into(), Some(TurnState::Queued)),
            ("queued".into(), Some(TurnState::Queued)),
            ("started".into(), Some(started)),
        ]
    );
    let counts = store.counts().await.unwrap();
    assert_eq!((counts.len(), counts[AGENT].open), (1, 3));
}

/// Checks that waiting tasks are listed, longest first, and only those that have waited since the given time or longer.
pub async fn waiting_tasks_are_listed_by_time(backend: &impl Backend) {
    let store = backend.open();
    for (number, task) in ["b", "a", "c", "d", "e", "f"].into_iter().enumerate() {
        let sample = Sample::new(task).of(Caller::new(["alice", "bob"][number % 2]));
        sample.create(&*store, 1).await;
        let state = match task {
            "d" => TaskState::Working,
            _ => TaskState::InputRequired,
        };
        let time = 10 * (number as i64 + 1);
        sample.then(&*store, time, status(state, "well?")).await;
        if task != "e" {
            sample.then(&*store, 70, Event::TurnEnded { turn: 1 }).await;
        }
    }
    let waiting = async |after: Option<(i64, &str)>, until, limit| {
        let after = after.map(|(millis, task)| ListPosition { millis, task: task.into() });
        let found = store.idle_tasks(Idle::Waiting, AGENT, after.as_ref(), at(until), limit);
        let found = found.await.unwrap().into_iter().map(|head| head.task.to_string());
        found.collect::<Vec<_>>()
    };
    assert_eq!(waiting(None, 99, 99).await, ["b", "a", "c", "f"]);
    assert_eq!(waiting(None, 30, 99).await, ["b", "a", "c"]);
    assert_eq!(waiting(None, 99, 2).await, ["b", "a"]);
    assert_eq!(waiting(Some((20, "a")), 99, 99).await, ["c", "f"]);
    assert_eq!(waiting(None, 9, 99).await, [""; 0]);
    let other = store.idle_tasks(Idle::Waiting, "other", None, at(99), 99).await;
    assert_eq!(other.unwrap(), []);
    // A task whose caller answers no longer waits. When it waits again, the new time counts.
    let bob = Sample::new("a").of(Caller::new("bob"));
    bob.then(&*store, 80, status(TaskState::Working, "so")).await;
    assert_eq!(waiting(None, 99, 99).await, ["b", "c", "f"]);
    bob.then(&*store, 90, status(TaskState::AuthRequired, "who?")).await;
    assert_eq!(waiting(None, 99, 99).await, ["b", "c", "f", "a"]);
}

/// Checks that a durable store returns the same data after it was opened again.
pub async fn everything_survives_reopening(backend: &impl Backend) {
    if !backend.is_durable() {
        return;
    }
    let store = backend.open();
    for index in 0..20 {
        let sample = Sample::new(format!("t{index}"));
        sample.create(&*store, index).await;
        let size = usize::try_from(index).unwrap() * 5_000;
        let part = Part::new(Content::Raw(vec![7; size]));
        sample.then(&*store, index, artifact("a", part, false)).await;
        if index % 3 == 0 {
            let event = status(TaskState::Completed, "done");
            sample.then(&*store, 100 - index, event).await;
        }
    }
    let key = RecordKey { kind: "k".into(), scope: "s".into(), id: "i".into() };
    let alice = Sample::new("t0").caller;
    store.put_record(&alice, &key, b"v".into()).await.unwrap();
    let before = everything(&*store).await;
    drop(store);
    let store = backend.open();
    assert!(everything(&*store).await == before, "all data are the same");
    assert!(store.record(&alice, &key).await.unwrap().is_some());
    let found = store.find_message(&alice, AGENT, "t7-1").await.unwrap();
    assert_eq!(found, Some(("t7".into(), 2)));
    Sample::new("t1").then(&*store, 200, status(TaskState::Failed, "no")).await;
}

/// Returns the list, heads and logs of all tasks.
async fn everything(store: &dyn Store) -> (String, String, Vec<StoredEvent>) {
    let alice = Sample::new("").caller;
    let page = store.list(&alice, &ListQuery::of(AGENT)).await.unwrap();
    let heads = store.open_turns("", 99).await.unwrap();
    let mut events = Vec::new();
    for one in &page.tasks {
        let log = store.read(&alice, &one.task.id, 0, 99).await.unwrap();
        events.extend(log);
    }
    (format!("{page:?}"), format!("{heads:?}"), events)
}
