//! Tests faults of the database, and their effects.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use bridge::{
    caller::Caller,
    store::{
        Append, Call, Conversation, Event, PostgresSettings, PostgresStore, RecordKey, Store,
        StoreError, testing::Sample,
    },
};
use bridge_protocol::a2a::{Message, Part, Role};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::{TcpListener, TcpStream, UnixStream},
    process::Command,
    time::{Instant, timeout},
};

use super::server::{Database, Server};
use crate::program::run;

/// Ends all other connections to the database, and returns their number.
const CUT_CONNECTIONS: &str = "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity
    WHERE datname = current_database() AND pid <> pg_backend_pid()";

fn record_key() -> RecordKey {
    RecordKey { kind: "kind".to_owned(), scope: "scope".to_owned(), id: "id".to_owned() }
}

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
    let expected = "has format 900, this program knows 3: use a newer bridge";
    assert!(error.to_string().ends_with(expected), "{error}");
}

/// A bridge of the previous version keeps working beside one of this version, which has changed the tables.
#[tokio::test(flavor = "multi_thread")]
async fn an_older_bridge_works_beside_a_newer_one() {
    let database = Server::shared().database().await;
    let tables = "CREATE SCHEMA bridge;
        CREATE TABLE bridge.schema (number integer NOT NULL, readable_by integer NOT NULL);
        INSERT INTO bridge.schema VALUES (2, 2)";
    database.execute(tables).await;
    for step in [
        include_str!("../../../postgres/migrations/0001_log.sql"),
        include_str!("../../../postgres/migrations/0002_replicas.sql"),
    ] {
        database.execute(step).await;
    }
    // The older one writes before and afterwards.
    let join = "INSERT INTO bridge.replicas (until) VALUES (clock_timestamp() + interval '1 hour')";
    database.execute(join).await;
    let take = "INSERT INTO bridge.conversations (key, replica)
        SELECT '\\x00', id FROM bridge.replicas ON CONFLICT DO NOTHING";
    database.execute(take).await;
    let store = PostgresStore::open(&database.settings()).await.unwrap();
    let readable = "SELECT readable_by::bigint FROM bridge.schema WHERE number > 2";
    assert_eq!(database.number(readable).await, 2);
    let put = "INSERT INTO bridge.records (scope, key, id, value)
        VALUES ('\\x01', '\\x02', '\\x03', '\\x04')
        ON CONFLICT (scope, key) DO UPDATE SET value = excluded.value";
    database.execute(put).await;
    database.execute(join).await;
    let sample = Sample::new("t");
    sample.create(&store, 1).await;
    // The older one would not answer, so no call is handed to it.
    let held = "UPDATE bridge.conversations SET key = '\\x05', replica = (SELECT min(id) FROM bridge.replicas)";
    database.execute(held).await;
    let handed = "SELECT count(*) FROM bridge.hand_over_1(-1, '\\x05', '\\x06', '', 60)";
    assert_eq!(database.number(handed).await, 0);
}

/// The database has marked a call as taken, but its answer to the bridge was lost.
#[tokio::test(flavor = "multi_thread")]
async fn a_call_is_taken_again_unless_it_is_being_answered() {
    let database = Server::shared().database().await;
    let store = PostgresStore::open(&database.settings()).await.unwrap();
    let leases = store.leases().unwrap();
    let taken = "INSERT INTO bridge.calls (key, replica, is_taken, body, until)
        SELECT '\\x01', max(id), true, '\\x02', clock_timestamp() + interval '1 hour' FROM bridge.replicas";
    database.execute(taken).await;
    assert_eq!(leases.calls().await, [Call { key: vec![1], body: vec![2] }]);
    assert_eq!(leases.calls().await, []);
    leases.answer(&[1], Some(vec![3])).await.unwrap();
    assert_eq!(leases.calls().await, []);
    let answered = "SELECT count(*) FROM bridge.calls WHERE answer = '\\x03'";
    assert_eq!(database.number(answered).await, 1);
}

