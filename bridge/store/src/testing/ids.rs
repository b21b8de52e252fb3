//! Tests of the ids that clients choose: of messages, and of tasks in A2A 0.1.

use super::{
    Backend,
    sample::{AGENT, Sample, said},
};
use crate::{Event, StoreError, caller::Caller};

/// Checks that a message id is found at the first event that has it, and that only one of several writers with the same
/// id succeeds.
pub async fn messages_are_stored_once(backend: &impl Backend) {
    let store = backend.open();
    let create = |number: usize| {
        let (store, sample) = (store.clone(), Sample::new(format!("t{number}")));
        let append = sample.append(0, 1, vec![sample.created(), said("same", "hi")]);
        tokio::spawn(async move { store.append(&sample.caller, append).await })
    };
    let mut duplicates = Vec::new();
    for writer in (0..8).map(create).collect::<Vec<_>>() {
        match writer.await.unwrap() {
            Ok(head) => assert_eq!(head.seq, 2),
            Err(StoreError::Duplicate { task, seq: 2, .. }) => duplicates.push(task),
            Err(other) => panic!("expected a duplicate, found {other}"),
        }
    }
    assert_eq!(duplicates.len(), 7);
    let alice = Caller::new("alice");
    let (task, seq) = store.find_message(&alice, AGENT, "same").await.unwrap().unwrap();
    assert!(seq == 2 && duplicates.iter().all(|one| *one == task));
    let bob = Sample::new("b").of(Caller::new("bob"));
    let append = bob.append(0, 1, vec![bob.created(), said("same", "hi")]);
    store.append(&bob.caller, append).await.unwrap();
    let other = store.find_message(&alice, "other", "same").await.unwrap();
    assert_eq!(other, None);
}

/// Checks that a task is found by the id that its client chose, and that each caller can use an id once at each agent.
pub async fn client_tasks_are_found(backend: &impl Backend) {
    let store = backend.open();
    let create = async |task: &str, caller: &str, agent: &str| {
        let sample = Sample::new(task).of(Caller::new(caller));
        let Event::Created(mut created) = sample.created() else { unreachable!() };
        created.client_id = Some("mine".into());
        created.agent = agent.into();
        let append = sample.append(0, 1, vec![Event::Created(created)]);
        store.append(&sample.caller, append).await
    };
    create("a", "alice", AGENT).await.unwrap();
    create("b", "bob", AGENT).await.unwrap();
    // The id can be used at another agent.
    create("d", "alice", "second").await.unwrap();
    let error = create("c", "alice", AGENT).await.unwrap_err();
    assert!(matches!(error, StoreError::Taken { task, .. } if task == "a"));
    for (caller, id, task) in [
        ("alice", "mine", Some("a")),
        ("bob", "mine", Some("b")),
        ("alice", "other", None),
        ("carol", "mine", None),
    ] {
        let caller = Caller::new(caller);
        let found = store.find_client_task(&caller, AGENT, id).await.unwrap();
        assert_eq!(found.as_deref(), task);
    }
    let alice = Caller::new("alice");
    let found = store.find_client_task(&alice, "second", "mine").await;
    assert_eq!(found.unwrap().as_deref(), Some("d"));
    // Later events of the task do not count as a second use of its id.
    Sample::new("a").then(&*store, 2, said("m", "more")).await;
}
