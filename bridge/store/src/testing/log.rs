//! Tests of the log: order, conflicts, owners, and the computed tasks.

use bridge_protocol::a2a::{Content, Message, Metadata, Part, Role, TaskState, TaskStatus};
use serde_json::json;

use super::{
    Backend,
    sample::{AGENT, Sample, artifact, at, said, status},
};
use crate::{Event, ListQuery, Revised, Seq, StoreError, caller::Caller};

/// Checks that events have numbers without gaps and the time of their append, in every range.
pub async fn events_are_read_in_order(backend: &impl Backend) {
    let store = backend.open();
    let sample = Sample::new("t");
    sample.create(&*store, 1).await;
    for turn in 4..=20 {
        let text = turn.to_string();
        let seq = sample.then(&*store, turn, said(&text, &text)).await;
        assert_eq!(seq, turn.cast_unsigned());
    }
    for (after, limit) in [(0, 100), (0, 2), (1, 1), (2, 5), (17, 100), (20, 7), (99, 1)] {
        let events = store.read(&sample.caller, "t", after, limit).await;
        let numbers: Vec<Seq> = events.unwrap().iter().map(|stored| stored.seq).collect();
        let expected: Vec<Seq> = (after + 1..=20).take(limit).collect();
        assert_eq!(numbers, expected, "after {after}, at most {limit}");
    }
    let last = store.read(&sample.caller, "t", 19, 9).await.unwrap();
    assert_eq!(last[0].time, at(20));
    assert_eq!(last[0].event, said("20", "20"));
}

/// Checks that messages have the ids that they had when they were appended: those of their task, others, or none.
pub async fn events_are_read_as_they_were_appended(backend: &impl Backend) {
    let store = backend.open();
    let sample = Sample::new("t");
    sample.create(&*store, 1).await;
    let first = store.read(&sample.caller, "t", 0, 1).await.unwrap();
    assert_eq!(first[0].event, sample.created());
    let message = |role, (task, context): (Option<&str>, Option<&str>)| {
        let id = format!("{role:?} {task:?} {context:?}");
        let mut message = Message::new(id, role, vec![Part::text("a text")]);
        message.task_id = task.map(Into::into);
        message.context_id = context.map(Into::into);
        message
    };
    for ids in [
        (Some("t"), Some("c")),
        (Some("t"), None),
        (None, Some("c")),
        (Some("other"), Some("c")),
        (Some("t"), Some("other")),
        (Some(""), Some("")),
        (None, None),
    ] {
        let asked = message(Role::Agent, ids);
        let revised = Revised {
            message_id: asked.message_id.clone(),
            message: Some(asked.clone()),
            is_quiet: false,
        };
        let status =
            TaskStatus { message: Some(asked.clone()), ..TaskStatus::new(TaskState::Working) };
        let events = vec![
            Event::Message(message(Role::User, ids)),
            Event::Said(asked),
            Event::Status { status, metadata: None },
            artifact("a", Part::text("a piece"), false),
            Event::Metadata { metadata: Metadata::new(), revised: Some(revised) },
        ];
        let seq = sample.head(&*store).await.seq;
        let append = sample.append(seq, 5, events);
        store.append(&sample.caller, append.clone()).await.unwrap();
        let read = store.read(&sample.caller, "t", seq, 100).await.unwrap();
        // The status has the append's time as its timestamp.
        let expected: Vec<_> = append.checked().unwrap().into_stored().collect();
        assert_eq!(read, expected);
    }
}