/// A bridge whose leases were taken over writes nothing more, neither events nor records.
#[tokio::test(flavor = "multi_thread")]
async fn a_process_presumed_dead_writes_nothing() {
    let database = Server::shared().database().await;
    let store = PostgresStore::open(&database.settings()).await.unwrap();
    let sample = Sample::new("t");
    sample.create(&store, 1).await;
    let key = record_key();
    let caller = &sample.caller;
    store.put_record(caller, &key, vec![1]).await.unwrap();
    database.execute("DELETE FROM bridge.replicas").await;
    let append = sample.append(3, 2, vec![said("late")]);
    for done in [
        store.append(caller, append).await.map(drop),
        store.put_record(caller, &key, vec![2]).await,
        store.delete_record(caller, &key).await.map(drop),
    ] {
        assert!(matches!(done, Err(StoreError::Unavailable { .. })), "{done:?}");
    }
    assert_eq!(store.record(caller, &key).await.unwrap(), Some(vec![1]));
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
    assert_eq!(database.number("SELECT count(*) FROM bridge.schema").await, 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_missing_database_is_reported_without_its_password() {
    let folder = tempfile::tempdir().unwrap();
    let url = format!("postgres:///d?host={}&user=me&password=hunter2", folder.path().display());
    let settings = url.parse().unwrap();
    let error = PostgresStore::open(&settings).await.unwrap_err();
    assert!(matches!(error, StoreError::Unavailable { .. }), "{error}");
    let told = format!("{error} {error:?} {settings:?}");
    assert!(!told.contains("hunter2"), "{told}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_missing_password_is_reported_with_its_places() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("postgres://me@{}/d", listener.local_addr().unwrap());
    tokio::spawn(async move {
        loop {
            let (mut asked, _) = listener.accept().await.unwrap();
            // AuthenticationCleartextPassword.
            let _ = asked.write_all(b"R\0\0\0\x08\0\0\0\x03").await;
            let _ = asked.read_to_end(&mut Vec::new()).await;
        }
    });
    let mut command = Command::new(env!("CARGO_BIN_EXE_bridge"));
    command.args(["store", "check", "--store", &url]);
    command.env_remove("PGPASSWORD").env_remove("PGPASSFILE").env_remove("HOME");
    let (passed, said) = run(&mut command, Duration::from_secs(60)).await;
    assert!(!passed && said.contains("password missing; set it in PGPASSWORD"), "{said}");
}

/// Appends as the store's writers do: when the database was not available, they check whether the append is there.
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

/// No acknowledged data is lost, and nothing is written twice, while connections are cut in the middle of commits.
#[tokio::test(flavor = "multi_thread")]
async fn a_commit_without_a_response_is_looked_up() {
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
    let cutting = tokio::spawn(cut_connections(database.clone()));
    for writer in writers {
        timeout(Duration::from_secs(60), writer).await.unwrap().unwrap();
    }
    cutting.abort();
    let events = "SELECT sum(last - first + 1)::bigint FROM bridge.events";
    assert_eq!(database.number(events).await, 8 * 41);
}

/// A connection that ends after its commit, before the answer. A caller that was told of a conflict would take its own message
/// for a repetition, and would not run the turn.
#[tokio::test(flavor = "multi_thread")]
async fn an_append_whose_commit_had_no_answer_succeeds() {
    let server = Server::start(&["-c", "fsync=off"]);
    let database = server.database().await;
    let store = Arc::new(PostgresStore::open(&database.settings()).await.unwrap());
    let operator = database.connect().await;
    // A commit is in the log already while it waits for a standby that does not exist.
    operator.execute("ALTER SYSTEM SET synchronous_standby_names = 'nobody'", &[]).await.unwrap();
    operator.execute("SELECT pg_reload_conf()", &[]).await.unwrap();
    // The server reads the setting when it gets to it. Until then, no commit waits.
    let committing = tokio::spawn(commit_again_and_again(database.clone()));
    let waiting = "SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'SyncRep'";
    database.until(waiting, |commits| commits > 0, "no commit waits").await;
    committing.abort();
    let sample = Sample::new("t");
    let append = sample.append(0, 1, vec![sample.created(), said("m")]);
    let appending = tokio::spawn(async move { store.append(&sample.caller, append).await });
    // It counts a connection when that has ended: its commit must not go on before.
    let end_waiting = "SELECT count(pg_terminate_backend(pid, 60000)) FROM pg_stat_activity
        WHERE wait_event = 'SyncRep' AND query LIKE '%append_2%'";
    database.until(end_waiting, |ended| ended > 0, "nothing is committed").await;
    operator.execute("ALTER SYSTEM RESET synchronous_standby_names", &[]).await.unwrap();
    operator.execute("SELECT pg_reload_conf()", &[]).await.unwrap();
    assert_eq!(appending.await.unwrap().unwrap().seq, 2);
}

/// A firewall that forgets a connection drops what is sent on it, and neither side is told.
#[tokio::test(flavor = "multi_thread")]
async fn an_append_whose_answer_is_lost_in_silence_succeeds() {
    let database = Server::shared().database().await;
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let mut settings: PostgresSettings = {
        let (name, folder) = database.url.split_once("?host=").unwrap();
        let (name, folder) = (name.rsplit('/').next().unwrap(), folder.split('&').next().unwrap());
        let socket = format!("{folder}/.s.PGSQL.5432");
        let port = listener.local_addr().unwrap().port();
        tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                let server = UnixStream::connect(&socket).await.unwrap();
                tokio::spawn(pass_on(client, server));
            }
        });
        format!("postgres://bridge@127.0.0.1:{port}/{name}").parse().unwrap()
    };
    // The heartbeat uses other connections, and no process takes this one for dead.
    settings.lease = Duration::from_secs(60);
    let store = PostgresStore::open(&settings).await.unwrap();
    let sample = Sample::new("t");
    let append = sample.append(0, 1, vec![sample.created(), said(UNANSWERED)]);
    assert_eq!(store.append(&sample.caller, append).await.unwrap().seq, 2);
}

