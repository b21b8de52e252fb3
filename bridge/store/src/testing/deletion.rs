//! Tests of deletion and of the lists of ended tasks.

use bridge_protocol::a2a::TaskState;

use super::{
    Backend, LIMIT,
    sample::{AGENT, Sample, at, said, status},
};
use crate::{
    Deletion, Event, Idle, ListPosition, ListQuery, Store, StoreError, TaskCounts, caller::Caller,
};

/// Creates a task that ends at a time.
async fn end(store: &dyn Store, sample: &Sample, millis: i64) {
    sample.create(store, 1).await;
    let done = status(TaskState::Completed, "done");
    sample.then(store, millis, done).await;
    let over = Event::TurnEnded { turn: 1 };
    sample.then(store, millis + 1, over).await;
}

/// Checks that a task does not exist.
async fn check_not_found(store: &dyn Store, sample: &Sample) {
    let Sample { caller, task, .. } = sample;
    let errors = [
        store.head(caller, task).await.map(drop),
        store.task(caller, task).await.map(drop),
        store.read(caller, task, 0, 99).await.map(drop),
        store.watch(caller, task).await.map(drop),
        store.delete(caller, task, Deletion::Forced).await,
    ];
    for error in errors.map(Result::unwrap_err) {
        assert!(matches!(error, StoreError::NotFound { .. }), "{error}");
    }
    let id = format!("{task}-1");
    assert_eq!(store.find_message(caller, AGENT, &id).await.unwrap(), None);
    let append = sample.append(5, 9, vec![said("late", "hi")]);
    let error = store.append(caller, append).await.unwrap_err();
    assert!(matches!(error, StoreError::NotFound { .. }), "{error}");
}

/// Returns the tasks of `alice` on the page of a query, and their number on all pages.
async fn listed(store: &dyn Store, query: &ListQuery) -> (Vec<String>, usize) {
    let page = store.list(&Caller::new("alice"), query).await.unwrap();
    let tasks = page.tasks.iter().map(|one| one.task.id.clone());
    (tasks.collect(), page.total)
}

/// Checks that a deleted task is not found anywhere, and that other tasks are kept.
pub async fn a_deleted_task_is_not_found(backend: &impl Backend) {
    let store = backend.open();
    let (one, other) = (Sample::new("one"), Sample::new("other"));
    end(&*store, &one, 10).await;
    end(&*store, &other, 20).await;
    let mut watch = store.watch(&one.caller, "one").await.unwrap();
    store.delete(&one.caller, "one", Deletion::Ended).await.unwrap();
    let told = tokio::time::timeout(LIMIT, watch.after(5)).await;
    assert_eq!(told.expect("watchers are told that their task was deleted"), None);
    check_not_found(&*store, &one).await;
    let all = ListQuery::of(AGENT);
    let completed = ListQuery { state: Some(TaskState::Completed), ..all.clone() };
    let within = ListQuery { context_id: Some("c".into()), ..all.clone() };
    for query in [&all, &completed, &within] {
        assert_eq!(listed(&*store, query).await, (vec!["other".into()], 1));
    }
    let counts = store.counts().await.unwrap();
    assert_eq!(counts[AGENT].ended.tasks, 1);
    assert_eq!(store.head(&other.caller, "other").await.unwrap().seq, 5);
    // A page token with the deleted task is refused.
    let token = ListPosition { millis: 10, task: "one".into() };
    let query = ListQuery { page_token: token.token(), ..all };
    let error = store.list(&one.caller, &query).await.unwrap_err();
    assert!(matches!(error, StoreError::PageToken { .. }), "{error}");
}

/// Checks that an open task is only deleted if deletion is forced, and a task of another caller never.
pub async fn deletion_is_refused_for_open_tasks_and_other_callers(backend: &impl Backend) {
    let store = backend.open();
    let (open, ended) = (Sample::new("open"), Sample::new("ended"));
    open.create(&*store, 1).await;
    end(&*store, &ended, 10).await;
    let bob = Caller::new("bob");
    for task in ["open", "ended", "nowhere"] {
        for deletion in [Deletion::Ended, Deletion::Forced] {
            let error = store.delete(&bob, task, deletion).await.unwrap_err();
            assert!(matches!(error, StoreError::NotFound { .. }), "{error}");
        }
    }
    let refused = store.delete(&open.caller, "open", Deletion::Ended).await;
    assert!(matches!(refused, Err(StoreError::Open { task }) if task == "open"));
    assert_eq!(open.head(&*store).await.seq, 3);
    // A task whose last turn has not ended is open too.
    let done = status(TaskState::Completed, "done");
    open.then(&*store, 2, done).await;
    let refused = store.delete(&open.caller, "open", Deletion::Ended).await;
    assert!(matches!(refused, Err(StoreError::Open { .. })));
    let other = Sample::new("other");
    other.create(&*store, 1).await;
    for sample in [&open, &other] {
        let forced = store.delete(&sample.caller, &sample.task, Deletion::Forced);
        forced.await.unwrap();
        check_not_found(&*store, sample).await;
    }
    assert_eq!(store.open_turns("", 99).await.unwrap(), []);
    assert_eq!(store.counts().await.unwrap()[AGENT].open, 0);
}

