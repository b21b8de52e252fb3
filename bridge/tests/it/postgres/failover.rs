//! A database with a standby that becomes the primary, and addresses that lead to another server than before.

use std::{
    cell::Cell,
    net::TcpListener,
    sync::{Arc, Mutex},
    time::Duration,
};

use bridge::store::{Event, PostgresStore, Store, StoreError, testing::Sample};
use bridge_protocol::a2a::{Message, Part, Role};
use tokio::{
    io::copy_bidirectional,
    net::UnixStream,
    time::{Instant, sleep},
};

use super::server::{Database, Server};

/// The time in which a store must work again.
const RECOVERY: Duration = Duration::from_secs(120);

fn said(id: &str) -> Event {
    Event::Message(Message::new(id, Role::User, vec![Part::text(id)]))
}

/// Appends a message, again and again until the store is available.
async fn insist(store: &PostgresStore, sample: &Sample, seq: u64, id: &str) {
    let begun = Instant::now();
    loop {
        let append = sample.append(seq, 2, vec![said(id)]);
        match store.append(&sample.caller, append).await {
            Ok(_) => return,
            Err(StoreError::Conflict { actual, .. }) => return assert_eq!(actual, seq + 1),
            Err(error) => {
                assert!(matches!(error, StoreError::Unavailable { .. }), "{error}");
                assert!(begun.elapsed() < RECOVERY, "{error}");
            }
        }
        sleep(Duration::from_millis(50)).await;
    }
}

/// Waits until the standby of a server has everything.
async fn is_replicated(primary: &Server, database: &Database) {
    let behind = "SELECT count(*) FILTER (WHERE replay_lsn IS DISTINCT FROM pg_current_wal_lsn()) + (count(*) = 0)::int
        FROM pg_stat_replication";
    let begun = Instant::now();
    while database.number(behind).await > 0 {
        assert!(begun.elapsed() < RECOVERY, "{}", primary.folder);
        sleep(Duration::from_millis(20)).await;
    }
}

/// Starts a primary and its standby, and creates a database.
async fn replicated_pair() -> (Server, Server, Database) {
    let primary = Server::start(&["-c", "fsync=off"]);
    let database = primary.database().await;
    let standby = primary.standby();
    (primary, standby, database)
}

