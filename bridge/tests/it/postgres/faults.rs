//! What is wrong with the database, and what becomes of it.

use std::{sync::Arc, time::Duration};

use bridge::store::{Append, Event, PostgresStore, Store, StoreError, testing::Sample};
use bridge_protocol::a2a::{Message, Part, Role};
use tokio::time::{Instant, timeout};

use super::server::Server;

fn said(id: &str) -> Event {
    Event::Message(Message::new(id, Role::User, vec![Part::text(id)]))
}

#[tokio::test(flavor = "multi_thread")]
async fn tables_of_a_later_program_are_refused_unless_they_allow_it() {
    let database = Server::shared().database().await;
    drop(PostgresStore::open(&database.settings()).await.unwrap());
    let set = "UPDATE bridge.schema SET number = 900, readable_by = ";
    database.execute(&format!("{set} 2")).await;
    drop(PostgresStore::open(&database.settings()).await.unwrap());
    database.execute(&format!("{set} 900")).await;
    let error = PostgresStore::open(&database.settings()).await.unwrap_err();
    let expected = "has format 900, this program knows 2: use a newer bridge";
    assert!(error.to_string().ends_with(expected), "{error}");
}

#[tokio::test(flavor = "multi_thread")]
async fn many_processes_make_the_tables_once() {
    let database = Server::shared().database().await;
    let open = |_| {
        let settings = database.settings();
        tokio::spawn(async move { PostgresStore::open(&settings).await })
    };
    for opening in (0..8).map(open).collect::<Vec<_>>() {
        drop(opening.await.unwrap().unwrap());
    }
    assert_eq!(
        database.number("SELECT count(*) FROM bridge.schema").await,
        1
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_database_that_is_not_there_is_told_without_its_password() {
    let folder = tempfile::tempdir().unwrap();
    let url = format!(
        "postgres:///d?host={}&user=me&password=hunter2",
        folder.path().display()
    );
    let settings = url.parse().unwrap();
    let error = PostgresStore::open(&settings).await.unwrap_err();
    assert!(matches!(error, StoreError::Unavailable { .. }), "{error}");
    let told = format!("{error} {error:?} {settings:?}");
    assert!(!told.contains("hunter2"), "{told}");
}

/// Appends as its writers do: when the database was not available, they look whether the append is there.
async fn insist(store: &PostgresStore, sample: &Sample, append: Append) {
    loop {
        match store.append(&sample.caller, append.clone()).await {
            Ok(head) => return assert_eq!(head.seq, append.last()),
            Err(StoreError::Unavailable { .. }) => {}
            Err(StoreError::Conflict { actual, .. }) => return assert_eq!(actual, append.last()),
            Err(error) => panic!("{error}"),
        }
        tokio::task::yield_now().await;
    }
}

/// Nothing that was acknowledged is lost, and nothing is written twice, while connections are cut in the middle of
/// commits.
#[tokio::test(flavor = "multi_thread")]
async fn a_commit_without_answer_is_found_out() {
    let database = Server::shared().database().await;
    let store = Arc::new(PostgresStore::open(&database.settings()).await.unwrap());
    let write = |number: usize| {
        let store = Arc::clone(&store);
        tokio::spawn(async move {
            let sample = Sample::new(format!("t{number}"));
            let created = sample.append(0, 1, vec![sample.created()]);
            insist(&store, &sample, created).await;
            for seq in 1..=40 {
                let append = sample.append(seq, 2, vec![said(&format!("{number}-{seq}"))]);
                insist(&store, &sample, append).await;
            }
        })
    };
    let writers: Vec<_> = (0..8).map(write).collect();
    let cutting = tokio::spawn({
        let database = database.clone();
        async move {
            let client = database.connect().await;
            let cut = "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity
                WHERE datname = current_database() AND pid <> pg_backend_pid()";
            loop {
                client.query_one(cut, &[]).await.unwrap();
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        }
    });
    for writer in writers {
        timeout(Duration::from_secs(60), writer)
            .await
            .unwrap()
            .unwrap();
    }
    cutting.abort();
    let events = "SELECT sum(last - first + 1)::bigint FROM bridge.events";
    assert_eq!(database.number(events).await, 8 * 41);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_database_that_comes_back_is_used_again() {
    let server = Server::start(&[]);
    let database = server.database().await;
    let store = PostgresStore::open(&database.settings()).await.unwrap();
    let sample = Sample::new("t");
    sample.create(&store, 1).await;
    let mut watch = store.watch(&sample.caller, "t").await.unwrap();
    server.stop();
    let lost = sample.append(3, 2, vec![said("lost")]);
    for error in [
        store.append(&sample.caller, lost).await.unwrap_err(),
        store.head(&sample.caller, "t").await.unwrap_err(),
        store.ready().await.unwrap_err(),
    ] {
        assert!(matches!(error, StoreError::Unavailable { .. }), "{error}");
    }
    server.start_again();
    let back = Instant::now();
    while let Err(error) = store.ready().await {
        assert!(back.elapsed() < Duration::from_secs(30), "{error}");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    let other = PostgresStore::open(&database.settings()).await.unwrap();
    let seq = sample.then(&other, 3, said("found")).await;
    let head = timeout(Duration::from_secs(30), watch.after(seq - 1))
        .await
        .unwrap();
    assert_eq!(head.unwrap().seq, seq);
}
