//! Several processes on one database, here as several stores.

use std::{sync::Arc, time::Duration};

use bridge::{
    metrics::Metrics,
    retention::{Retention, RetentionRule, RetentionSettings},
    store::{
        Deletion, Event, Head, ListQuery, Listener, PostgresStore, Store, StoreError,
        testing::{Sample, status},
    },
};
use bridge_protocol::a2a::{Message, Part, Role, TaskState};
use jiff::Timestamp;
use tokio::{
    sync::mpsc,
    time::{sleep, timeout},
};

use super::server::{Database, Server};

const LONG: Duration = Duration::from_secs(60);

async fn open(database: &Database) -> PostgresStore {
    PostgresStore::open(&database.settings()).await.unwrap()
}

fn said(id: &str) -> Event {
    Event::Message(Message::new(id, Role::User, vec![Part::text(id)]))
}

#[tokio::test(flavor = "multi_thread")]
async fn another_process_sees_an_append_at_once() {
    let database = Server::shared().database().await;
    let (one, two) = (open(&database).await, open(&database).await);
    let sample = Sample::new("t");
    sample.create(&one, 1).await;
    let alice = &sample.caller;
    assert_eq!(two.task(alice, "t").await.unwrap().seq, 3);
    sample.then(&two, 2, said("m")).await;
    assert_eq!(one.task(alice, "t").await.unwrap().seq, 4);
    let late = sample.append(3, 2, vec![said("n")]);
    let error = one.append(alice, late).await.unwrap_err();
    assert!(matches!(error, StoreError::Conflict { actual: 4, .. }), "{error}");
    let again = sample.append(4, 2, vec![said("m")]);
    let error = one.append(alice, again).await.unwrap_err();
    assert!(matches!(error, StoreError::Duplicate { seq: 4, .. }), "{error}");
}

