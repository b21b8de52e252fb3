//! Stores that are copied from one kind to another and back, with the real program.

use std::{
    fs,
    path::Path,
    process::{Child, Command, Stdio},
    sync::Arc,
    time::Duration,
};

use bridge::{
    caller::Caller,
    store::{
        Created, Deletion, Event, ExportStore, Head, ListQuery, PostgresStore, RecordEntry,
        RecordKey, SledSettings, SledStore, Store, StoredEvent, TaskEntry,
        testing::{Sample, artifact},
    },
};
use bridge_protocol::a2a::{Message, Metadata, Part, Role, TaskState, TaskStatus};
use futures_util::future::join_all;
use tokio::{
    task::block_in_place,
    time::{Instant, sleep},
};

use super::{
    replicas::{LONG, Talk},
    server::{Database, Server},
};

fn said(id: &str) -> Event {
    Event::Message(Message::new(id, Role::User, vec![Part::text("ä\0🎉")]))
}

fn status(state: TaskState) -> Event {
    Event::Status {
        status: TaskStatus::new(state),
        metadata: Some(Metadata::from_iter([("k".to_owned(), 1.into())])),
    }
}

fn piece(text: &str, append: bool) -> Event {
    artifact("a", Part::text(text), append)
}

/// Fills a store with tasks of several callers in all states, deleted ones, and records.
async fn fill(store: &dyn Store, tasks: usize) {
    let fill = |number: usize| fill_task(store, number);
    join_all((0..tasks).map(fill)).await;
    // A long one, of which many events have the same time.
    let long = Sample::new("long");
    long.create(store, 5).await;
    for part in 0..12 {
        let pieces = (0..60).map(|piece_| piece(&format!("{piece_}"), part + piece_ > 0));
        let append = long.append(long.head(store).await.seq, 7 + part / 4, pieces.collect());
        store.append(&long.caller, append).await.unwrap();
    }
    for (kind, scope, id) in [("push", "t1", "a"), ("bot-state", "", "ä"), ("other", "s", "")] {
        let key = RecordKey { kind: kind.to_owned(), scope: scope.to_owned(), id: id.to_owned() };
        for caller in [Caller::anonymous(), Caller::new("bob")] {
            let value = vec![0, 255, b'{', id.len() as u8];
            store.put_record(&caller, &key, value).await.unwrap();
        }
    }
}

async fn fill_task(store: &dyn Store, number: usize) {
    let caller = Caller::new(["alice", "bob", ""][number % 3]);
    let sample = Sample::new(format!("t{number:05}")).of(caller.clone());
    let millis = 1_000 + number as i64;
    let Event::Created(created) = sample.created() else {
        panic!("expected a new task");
    };
    let created = Created {
        client_id: number.is_multiple_of(5).then(|| format!("client-{number}").into()),
        ..created
    };
    let message = format!("m{number}");
    let queued = Event::TurnQueued {
        turn: 1,
        message_id: message.clone(),
        names_context: None,
        traceparent: None,
    };
    let events = vec![Event::Created(created), said(&message), queued];
    let append = sample.append(0, millis, events);
    store.append(&caller, append).await.unwrap();
    let started =
        Event::TurnStarted { turn: 1, open_until: None, reference: Some(Metadata::new()) };
    let mut rest = vec![];
    if !number.is_multiple_of(4) {
        rest.extend([started, piece("one", false), piece("two", true)]);
    }
    match number % 4 {
        0 | 1 => {}
        2 => rest.extend([status(TaskState::InputRequired), Event::TurnEnded { turn: 1 }]),
        _ => rest.extend([status(TaskState::Canceled), Event::TurnEnded { turn: 1 }]),
    }
    for (at, event) in rest.into_iter().enumerate() {
        let append = sample.append(3 + at as u64, millis + at as i64 / 2, vec![event]);
        store.append(&caller, append).await.unwrap();
    }
    if number % 7 == 3 {
        store.delete(&caller, &sample.task, Deletion::Forced).await.unwrap();
    }
}

/// All that readers can see of a store.
#[derive(Debug, PartialEq)]
struct Content {
    tasks: Vec<(Head, Vec<StoredEvent>)>,
    records: Vec<RecordEntry>,
    lists: Vec<Vec<String>>,
    counts: String,
}