/// Checks that the task has statuses with their times, artifacts, metadata, and a history in order.
pub async fn tasks_are_their_events_applied(backend: &impl Backend) {
    let store = backend.open();
    let sample = Sample::new("t");
    sample.create(&*store, 1).await;
    let fresh = store.task(&sample.caller, "t").await.unwrap();
    assert_eq!((fresh.seq, &fresh.task.status.state), (3, &TaskState::Submitted));
    let metadata = json!({"k": 1}).as_object().cloned().unwrap();
    for (millis, event) in [
        (1001, status(TaskState::InputRequired, "which one?")),
        (1002, said("u2", "that one")),
        (1003, artifact("a", Part::text("Hel"), false)),
        (1004, artifact("a", Part::text("lo"), true)),
        (1005, Event::Metadata { metadata, revised: None }),
        (1006, status(TaskState::Completed, "done")),
    ] {
        sample.then(&*store, millis, event).await;
        store.task(&sample.caller, "t").await.unwrap();
    }
    let snapshot = store.task(&sample.caller, "t").await.unwrap();
    assert_eq!(snapshot.seq, 9);
    assert_eq!(
        serde_json::to_value(&*snapshot.task).unwrap(),
        json!({
            "id": "t", "contextId": "c",
            "status": {
                "state": "TASK_STATE_COMPLETED", "timestamp": "1970-01-01T00:00:01.006Z",
                "message": {"messageId": "done", "role": "ROLE_AGENT", "parts": [{"text": "done"}]},
            },
            "artifacts": [{"artifactId": "a", "parts": [{"text": "Hello"}]}],
            "history": [
                {"messageId": "t-1", "role": "ROLE_USER", "parts": [{"text": "hello"}]},
                {"messageId": "which one?", "role": "ROLE_AGENT", "parts": [{"text": "which one?"}]},
                {"messageId": "u2", "role": "ROLE_USER", "parts": [{"text": "that one"}]},
            ],
            "metadata": {"k": 1},
        })
    );
    assert_eq!(fresh.task.history.len(), 1, "a snapshot does not change");
}

/// Checks that one of several writers that expect the same event number succeeds, and that the others get the new number.
pub async fn conflicts_report_the_last_event(backend: &impl Backend) {
    let store = backend.open();
    let sample = Sample::new("t");
    sample.create(&*store, 1).await;
    let write = |id: usize| {
        let (store, sample) = (store.clone(), sample.clone());
        let append = sample.append(3, 2, vec![said(&id.to_string(), "me")]);
        tokio::spawn(async move { store.append(&sample.caller, append).await })
    };
    let mut won = 0;
    for writer in (0..16).map(write).collect::<Vec<_>>() {
        match writer.await.unwrap() {
            Ok(head) if head.seq == 4 => won += 1,
            Err(StoreError::Conflict { expected, actual, .. }) => {
                assert_eq!((expected, actual), (3, 4));
            }
            other => panic!("expected event 4 or a conflict, found {other:?}"),
        }
    }
    assert_eq!(won, 1);
    let again = sample.append(0, 3, vec![sample.created()]);
    let error = store.append(&sample.caller, again).await.unwrap_err();
    assert!(matches!(error, StoreError::Conflict { actual: 4, .. }));
    let lost = Sample::new("nobody").append(7, 3, vec![said("x", "x")]);
    let error = store.append(&sample.caller, lost).await.unwrap_err();
    assert!(matches!(error, StoreError::NotFound { .. }));
}

/// Checks that the error for another caller's task is the same as for a task that does not exist.
pub async fn callers_are_separated(backend: &impl Backend) {
    let store = backend.open();
    let sample = Sample::new("t");
    sample.create(&*store, 1).await;
    for caller in [Caller::new("bob"), Caller::anonymous()] {
        let append = sample.append(3, 2, vec![said("b", "mine")]);
        let errors = [
            store.append(&caller, append).await.unwrap_err(),
            store.read(&caller, "t", 0, 9).await.unwrap_err(),
            store.head(&caller, "t").await.unwrap_err(),
            store.task(&caller, "t").await.unwrap_err(),
            store.watch(&caller, "t").await.unwrap_err(),
        ];
        for error in errors {
            assert_eq!(error.to_string(), "task t not found");
        }
        let found = store.find_message(&caller, AGENT, "t-1").await.unwrap();
        assert_eq!(found, None);
        let page = store.list(&caller, &ListQuery::of(AGENT)).await.unwrap();
        assert_eq!((page.tasks.len(), page.total), (0, 0));
    }
    let page = store.list(&sample.caller, &ListQuery::of("other")).await;
    assert_eq!(page.unwrap().total, 0);
}

