//! A database that is locked, stands still, allows few connections or takes nothing more.

use std::{
    io::{BufRead as _, BufReader},
    process::{Command, Stdio},
    sync::Arc,
    time::Duration,
};

use bridge::{
    caller::Caller,
    store::{
        Conversation, Event, Lease, PostgresSettings, PostgresStore, Store, StoreError,
        testing::Sample,
    },
};
use bridge_protocol::a2a::{Message, Part, Role};
use tokio::{
    task::block_in_place,
    time::{Instant, sleep},
};

use super::server::{Database, Server};

const LEASE: Duration = Duration::from_secs(2);

fn said(id: &str) -> Event {
    Event::Message(Message::new(id, Role::User, vec![Part::text(id)]))
}

async fn open(mut settings: PostgresSettings) -> Arc<PostgresStore> {
    settings.lease = LEASE;
    Arc::new(PostgresStore::open(&settings).await.unwrap())
}

/// Writers that wait for a lock take no connection away from that by which their bridge says that it lives.
#[tokio::test(flavor = "multi_thread")]
async fn a_busy_bridge_lives_while_a_table_is_locked() {
    let database = Server::shared().database().await;
    let (busy, idle) = (open(database.settings()), open(database.settings()));
    let (busy, _idle) = tokio::join!(busy, idle);
    sleep(LEASE).await;
    let locker = database.connect().await;
    let lock = "BEGIN; LOCK TABLE bridge.tasks IN ACCESS EXCLUSIVE MODE";
    locker.batch_execute(lock).await.unwrap();
    let write = |number: usize| {
        let busy = Arc::clone(&busy);
        let sample = Sample::new(format!("locked-{number}"));
        let append = sample.append(0, 1, vec![sample.created()]);
        tokio::spawn(async move { busy.append(&sample.caller, append).await.map(drop) })
    };
    let writers: Vec<_> = (0..20).map(write).collect();
    sleep(LEASE * 3).await;
    locker.batch_execute("COMMIT").await.unwrap();
    for writer in writers {
        // Some clients may have waited too long; no other failure is allowed.
        drop(writer.await.unwrap());
    }
    let lives = "SELECT count(*) FROM bridge.replicas";
    assert_eq!(database.number(lives).await, 2);
    Sample::new("afterwards").create(&*busy, 1).await;
}