/// Checks that the ids of a deleted task can be used again, for another task or for one with the same id.
pub async fn ids_of_deleted_tasks_can_be_used_again(backend: &impl Backend) {
    let store = backend.open();
    let create = async |task: &str| {
        let sample = Sample::new(task);
        let Event::Created(mut created) = sample.created() else { unreachable!() };
        created.client_id = Some("mine".into());
        let events = vec![Event::Created(created), said("same", "hi")];
        let append = sample.append(0, 1, events);
        store.append(&sample.caller, append).await.map(drop)
    };
    let alice = Caller::new("alice");
    // The caller also has a task that stays.
    Sample::new("other").create(&*store, 1).await;
    for task in ["a", "b", "b", "a"] {
        create(task).await.unwrap();
        assert!(create("c").await.is_err());
        let found = store.find_message(&alice, AGENT, "same").await.unwrap();
        assert_eq!(found, Some((task.to_owned(), 2)));
        let found = store.find_client_task(&alice, AGENT, "mine").await.unwrap();
        assert_eq!(found.as_deref(), Some(task));
        assert_eq!(listed(&*store, &ListQuery::of(AGENT)).await.1, 2);
        store.delete(&alice, task, Deletion::Forced).await.unwrap();
        let found = store.find_message(&alice, AGENT, "same").await.unwrap();
        assert_eq!(found, None);
        let found = store.find_client_task(&alice, AGENT, "mine").await.unwrap();
        assert_eq!(found, None);
        assert_eq!(listed(&*store, &ListQuery::of(AGENT)).await.1, 1);
    }
}

/// Checks that ended tasks are listed, oldest first, and that their number and size are counted.
pub async fn ended_tasks_are_listed_by_time(backend: &impl Backend) {
    let store = backend.open();
    for (number, task) in ["b", "a", "c", "d"].into_iter().enumerate() {
        let sample = Sample::new(task).of(Caller::new(["alice", "bob"][number % 2]));
        end(&*store, &sample, 10 * (number as i64 + 1)).await;
    }
    Sample::new("open").create(&*store, 1).await;
    let ended = async |after: Option<(i64, &str)>, until, limit| {
        let after = after.map(|(millis, task)| ListPosition { millis, task: task.into() });
        let found = store.idle_tasks(Idle::Ended, AGENT, after.as_ref(), at(until), limit);
        let found = found.await.unwrap().into_iter().map(|head| head.task.to_string());
        found.collect::<Vec<_>>()
    };
    assert_eq!(ended(None, 99, 99).await, ["b", "a", "c", "d"]);
    assert_eq!(ended(None, 30, 99).await, ["b", "a", "c"]);
    assert_eq!(ended(None, 99, 2).await, ["b", "a"]);
    assert_eq!(ended(Some((20, "a")), 99, 99).await, ["c", "d"]);
    assert_eq!(ended(None, 9, 99).await, [""; 0]);
    let other = store.idle_tasks(Idle::Ended, "other", None, at(99), 99).await;
    assert_eq!(other.unwrap(), []);
    let before = store.counts().await.unwrap()[AGENT].ended;
    assert!(before.tasks == 4 && before.bytes > 400, "{before:?}");
    let bob = Caller::new("bob");
    store.delete(&bob, "a", Deletion::Ended).await.unwrap();
    assert_eq!(ended(None, 99, 99).await, ["b", "c", "d"]);
    assert_eq!(ended(Some((20, "a")), 99, 99).await, ["c", "d"]);
    let after = store.counts().await.unwrap()[AGENT].ended;
    assert!(after.tasks == 3 && after.bytes < before.bytes, "{before:?}, {after:?}");
    for (caller, task) in [("alice", "b"), ("alice", "c"), ("bob", "d")] {
        let caller = Caller::new(caller);
        store.delete(&caller, task, Deletion::Ended).await.unwrap();
    }
    let counts = store.counts().await.unwrap()[AGENT];
    assert_eq!(counts, TaskCounts { open: 1, ..Default::default() });
}

/// Checks that deleted tasks do not come back when a durable store is opened again.
pub async fn deletions_survive_reopening(backend: &impl Backend) {
    if !backend.is_durable() {
        return;
    }
    let store = backend.open();
    for number in 0..20 {
        end(&*store, &Sample::new(format!("t{number}")), number).await;
    }
    for number in (0..20).step_by(2) {
        let Sample { caller, task, .. } = Sample::new(format!("t{number}"));
        store.delete(&caller, &task, Deletion::Ended).await.unwrap();
    }
    let counts = store.counts().await.unwrap();
    drop(store);
    let store = backend.open();
    for number in 0..20 {
        let sample = Sample::new(format!("t{number}"));
        match number % 2 {
            0 => check_not_found(&*store, &sample).await,
            _ => assert_eq!(sample.head(&*store).await.seq, 5),
        }
    }
    assert_eq!(listed(&*store, &ListQuery::of(AGENT)).await.1, 10);
    assert_eq!(store.counts().await.unwrap(), counts);
}