/// Opens a store whose address names the servers in this order, and creates a task that both servers have.
async fn store_of(
    servers: [&Server; 2],
    primary: &Server,
    database: &Database,
) -> (PostgresStore, Sample) {
    let hosts = servers.map(|server| server.folder.as_str()).join(",");
    let url = database.url.replace(&primary.folder, &hosts);
    let store = PostgresStore::open(&url.parse().unwrap()).await.unwrap();
    let sample = Sample::new("t");
    sample.create(&store, 1).await;
    is_replicated(primary, database).await;
    (store, sample)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_standby_that_becomes_the_primary_is_used() {
    // The standby is reached first.
    let (one, two, database) = replicated_pair().await;
    let (store, sample) = store_of([&two, &one], &one, &database).await;
    one.stop();
    let lost = store.append(&sample.caller, sample.append(3, 2, vec![said("m")]));
    let error = lost.await.unwrap_err();
    assert!(matches!(error, StoreError::Unavailable { .. }), "{error}");
    two.promote();
    insist(&store, &sample, 3, "m").await;
    store.ready().await.unwrap();
}

/// Forwards connections to the server whose folder it holds.
async fn forward(target: Arc<Mutex<String>>) -> u16 {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    tokio::spawn(async move {
        while let Ok((mut client, _)) = listener.accept().await {
            let folder = target.lock().unwrap().clone();
            tokio::spawn(async move {
                let server = UnixStream::connect(format!("{folder}/.s.PGSQL.5432")).await;
                if let Ok(mut server) = server {
                    let _ = copy_bidirectional(&mut client, &mut server).await;
                }
            });
        }
    });
    port
}

/// A name or a proxy may lead to a standby for a while: its connections are not kept.
#[tokio::test(flavor = "multi_thread")]
async fn an_address_that_led_to_a_standby_is_used_again() {
    let (one, two, database) = replicated_pair().await;
    let target = Arc::new(Mutex::new(one.folder.clone()));
    let port = forward(Arc::clone(&target)).await;
    let name = database.url.split(['/', '?']).nth(3).unwrap();
    let url = format!("postgres://bridge@127.0.0.1:{port}/{name}");
    let store = PostgresStore::open(&url.parse().unwrap()).await.unwrap();
    let sample = Sample::new("t");
    sample.create(&store, 1).await;
    is_replicated(&one, &database).await;
    target.lock().unwrap().clone_from(&two.folder);
    one.stop();
    for _ in 0..5 {
        let append = sample.append(3, 2, vec![said("m")]);
        let error = store.append(&sample.caller, append).await.unwrap_err();
        assert!(matches!(error, StoreError::Unavailable { .. }), "{error}");
        store.head(&sample.caller, "t").await.unwrap_err();
    }
    let error = store.ready().await.unwrap_err();
    assert!(error.to_string().contains("promote it"), "{error}");
    one.start_again();
    target.lock().unwrap().clone_from(&one.folder);
    insist(&store, &sample, 3, "m").await;
    store.ready().await.unwrap();
}

/// Open connections to a server whose operator has stopped all writes are closed.
#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_begins_to_refuse_writes_is_left() {
    let (one, two, database) = replicated_pair().await;
    let (store, sample) = store_of([&one, &two], &one, &database).await;
    let stop = "ALTER SYSTEM SET default_transaction_read_only = on";
    database.execute(stop).await;
    database.execute("SELECT pg_reload_conf()").await;
    let refuses = "SELECT (current_setting('default_transaction_read_only') = 'on')::int::bigint";
    database.until(refuses, |refuses| refuses > 0, "the setting is not read").await;
    two.promote();
    insist(&store, &sample, 3, "m").await;
    let moved = Database { url: database.url.replace(&one.folder, &two.folder) };
    let events = "SELECT count(*) FROM bridge.events";
    let counts = (database.number(events).await, moved.number(events).await);
    assert!(counts.1 > counts.0, "{counts:?}");
}

/// A machine that has lost its power does not answer: the next one is asked.
#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_does_not_answer_is_passed_over() {
    let database = Server::shared().database().await;
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = silent.local_addr().unwrap().port();
    let url = database.url.replace("host=", "host=127.0.0.1,");
    let url = format!("{url}&port={port},5432");
    let store = PostgresStore::open(&url.parse().unwrap()).await.unwrap();
    Sample::new("t").create(&store, 1).await;
    silent.set_nonblocking(true).unwrap();
    let connected = || std::iter::from_fn(|| silent.accept().ok()).count();
    assert_ne!(connected(), 0);
    // Further connections begin with the one that has answered.
    for number in 0..20 {
        let sample = Sample::new(format!("t{number}"));
        sample.create(&store, 1).await;
    }
    assert_eq!(connected(), 0);
}

/// Connections to a server that stands still are closed after the first of them got no answer.
#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_stands_still_is_left_for_another() {
    let (one, two, database) = replicated_pair().await;
    let (store, sample) = store_of([&one, &two], &one, &database).await;
    let store = Arc::new(store);
    let heads = (0..8).map(|_| {
        let store = Arc::clone(&store);
        let caller = sample.caller.clone();
        tokio::spawn(async move { store.head(&caller, "t").await.unwrap() })
    });
    for head in heads.collect::<Vec<_>>() {
        head.await.unwrap();
    }
    let has_resumed = Cell::new(false);
    let still = async {
        one.stand_still(Duration::from_secs(40)).await;
        has_resumed.set(true);
    };
    let other = async {
        sleep(Duration::from_millis(100)).await;
        two.promote();
        insist(&store, &sample, 3, "m").await;
        store.head(&sample.caller, "t").await.unwrap();
        assert!(!has_resumed.get(), "the other server was not used");
    };
    tokio::join!(other, still);
}