async fn content(store: &dyn ExportStore) -> Content {
    let mut tasks = Vec::new();
    for entry in store.all_tasks(&[], usize::MAX).await.unwrap().tasks {
        let TaskEntry::Intact(task, owner) = entry else {
            panic!("expected no damage, found {entry:?}");
        };
        let head = store.head(&owner, &task).await.unwrap();
        let events = store.read(&owner, &task, 0, usize::MAX).await.unwrap();
        for stored in &events {
            let (found, expected) = match &stored.event {
                Event::Message(message) => {
                    let id = &message.message_id;
                    let found = store.find_message(&owner, &head.agent, id).await.unwrap();
                    (found.map(|(task, _)| task), Some(task.clone()))
                }
                Event::Created(Created { client_id: Some(id), .. }) => {
                    let found = store.find_client_task(&owner, &head.agent, id).await;
                    (found.unwrap(), Some(task.clone()))
                }
                _ => (None, None),
            };
            assert_eq!(found, expected);
        }
        tasks.push((Arc::unwrap_or_clone(head), events));
    }
    tasks.sort_by(|(one, _), (other, _)| one.task.cmp(&other.task));
    let mut records = store.all_records(&[], 1_000).await.unwrap().records;
    records.sort_by(|one, other| (&one.owner.id, &one.key).cmp(&(&other.owner.id, &other.key)));
    let mut lists = Vec::new();
    for caller in ["alice", "bob", ""] {
        let query = ListQuery { page_size: 100, ..ListQuery::of("sample") };
        let page = store.list(&Caller::new(caller), &query).await.unwrap();
        let ids = page.tasks.into_iter().map(|found| found.task.id.clone());
        lists.push(ids.chain([page.total.to_string()]).collect());
    }
    let counts = store.counts().await.unwrap().into_iter();
    let counts: Vec<_> =
        counts.map(|(agent, counts)| (agent, counts.open, counts.ended.tasks)).collect();
    let counts = format!("{counts:?}");
    Content { tasks, records, lists, counts }
}

fn sled(folder: &Path) -> SledStore {
    SledStore::open(&SledSettings::in_folder(folder)).unwrap()
}

async fn in_database(database: &Database) -> Content {
    let store = PostgresStore::open(&database.settings()).await.unwrap();
    let content = content(&store).await;
    store.leases().unwrap().leave().await;
    content
}

/// Runs the program to its end, and returns its exit code and output.
fn bridge(arguments: &[&str]) -> (Option<i32>, String) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_bridge"));
    let done = block_in_place(|| command.args(arguments).stdin(Stdio::null()).output()).unwrap();
    let text = [done.stdout, done.stderr].concat();
    (done.status.code(), String::from_utf8(text).unwrap())
}

fn copies(arguments: &[&str]) -> String {
    let (code, text) = bridge(arguments);
    assert_eq!(code, Some(0), "{arguments:?}: {text}");
    text
}

fn fails(arguments: &[&str], expected: &str) -> String {
    let (code, text) = bridge(arguments);
    assert!(code == Some(4) && text.contains(expected), "{code:?}: {text}");
    text
}

#[tokio::test(flavor = "multi_thread")]
async fn a_store_there_and_back_is_the_original() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    let place = |name: &str| format!("sled:{}", path(name).display());
    let store = sled(&path("original"));
    fill(&store, 60).await;
    let original = content(&store).await;
    assert!(original.tasks.len() > 50 && original.records.len() == 6);
    drop(store);
    let (one, two) = (Server::shared().database().await, Server::shared().database().await);
    let told = copies(&["migrate", &place("original"), &one.url]);
    let count = format!("{} tasks", original.tasks.len());
    assert!(told.contains(&count), "{told}");
    assert_eq!(in_database(&one).await, original);
    copies(&["migrate", &one.url, &place("back")]);
    assert_eq!(content(&sled(&path("back"))).await, original);
    // A database is also copied to another one, and to a file.
    copies(&["migrate", &one.url, &two.url]);
    assert_eq!(in_database(&two).await, original);
    let (file, changed) = (path("file"), path("changed"));
    copies(&["store", "backup", file.to_str().unwrap(), "--store", &one.url]);
    copies(&["store", "restore", file.to_str().unwrap(), "--store", &place("restored")]);
    assert_eq!(content(&sled(&path("restored"))).await, original);
    let text = fs::read_to_string(&file).unwrap();
    let three = Server::shared().database().await;
    for (text, expected) in [
        (text.replacen("client-15", "client-16", 1), "were changed"),
        (text[..text.len() / 2].to_owned(), "has no end"),
        (text.lines().take(9).collect::<Vec<_>>().join("\n") + "\n", "is cut off"),
        ("{}\n".to_owned(), "line 1"),
    ] {
        fs::write(&changed, text).unwrap();
        let restore = ["store", "restore", changed.to_str().unwrap(), "--store", &three.url];
        fails(&restore, expected);
    }
    copies(&["store", "restore", file.to_str().unwrap(), "--store", &three.url]);
    assert_eq!(in_database(&three).await, original);
    // A target with content is not written to.
    fails(&["migrate", &place("original"), &three.url], "is not empty");
    fails(&["migrate", &one.url, &place("back")], "is not empty");
    fails(&["migrate", &place("none"), &three.url], "contains no store");
}