/// Checks that a task in a terminal state accepts no events except the ends of its turns.
pub async fn ended_tasks_accept_no_events(backend: &impl Backend) {
    let store = backend.open();
    let sample = Sample::new("t");
    sample.create(&*store, 1).await;
    sample.then(&*store, 2, status(TaskState::Canceled, "stopped")).await;
    for event in [
        said("late", "late"),
        status(TaskState::Working, "late"),
        artifact("late", Part::text("late"), false),
    ] {
        let append = sample.append(4, 3, vec![event]);
        let error = store.append(&sample.caller, append).await.unwrap_err();
        assert!(matches!(error, StoreError::Ended { .. }), "{error}");
    }
    sample.then(&*store, 4, Event::TurnEnded { turn: 1 }).await;
    assert!(!sample.head(&*store).await.is_open());
}

/// Checks that events that cannot follow the earlier ones are refused, and that no event of their append is stored.
pub async fn invalid_events_are_refused(backend: &impl Backend) {
    let store = backend.open();
    let sample = Sample::new("t");
    sample.create(&*store, 1).await;
    let started = |turn| Event::TurnStarted { turn, open_until: None, reference: None };
    let received =
        |turn| Event::TurnStarted { turn, open_until: None, reference: Some(Metadata::new()) };
    let queued = |turn| Event::TurnQueued {
        turn,
        message_id: "t-1".into(),
        names_context: None,
        traceparent: None,
    };
    for events in [
        vec![],
        vec![sample.created()],
        vec![said("kept", "?"), started(2)],
        vec![queued(3)],
        vec![started(1), started(1)],
        vec![received(1), received(1)],
        vec![received(1), started(1)],
        vec![Event::TurnEnded { turn: 9 }],
        vec![said("same", "a"), said("same", "b")],
    ] {
        let append = sample.append(3, 2, events.clone());
        let error = store.append(&sample.caller, append).await.unwrap_err();
        assert!(matches!(error, StoreError::Invalid { .. }), "{events:?}: {error}");
    }
    let other = Sample::new("u").append(0, 2, vec![said("first", "?")]);
    let error = store.append(&sample.caller, other).await.unwrap_err();
    assert!(matches!(error, StoreError::Invalid { .. }));
    let stranger = Sample::new("u").of(Caller::new("bob"));
    let append = stranger.append(0, 2, vec![stranger.created()]);
    let error = store.append(&sample.caller, append).await.unwrap_err();
    assert!(matches!(error, StoreError::Invalid { .. }));
    assert_eq!(sample.head(&*store).await.seq, 3);
    let kept = store.find_message(&sample.caller, AGENT, "kept").await;
    assert_eq!(kept.unwrap(), None);
}

/// Checks that parts of any size are read back unchanged.
pub async fn large_parts_are_read_back(backend: &impl Backend) {
    let store = backend.open();
    let sample = Sample::new("t");
    sample.create(&*store, 1).await;
    let part = |size: usize| {
        let bytes = (0..size).map(|index| (index * 31 % 251) as u8).collect();
        Part::new(Content::Raw(bytes))
    };
    let sizes = [0, 1, 20_000, 30_000, 100_000, 3_000_000];
    for (index, size) in sizes.into_iter().enumerate() {
        let event = artifact(&index.to_string(), part(size), false);
        sample.then(&*store, 2, event).await;
    }
    let task = store.task(&sample.caller, "t").await.unwrap().task;
    for (artifact, size) in task.artifacts.iter().zip(sizes) {
        assert!(artifact.parts == [part(size)], "a part of {size} bytes");
    }
    let events = store.read(&sample.caller, "t", 3, 99).await.unwrap();
    assert_eq!(events.len(), sizes.len());
}