/// An administrator may set `lock_timeout` for all roles. An append that waits for a lock is not refused for that reason.
#[tokio::test(flavor = "multi_thread")]
async fn a_role_that_may_not_wait_for_locks_waits_for_them() {
    let database = Server::shared().database().await;
    for statement in
        ["CREATE ROLE hasty LOGIN SUPERUSER", "ALTER ROLE hasty SET lock_timeout = '1ms'"]
    {
        database.execute(statement).await;
    }
    let store = open(database.for_user("hasty").settings()).await;
    let locker = database.connect().await;
    let lock = "BEGIN; LOCK TABLE bridge.tasks IN ACCESS EXCLUSIVE MODE";
    locker.batch_execute(lock).await.unwrap();
    let sample = Sample::new("t");
    let append = sample.append(0, 1, vec![sample.created()]);
    let appending = tokio::spawn(async move { store.append(&sample.caller, append).await });
    let waiting = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database()
        AND wait_event_type = 'Lock' AND query LIKE '%append_2%'
        AND clock_timestamp() > query_start + interval '20 ms'";
    while database.number(waiting).await == 0 {
        assert!(!appending.is_finished(), "{:?}", appending.await);
        sleep(Duration::from_millis(5)).await;
    }
    locker.batch_execute("COMMIT").await.unwrap();
    appending.await.unwrap().unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn an_acknowledged_append_is_durable_though_the_servers_commits_are_not() {
    let server = Server::start(&["-c", "synchronous_commit=off", "-c", "wal_writer_delay=10s"]);
    let database = server.database().await;
    let store = open(database.settings()).await;
    for number in 0..5 {
        Sample::new(format!("t{number}")).create(&*store, 1).await;
    }
    server.stop();
    server.start_again();
    let tasks = "SELECT count(*) FROM bridge.tasks";
    assert_eq!(database.number(tasks).await, 5);
}

/// A process that is removed while it acquires a lease releases it never.
#[tokio::test(flavor = "multi_thread")]
async fn a_lease_that_a_removed_process_acquires_becomes_free() {
    let database = Server::shared().database().await;
    let store = open(database.settings()).await;
    let (leases, alice) = (store.leases().unwrap(), Caller::new("alice"));
    let conversation = Conversation { agent: "sample", caller: &alice, id: "c" };
    leases.acquire(conversation).await.unwrap();
    let dead = "CREATE TABLE bridge.held AS SELECT key FROM bridge.conversations;
        INSERT INTO bridge.replicas (until) VALUES (clock_timestamp())";
    database.execute(dead).await;
    leases.release(conversation).await.unwrap();
    let late = database.connect().await;
    let acquire =
        "BEGIN; SELECT bridge.acquire_1(max(id), (SELECT key FROM bridge.held), '', '', '')
        FROM bridge.replicas";
    late.batch_execute(acquire).await.unwrap();
    while database.number("SELECT count(*) FROM bridge.replicas").await > 1 {
        sleep(Duration::from_millis(50)).await;
    }
    late.batch_execute("COMMIT").await.unwrap();
    while let Lease::Elsewhere(_) = leases.acquire(conversation).await.unwrap() {
        sleep(Duration::from_millis(50)).await;
    }
}

/// After a pause of the database, every bridge gets the time to renew its lease.
#[tokio::test(flavor = "multi_thread")]
async fn nobody_is_dead_because_the_database_stood_still() {
    let server = Server::start(&["-c", "fsync=off"]);
    let database = server.database().await;
    let _idle = open(database.settings()).await;
    // By now, expired leases are searched for.
    sleep(LEASE * 2).await;
    let join = "INSERT INTO bridge.replicas (until) VALUES (clock_timestamp() + interval '2 s')";
    database.execute(join).await;
    let slow = "SELECT max(id) FROM bridge.replicas";
    let slow = database.number(slow).await;
    server.stand_still(LEASE + LEASE / 2).await;
    sleep(LEASE / 2).await;
    let lives = format!("SELECT count(*) FROM bridge.replicas WHERE id = {slow}");
    assert_eq!(database.number(&lives).await, 1);
    let begun = Instant::now();
    while database.number(&lives).await > 0 {
        assert!(begun.elapsed() < LEASE * 10, "the dead stay for ever");
        sleep(LEASE / 10).await;
    }
}

/// After a jump of the database's clock, or another server with another clock, every bridge gets the time to renew its lease.
#[tokio::test(flavor = "multi_thread")]
async fn nobody_is_dead_because_the_databases_clock_jumped() {
    let database = Server::shared().database().await;
    // The bridge finds this function before that of PostgreSQL.
    let clock = "CREATE SCHEMA own; CREATE TABLE own.jump (by interval); INSERT INTO own.jump VALUES ('0');
        CREATE FUNCTION own.clock_timestamp() RETURNS timestamptz LANGUAGE sql VOLATILE
            AS 'SELECT pg_catalog.clock_timestamp() + by FROM own.jump';
        DO $$ BEGIN EXECUTE format('ALTER DATABASE %I SET search_path = own, pg_catalog', current_database()); END $$";
    database.execute(clock).await;
    let _idle = open(database.settings()).await;
    // By now, expired leases are searched for.
    sleep(LEASE * 2).await;
    let join = "INSERT INTO bridge.replicas (until) VALUES (clock_timestamp() + interval '2 s');
        UPDATE own.jump SET by = '1 h'";
    database.execute(join).await;
    sleep(LEASE * 3 / 4).await;
    let lives = "SELECT count(*) FROM bridge.replicas";
    assert_eq!(database.number(lives).await, 2);
    let begun = Instant::now();
    while database.number(lives).await > 1 {
        assert!(begun.elapsed() < LEASE * 10, "the dead stay for ever");
        sleep(LEASE / 10).await;
    }
}

/// Returns the settings of a database user who may open this number of connections.
async fn limited(database: &Database, connections: usize) -> PostgresSettings {
    let user = format!("few_{connections}");
    let create = format!(
        "CREATE ROLE {user} LOGIN CONNECTION LIMIT {connections};
        DO $$ BEGIN EXECUTE format('GRANT ALL ON DATABASE %I TO {user}', current_database()); END $$"
    );
    database.execute(&create).await;
    let url = database.url.replace("user=bridge", &format!("user={user}"));
    url.parse().unwrap()
}

/// Twenty writers create twenty tasks each at the same time, and read them.
pub(super) async fn write_at_once(store: &Arc<PostgresStore>) {
    let write = |number: usize| {
        let store = Arc::clone(store);
        tokio::spawn(async move {
            for round in 0..20 {
                let sample = Sample::new(format!("{number}-{round}"));
                sample.create(&*store, 1).await;
                store.head(&sample.caller, &sample.task).await.unwrap();
            }
        })
    };
    for writer in (0..20).map(write).collect::<Vec<_>>() {
        writer.await.unwrap();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn fewer_connections_than_wanted_are_slower_and_no_outage() {
    for connections in [3, 5, 12] {
        let database = Server::shared().database().await;
        let settings = limited(&database, connections).await;
        let store = open(settings).await;
        write_at_once(&store).await;
        let tasks = "SELECT count(*) FROM bridge.tasks";
        assert_eq!(database.number(tasks).await, 20 * 20, "{connections}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_user_who_may_create_or_write_nothing_is_told_what_to_do() {
    let database = Server::shared().database().await;
    for (user, options, told) in [
        ("creates_nothing", "", "GRANT CREATE ON DATABASE"),
        ("only_reads", "SET default_transaction_read_only = on", "default_transaction_read_only"),
    ] {
        database.execute(&format!("CREATE ROLE {user} LOGIN")).await;
        if !options.is_empty() {
            database.execute(&format!("ALTER ROLE {user} {options}")).await;
        }
        let url = database.url.replace("user=bridge", &format!("user={user}"));
        let error = PostgresStore::open(&url.parse().unwrap()).await.unwrap_err().to_string();
        assert!(error.contains(told), "{error}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_user_who_may_not_migrate_the_tables_of_another_is_told_who_may() {
    let database = Server::shared().database().await;
    drop(open(database.settings()).await);
    for statement in [
        "UPDATE bridge.schema SET number = 2",
        "CREATE ROLE only_uses LOGIN",
        "GRANT USAGE ON SCHEMA bridge TO only_uses",
        "GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA bridge TO only_uses",
    ] {
        database.execute(statement).await;
    }
    let url = database.url.replace("user=bridge", "user=only_uses");
    let error = PostgresStore::open(&url.parse().unwrap()).await.unwrap_err().to_string();
    assert!(error.contains("start it once as the user who owns the tables"), "{error}");
}

/// Otherwise the second of two bridges that are updated seems to hang.
#[tokio::test(flavor = "multi_thread")]
async fn a_program_that_waits_for_a_migration_says_so() {
    let database = Server::shared().database().await;
    let migrating = database.connect().await;
    // The key of `schema.rs`.
    let lock = "SELECT pg_advisory_lock(x'627269646765'::bigint)";
    migrating.batch_execute(lock).await.unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_bridge"));
    command.args(["store", "check", "--store", &database.url]).stdout(Stdio::null());
    let mut waiting = command.stderr(Stdio::piped()).spawn().unwrap();
    let said = block_in_place(|| {
        let mut line = String::new();
        BufReader::new(waiting.stderr.take().unwrap()).read_line(&mut line).unwrap();
        line
    });
    assert!(said.contains("waiting for another process, which migrates the tables"), "{said}");
    drop(migrating);
    assert!(block_in_place(|| waiting.wait()).unwrap().success());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_store_that_can_write_nothing_is_not_ready() {
    let database = Server::shared().database().await;
    let store = open(database.settings()).await;
    let sample = Sample::new("t");
    sample.create(&*store, 1).await;
    store.ready().await.unwrap();
    let rename = "ALTER TABLE bridge.events RENAME TO gone";
    database.execute(rename).await;
    let append = sample.append(3, 2, vec![said("refused")]);
    store.append(&sample.caller, append).await.unwrap_err();
    let error = store.ready().await.unwrap_err();
    assert!(matches!(error, StoreError::Unavailable { .. }), "{error}");
    let back = "ALTER TABLE bridge.gone RENAME TO events";
    database.execute(back).await;
    sample.then(&*store, 3, said("taken")).await;
    store.ready().await.unwrap();
}

/// Otherwise a night without the database fills the log.
#[tokio::test(flavor = "multi_thread")]
async fn an_outage_is_not_logged_every_second() {
    const LATER: &str = "the turns of other bridges are taken up later";
    let server = Server::start(&["-c", "fsync=off"]);
    let (database, folder) = (server.database().await, tempfile::tempdir().unwrap());
    let mut command = Command::new(env!("CARGO_BIN_EXE_bridge"));
    command.args(["serve", "--listen", "127.0.0.1:0", "--store", &database.url]);
    command.args(["--bot", "bot=http://127.0.0.1:9/api/messages"]).current_dir(&folder);
    let mut bridge = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(bridge.stderr.take().unwrap()).lines().map_while(Result::ok);
    block_in_place(|| lines.find(|line| line.contains("listening on")).unwrap());
    server.stop();
    block_in_place(|| lines.find(|line| line.contains(LATER)).unwrap());
    sleep(Duration::from_secs(4)).await;
    bridge.kill().unwrap();
    bridge.wait().unwrap();
    assert_eq!(lines.filter(|line| line.contains(LATER)).count(), 0);
}