fn begin(arguments: &[&str]) -> Child {
    let mut command = Command::new(env!("CARGO_BIN_EXE_bridge"));
    let command = command.args(arguments).stdout(Stdio::null());
    command.stderr(Stdio::null()).spawn().unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_killed_copy_is_continued() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("original");
    let original = {
        let store = sled(&path);
        fill(&store, 2_000).await;
        content(&store).await
    };
    let database = Server::shared().database().await;
    let from = format!("sled:{}", path.display());
    let arguments = ["migrate", &from, &database.url];
    drop(PostgresStore::open(&database.settings()).await.unwrap());
    database.execute("DELETE FROM bridge.replicas").await;
    for wanted in [1, 700] {
        let mut copying = begin(&arguments);
        let begun = Instant::now();
        let count = "SELECT count(*) FROM bridge.tasks";
        while database.number(count).await < wanted {
            assert!(begun.elapsed() < LONG, "nothing is copied");
            sleep(Duration::from_millis(1)).await;
        }
        copying.kill().unwrap();
        copying.wait().unwrap();
        // The copy is forgotten after its lease.
        database.execute("DELETE FROM bridge.replicas").await;
    }
    let unfinished = database.number("SELECT count(*) FROM bridge.tasks").await;
    assert!(unfinished < original.tasks.len() as i64, "it was too fast");
    let refused = ["serve", "--listen", "127.0.0.1:0", "--store", &database.url];
    let (code, text) = bridge(&refused);
    assert!(code == Some(1) && text.contains("unfinished copy"), "{text}");
    let other = folder.path().join("other");
    fill(&sled(&other), 3).await;
    database.execute("DELETE FROM bridge.replicas").await;
    let other = format!("sled:{}", other.display());
    fails(&["migrate", &other, &database.url], "unfinished copy of sled:");
    copies(&arguments);
    assert_eq!(in_database(&database).await, original);
}

/// A database is backed up while bridges serve it, and checked.
#[tokio::test(flavor = "multi_thread")]
async fn a_database_in_use_is_backed_up_and_checked() {
    let database = Server::shared().database().await;
    let talk = Talk::with(&database);
    for number in 0..20 {
        let message = serde_json::json!({"messageId": format!("m{number}")});
        talk.send("echo", message, true).await;
    }
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("copy");
    let file = file.to_str().unwrap();
    let told = copies(&["store", "backup", file, "--store", &database.url]);
    assert!(told.contains("20 tasks"), "{told}");
    let in_use = ["migrate", &database.url, "file:/nowhere/copy"];
    let told = fails(&in_use, "in use (bridges: 1): stop them first");
    assert!(told.contains("waiting until no bridge uses postgres://"), "{told}");
    let told = copies(&["store", "check", "--store", &database.url]);
    assert!(told.contains("20 tasks, 0 of them damaged"), "{told}");
    let restored = Server::shared().database().await;
    copies(&["store", "restore", file, "--store", &restored.url]);
    let task = "(SELECT min(task) FROM bridge.tasks)";
    let hole = format!("DELETE FROM bridge.events WHERE task = {task} AND first = 1");
    restored.execute(&hole).await;
    let broken =
        "UPDATE bridge.tasks SET head = '{' WHERE task = (SELECT max(task) FROM bridge.tasks)";
    restored.execute(broken).await;
    let (code, told) = bridge(&["store", "check", "--store", &restored.url]);
    assert_eq!(code, Some(1), "{told}");
    assert!(told.contains("20 tasks, 2 of them damaged"), "{told}");
    assert!(told.contains("events are missing"), "{told}");
    // Damaged tasks are left out of a copy, which reports them.
    let second = folder.path().join("second");
    let backup = ["store", "backup", second.to_str().unwrap(), "--store", &restored.url];
    let (code, told) = bridge(&backup);
    assert_eq!(code, Some(1), "{told}");
    assert_eq!(told.matches("left out: task").count(), 2, "{told}");
}