#[tokio::test(flavor = "multi_thread")]
async fn one_of_two_processes_stores_a_message() {
    let database = Server::shared().database().await;
    let stores = [open(&database).await, open(&database).await].map(Arc::new);
    for round in 0..50 {
        let create = |number: usize| {
            let store = Arc::clone(&stores[number % 2]);
            let sample = Sample::new(format!("{round}-{number}"));
            let events = vec![sample.created(), said(&format!("m{round}"))];
            let append = sample.append(0, 1, events);
            tokio::spawn(async move { store.append(&sample.caller, append).await })
        };
        let mut stored = 0;
        for writer in (0..4).map(create).collect::<Vec<_>>() {
            match writer.await.unwrap() {
                Ok(_) => stored += 1,
                Err(StoreError::Duplicate { .. }) => {}
                Err(other) => panic!("expected a duplicate, found {other}"),
            }
        }
        assert_eq!(stored, 1);
    }
    let messages = "SELECT count(*) FROM bridge.messages";
    assert_eq!(database.number(messages).await, 50);
    let unfinished = "SELECT sum(unfinished)::bigint FROM bridge.agents";
    assert_eq!(database.number(unfinished).await, 50);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_watcher_is_notified_of_another_processes_appends() {
    let database = Server::shared().database().await;
    let (one, two) = (open(&database).await, open(&database).await);
    let sample = Sample::new("t");
    sample.create(&one, 1).await;
    let mut watch = two.watch(&sample.caller, "t").await.unwrap();
    for seq in 3..20 {
        let (_, head) = tokio::join!(
            sample.then(&one, 2, said(&seq.to_string())),
            timeout(LONG, watch.after(seq)),
        );
        assert_eq!(head.unwrap().unwrap().seq, seq + 1);
    }
}

struct EventListener(mpsc::UnboundedSender<(String, u64)>);

impl Listener for EventListener {
    fn appended(&self, head: &Head) {
        let _ = self.0.send((head.task.to_string(), head.seq));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_listener_is_notified_of_another_processes_appends() {
    let database = Server::shared().database().await;
    let (one, two) = (open(&database).await, open(&database).await);
    let (told, mut heard) = mpsc::unbounded_channel();
    let ear: Arc<dyn Listener> = Arc::new(EventListener(told));
    two.listen(Arc::downgrade(&ear));
    listens(&database, 2).await;
    Sample::new("t").create(&one, 1).await;
    let heard = timeout(LONG, heard.recv()).await.unwrap();
    assert_eq!(heard, Some(("t".to_owned(), 3)));
}

/// Waits until this number of connections waits for notifications.
async fn listens(database: &Database, expected: i64) {
    let listening = "SELECT count(*) FROM pg_stat_activity
        WHERE datname = current_database() AND query LIKE 'LISTEN%' AND state = 'idle'";
    while database.number(listening).await < expected {
        tokio::task::yield_now().await;
    }
}

/// Without a connection for notifications, waiting readers query the store.
#[tokio::test(flavor = "multi_thread")]
async fn nothing_is_lost_with_the_connection_for_notifications() {
    let database = Server::shared().database().await;
    let (one, two) = (open(&database).await, open(&database).await);
    let sample = Sample::new("t");
    sample.create(&one, 1).await;
    let mut watch = two.watch(&sample.caller, "t").await.unwrap();
    listens(&database, 2).await;
    let mut seen = 3;
    for round in 0..5 {
        let kill = "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity
            WHERE datname = current_database() AND query LIKE 'LISTEN%'";
        database.number(kill).await;
        for number in 0..3 {
            let id = format!("{round}-{number}");
            seen = sample.then(&one, 2, said(&id)).await;
        }
        let head = timeout(LONG, watch.after(seen - 1)).await.unwrap();
        assert_eq!(head.unwrap().seq, seen);
        let events = two.read(&sample.caller, "t", 0, 99).await.unwrap();
        assert_eq!(events.len() as u64, seen);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_watcher_is_notified_that_another_process_deleted_the_task() {
    let database = Server::shared().database().await;
    let (one, two) = (open(&database).await, open(&database).await);
    let sample = Sample::new("t");
    sample.create(&one, 1).await;
    let mut watch = two.watch(&sample.caller, "t").await.unwrap();
    let deleting = one.delete(&sample.caller, "t", Deletion::Forced);
    deleting.await.unwrap();
    assert_eq!(timeout(LONG, watch.after(3)).await.unwrap(), None);
}

/// The notification of a deletion may be lost, as that of an append.
#[tokio::test(flavor = "multi_thread")]
async fn a_deletion_is_noticed_without_its_notification() {
    let database = Server::shared().database().await;
    let (one, two) = (open(&database).await, open(&database).await);
    let sample = Sample::new("t");
    sample.create(&one, 1).await;
    let mut watch = two.watch(&sample.caller, "t").await.unwrap();
    // Deletions that bypass the store cause no notifications.
    let gone = "WITH gone AS (DELETE FROM bridge.tasks RETURNING task) SELECT count(*) FROM gone";
    assert_eq!(database.number(gone).await, 1);
    assert_eq!(timeout(LONG, watch.after(3)).await.unwrap(), None);
}

/// A process that counts before another one has deleted, and then searches for the oldest tasks, would find those that
/// the rule keeps.
#[tokio::test(flavor = "multi_thread")]
async fn processes_delete_no_more_together_than_one_alone() {
    let database = Server::shared().database().await;
    let stores = [open(&database).await, open(&database).await].map(Arc::new);
    let rule = RetentionRule { age: None, tasks: Some(5), bytes: None };
    let settings = RetentionSettings { usual: rule, ..RetentionSettings::default() };
    for round in 0..20 {
        for number in 0..8 {
            let sample = Sample::new(format!("{round}-{number}"));
            sample.create(&*stores[0], 1).await;
            let done = status(TaskState::Completed, "done");
            sample.then(&*stores[0], 2, done).await;
            let over = Event::TurnEnded { turn: 1 };
            sample.then(&*stores[0], 3, over).await;
        }
        let passes = stores.clone().map(|store| {
            let retention = Retention::new(store, None, Metrics::default(), settings.clone());
            tokio::spawn(async move { retention.pass(Timestamp::now()).await })
        });
        for pass in passes {
            pass.await.unwrap().unwrap();
        }
        let left = stores[0].counts().await.unwrap();
        assert_eq!(left.values().map(|counts| counts.ended.tasks).sum::<usize>(), 5);
    }
}

/// A process that takes up the work of others may be busy with it when another process leaves.
#[tokio::test(flavor = "multi_thread")]
async fn a_process_that_ended_while_nobody_waited_is_noticed() {
    let database = Server::shared().database().await;
    let (one, two) = (open(&database).await, open(&database).await);
    listens(&database, 2).await;
    let leases = one.leases().unwrap();
    let mut seen = leases.freed(0).await;
    two.leases().unwrap().leave().await;
    // The notification arrives while nobody waits for it.
    let heard = "SELECT count(*) FROM bridge.replicas";
    while database.number(heard).await > 1 {
        tokio::task::yield_now().await;
    }
    let sample = Sample::new("t");
    sample.create(&one, 1).await;
    let later = timeout(LONG / 2, leases.freed(seen)).await.unwrap();
    assert!(later > seen, "{later} after {seen}");
    seen = later;
    assert_eq!(leases.freed(seen - 1).await, seen);
}

/// Clients of a process whose leases were taken over are told to retry, because other processes continue.
#[tokio::test(flavor = "multi_thread")]
async fn a_process_presumed_dead_cannot_write_the_log() {
    let database = Server::shared().database().await;
    let store = open(&database).await;
    let sample = Sample::new("t");
    sample.create(&store, 1).await;
    let forget = "SELECT count(bridge.forget_1(id, true)) FROM bridge.replicas";
    assert_eq!(database.number(forget).await, 1);
    let append = sample.append(3, 2, vec![said("late")]);
    let error = store.append(&sample.caller, append).await.unwrap_err();
    assert!(matches!(error, StoreError::Unavailable { .. }), "{error}");
}

/// Appends are seldom alone in a transaction when many wait.
#[tokio::test(flavor = "multi_thread")]
async fn appends_that_wait_together_are_one_transaction() {
    let database = Server::shared().database().await;
    let store = Arc::new(open(&database).await);
    let create = |number: usize| {
        let (store, sample) = (Arc::clone(&store), Sample::new(format!("t{number:04}")));
        tokio::spawn(async move { sample.create(&*store, 1).await })
    };
    for writer in (0..1_000).map(create).collect::<Vec<_>>() {
        writer.await.unwrap();
    }
    let transactions = "SELECT count(DISTINCT xmin::text) FROM bridge.events";
    let transactions = database.number(transactions).await;
    assert!(transactions < 500, "{transactions} transactions");
}

/// An append that cannot be written does not affect those that are written together with it.
#[tokio::test(flavor = "multi_thread")]
async fn a_refused_append_refuses_no_other() {
    let database = Server::shared().database().await;
    let store = Arc::new(open(&database).await);
    let first = Sample::new("first");
    let events = vec![first.created(), said("same")];
    store.append(&first.caller, first.append(0, 1, events)).await.unwrap();
    let create = |number: usize| {
        let (store, sample) = (Arc::clone(&store), Sample::new(format!("t{number:03}")));
        let message = match number % 3 {
            0 => "same".to_owned(),
            _ => number.to_string(),
        };
        let append = sample.append(0, 1, vec![sample.created(), said(&message)]);
        tokio::spawn(async move { store.append(&sample.caller, append).await })
    };
    let writers: Vec<_> = (0..300).map(create).collect();
    for (number, writer) in writers.into_iter().enumerate() {
        match (number % 3, writer.await.unwrap()) {
            (0, Err(StoreError::Duplicate { task, .. })) => assert_eq!(task, "first"),
            (1 | 2, Ok(_)) => {}
            (_, other) => panic!("{number}: {other:?}"),
        }
    }
    for table in ["tasks", "events", "messages"] {
        let count = format!("SELECT count(*) FROM bridge.{table}");
        assert_eq!(database.number(&count).await, 201, "{table}");
    }
}

/// Its head was read before, and its events are not found.
#[tokio::test(flavor = "multi_thread")]
async fn a_task_that_is_deleted_while_it_is_read_is_not_damaged() {
    let database = Server::shared().database().await;
    let (reader, writer) = (Arc::new(open(&database).await), open(&database).await);
    let alice = Sample::new("").caller;
    for task in ["deleted", "kept"] {
        Sample::new(task).create(&writer, 1).await;
    }
    let locker = database.connect().await;
    let lock = "BEGIN; LOCK TABLE bridge.events IN ACCESS EXCLUSIVE MODE";
    locker.batch_execute(lock).await.unwrap();
    let task = tokio::spawn({
        let (reader, alice) = (Arc::clone(&reader), alice.clone());
        async move { reader.task(&alice, "deleted").await }
    });
    let page = tokio::spawn({
        let reader = Arc::clone(&reader);
        async move { reader.list(&alice, &ListQuery::of("sample")).await }
    });
    let waiting =
        "SELECT count(*) FROM pg_locks WHERE NOT granted AND relation = 'bridge.events'::regclass
        AND database = (SELECT oid FROM pg_database WHERE datname = current_database())";
    while database.number(waiting).await < 2 {
        sleep(Duration::from_millis(10)).await;
    }
    locker.batch_execute("SELECT bridge.delete_1('deleted', 3); COMMIT").await.unwrap();
    let error = task.await.unwrap().unwrap_err();
    assert!(matches!(error, StoreError::NotFound { .. }), "{error}");
    let tasks = page.await.unwrap().unwrap().tasks;
    assert_eq!(tasks.iter().map(|one| &*one.task.id).collect::<Vec<_>>(), ["kept"]);
    assert_eq!(reader.damage().tasks, 0);
}
