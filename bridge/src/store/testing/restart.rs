//! What a restart finds.

use bridge_protocol::a2a::{Content, Part, TaskState};

use super::{
    Backend,
    sample::{AGENT, Sample, artifact, at, status},
};
use crate::store::{Event, ListQuery, RecordKey, Store, Stored, TurnState};

/// Tasks that are not terminal, or have turns that did not end, and how far those turns have come.
pub async fn open_tasks_are_those_to_look_at(backend: &impl Backend) {
    let store = backend.open();
    for task in ["done", "ending", "queued", "started", "waiting"] {
        Sample::new(task).create(&*store, 1).await;
    }
    let started = Event::TurnStarted {
        turn: 1,
        open_until: Some(at(9000)),
        reference: None,
    };
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
    let mut turns = Vec::new();
    let mut after = String::new();
    loop {
        let heads = store.open_tasks(&after, 2).await.unwrap();
        let Some(last) = heads.last() else { break };
        after = last.task.clone();
        for head in heads {
            // Those that were seen change, and must not be seen again for it.
            let sample = Sample::new(&head.task);
            if !head.state.is_terminal() {
                sample
                    .then(&*store, 3, status(TaskState::Working, "again"))
                    .await;
            }
            let turn = head.turns.into_iter().next().map(|turn| turn.state);
            turns.push((head.task, turn));
        }
    }
    let with_turns: Vec<_> = turns.iter().filter(|(_, turn)| turn.is_some()).collect();
    let heads = store.open_turns("", 99).await.unwrap();
    let tasks: Vec<&str> = heads.iter().map(|head| head.task.as_str()).collect();
    assert_eq!(
        tasks,
        with_turns.iter().map(|(task, _)| task).collect::<Vec<_>>()
    );
    let page = store.open_turns(tasks[0], 1).await.unwrap();
    assert_eq!(page, heads[1..2]);
    let counts = store.open_counts().await.unwrap();
    assert_eq!(counts, [(AGENT.to_owned(), 3)].into());
    let started = TurnState::Started {
        open_until: Some(at(9000)),
        reference: None,
    };
    assert_eq!(
        turns,
        [
            ("ending".into(), Some(TurnState::Queued)),
            ("queued".into(), Some(TurnState::Queued)),
            ("started".into(), Some(started)),
            ("waiting".into(), None),
        ]
    );
}

/// A durable store, opened again, answers everything as it did before.
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
        sample
            .then(&*store, index, artifact("a", part, false))
            .await;
        if index % 3 == 0 {
            let event = status(TaskState::Completed, "done");
            sample.then(&*store, 100 - index, event).await;
        }
    }
    let key = RecordKey {
        kind: "k".into(),
        scope: "s".into(),
        id: "i".into(),
    };
    let alice = Sample::new("t0").caller;
    store.put_record(&alice, &key, b"v".into()).await.unwrap();
    let before = everything(&*store).await;
    drop(store);
    let store = backend.open();
    assert!(everything(&*store).await == before, "it is as it was");
    assert!(store.record(&alice, &key).await.unwrap().is_some());
    let found = store.find_message(&alice, AGENT, "t7-1").await.unwrap();
    assert_eq!(found, Some(("t7".into(), 2)));
    Sample::new("t1")
        .then(&*store, 200, status(TaskState::Failed, "no"))
        .await;
}

/// List, heads and logs of all tasks.
async fn everything(store: &dyn Store) -> (String, String, Vec<Stored>) {
    let alice = Sample::new("").caller;
    let page = store.list(&alice, &ListQuery::of(AGENT)).await.unwrap();
    let heads = store.open_tasks("", 99).await.unwrap();
    let mut events = Vec::new();
    for one in &page.tasks {
        let log = store.read(&alice, &one.task.id, 0, 99).await.unwrap();
        events.extend(log);
    }
    (format!("{page:?}"), format!("{heads:?}"), events)
}