/// The message whose append gets no answer on its first connection.
const UNANSWERED: &str = "unanswered";

/// Connects a client to the server, until the message passes; from then on the client hears nothing, while the server gets
/// everything.
async fn pass_on(mut client: TcpStream, mut server: UnixStream) {
    static HAS_PASSED: AtomicBool = AtomicBool::new(false);
    let (mut asked, mut answered) = ([0; 65536], [0; 65536]);
    let mut is_silent = false;
    loop {
        tokio::select! {
            read = client.read(&mut asked) => {
                let Ok(size @ 1..) = read else { return };
                let mut words = asked[..size].windows(UNANSWERED.len());
                let names_message = words.any(|word| word == UNANSWERED.as_bytes());
                is_silent |= names_message && !HAS_PASSED.swap(true, Ordering::Relaxed);
                server.write_all(&asked[..size]).await.unwrap();
            }
            read = server.read(&mut answered) => {
                let Ok(size @ 1..) = read else { return };
                if !is_silent {
                    client.write_all(&answered[..size]).await.unwrap();
                }
            }
        }
    }
}

async fn commit_again_and_again(database: Database) {
    loop {
        database.execute("COMMENT ON SCHEMA public IS 'changed'").await;
    }
}

/// Cuts every connection to the database, again and again.
async fn cut_connections(database: Database) {
    let client = database.connect().await;
    // On a busy machine nobody would come to an end if this did not.
    for _ in 0..200 {
        client.query_one(CUT_CONNECTIONS, &[]).await.unwrap();
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

/// An administrator, a proxy or a failover ends all connections at once.
#[tokio::test(flavor = "multi_thread")]
async fn reads_and_records_do_not_fail_when_all_connections_end() {
    let database = Server::shared().database().await;
    let store = PostgresStore::open(&database.settings()).await.unwrap();
    let sample = Sample::new("t");
    sample.create(&store, 1).await;
    let key = record_key();
    for _ in 0..20 {
        let (until, store) = (Instant::now() + Duration::from_millis(300), &store);
        let used = (0..8).map(async |number| {
            while Instant::now() < until {
                let value = vec![number];
                store.put_record(&sample.caller, &key, value).await.unwrap();
                store.read(&sample.caller, "t", 0, 10).await.unwrap();
            }
        });
        let cutting = async {
            tokio::time::sleep(Duration::from_millis(100)).await;
            database.number(CUT_CONNECTIONS).await
        };
        let (_, ended) = tokio::join!(futures_util::future::join_all(used), cutting);
        assert!(ended > 3, "{ended}");
    }
}

/// A client that gets no answer sends its message to another process, while the first one is still checking its commit:
/// one of them stores it, and the other one returns its location.
#[tokio::test(flavor = "multi_thread")]
async fn a_message_whose_commit_had_no_answer_may_be_stored_by_another_process() {
    let database = Server::shared().database().await;
    let open = async || Arc::new(PostgresStore::open(&database.settings()).await.unwrap());
    let stores = [open().await, open().await];
    let cutting = tokio::spawn(cut_connections(database.clone()));
    let write = |number: usize| {
        let store = Arc::clone(&stores[number % 2]);
        tokio::spawn(async move {
            for round in 0..60 {
                let sample = Sample::new(format!("{number}-{round}"));
                let events = vec![sample.created(), said(&format!("{}-{round}", number / 2))];
                loop {
                    let append = sample.append(0, 1, events.clone());
                    match store.append(&sample.caller, append).await {
                        Ok(_) | Err(StoreError::Duplicate { .. }) => break,
                        Err(StoreError::Unavailable { .. }) => {}
                        Err(StoreError::Conflict { actual, .. }) if actual > 0 => break,
                        Err(error) => panic!("{error}"),
                    }
                }
            }
        })
    };
    for writer in (0..8).map(write).collect::<Vec<_>>() {
        timeout(Duration::from_secs(120), writer).await.unwrap().unwrap();
    }
    cutting.abort();
    let tasks = "SELECT count(*) FROM bridge.tasks";
    assert_eq!(database.number(tasks).await, 4 * 60);
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
        assert!(back.elapsed() < Duration::from_secs(120), "{error}");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    let other = PostgresStore::open(&database.settings()).await.unwrap();
    let seq = sample.then(&other, 3, said("found")).await;
    let head = timeout(Duration::from_secs(120), watch.after(seq - 1)).await.unwrap();
    assert_eq!(head.unwrap().seq, seq);
}

/// A process that keeps a lease without need keeps all other processes away.
#[tokio::test(flavor = "multi_thread")]
async fn a_lease_that_could_not_be_released_becomes_free_when_the_database_is_back() {
    let server = Server::start(&[]);
    let database = server.database().await;
    let store = PostgresStore::open(&database.settings()).await.unwrap();
    let (leases, alice) = (store.leases().unwrap(), Caller::new("alice"));
    let lease = Conversation { agent: "sample", caller: &alice, id: "c" };
    let work = async {
        // Leases are written without waiting for the disk.
        database.execute("CHECKPOINT").await;
        server.stop();
        Ok::<_, StoreError>(())
    };
    leases.run_with_lease(lease, work).await.unwrap();
    server.start_again();
    let held = "SELECT count(*) FROM bridge.conversations";
    database.until(held, |leases| leases == 0, "nobody else gets the lease").await;
}

/// A lease is released late only if this process has not acquired it again: otherwise another one would get it, too.
#[tokio::test(flavor = "multi_thread")]
async fn a_lease_that_is_acquired_again_is_not_released_late() {
    let database = Server::shared().database().await;
    let mut settings = database.settings();
    settings.lease = Duration::from_secs(2);
    let store = PostgresStore::open(&settings).await.unwrap();
    let (leases, alice) = (store.leases().unwrap(), Caller::new("alice"));
    let lease = |id| Conversation { agent: "sample", caller: &alice, id };
    let release = "FUNCTION bridge.release_1(bigint, bytea, bytea, bytea, text) RENAME TO";
    database.execute(&format!("ALTER {release} release_0")).await;
    for id in ["again", "once"] {
        leases.run_with_lease(lease(id), async { Ok::<_, StoreError>(()) }).await.unwrap();
    }
    leases.acquire(lease("again")).await.unwrap();
    let release = release.replace("release_1", "release_0");
    database.execute(&format!("ALTER {release} release_1")).await;
    let held = "SELECT count(*) FROM bridge.conversations";
    database.until(held, |leases| leases < 2, "the other lease is not released").await;
    let other = PostgresStore::open(&settings).await.unwrap();
    let (others, both) = (other.leases().unwrap(), [lease("again"), lease("once")]);
    assert_eq!(others.are_elsewhere(&both).await.unwrap(), [true, false]);
}
