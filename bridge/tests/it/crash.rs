//! Kills a process while it writes, repeatedly, on the same store.
//!
//! This test binary runs itself as the writer, which reports each append when it is acknowledged. After the kill all
//! acknowledged appends must be there unchanged, none in part, and deleted tasks must not be there.
//! `BRIDGE_CRASH_ROUNDS=50` is the number of kills.

use std::{
    collections::BTreeMap,
    io::{BufRead as _, BufReader, Write as _},
    path::Path,
    process::{Child, Command, Stdio},
    sync::Arc,
};

use bridge::{
    caller::Caller,
    store::{
        Append, Created, Deletion, Event, ListQuery, Seq, SledSettings, SledStore, Store,
        StoreError,
    },
};
use bridge_protocol::a2a::{Message, Metadata, Part, Role, TaskState, TaskStatus};
use jiff::Timestamp;

/// The variable with the folder of the writer's store.
const FOLDER: &str = "BRIDGE_CRASH_FOLDER";
/// The variable with the number of the writer's round, so that its tasks are new.
const ROUND: &str = "BRIDGE_CRASH_ROUND";
const ROUNDS: &str = "BRIDGE_CRASH_ROUNDS";
/// Tasks that are written at the same time.
const WRITERS: usize = 16;
/// The first append has three events, the others two, the last completes the task.
const APPENDS: u64 = 6;
/// The number of tasks after which each writer stops by itself, if it is not killed.
const TASKS: usize = 2_000;

#[derive(Debug, Default, PartialEq, Eq)]
struct Figures {
    kills: usize,
    acknowledged: usize,
    tasks: usize,
    deleted: usize,
    lost: usize,
    changed: usize,
    torn: usize,
    returned: usize,
}

/// The writer's reports: the last event of each task, and whether the deletions that it began were acknowledged.
#[derive(Debug, Default)]
struct Acknowledged {
    seqs: BTreeMap<String, Seq>,
    deletions: BTreeMap<String, bool>,
}

#[test]
fn a_kill_loses_nothing_that_was_acknowledged() {
    let rounds = std::env::var(ROUNDS).map_or(5, |rounds| rounds.parse().unwrap());
    let folder = tempfile::tempdir().unwrap();
    let mut acknowledged = Acknowledged::default();
    let mut figures = Figures::default();
    for round in 0..rounds {
        // Somewhere between the first and the two thousandth acknowledgement, scattered.
        let kill_after = (round * 7919 + 13) % 2_000;
        figures.acknowledged += run_and_kill(folder.path(), round, kill_after, &mut acknowledged);
        figures.kills += 1;
        verify(folder.path(), &mut acknowledged, &mut figures);
    }
    println!("{figures:?}");
    assert!(figures.deleted > 0, "{figures:?}");
    let wrong = [figures.lost, figures.changed, figures.torn, figures.returned];
    assert_eq!(wrong, [0; 4], "{figures:?}");
}

/// Runs the writer, kills it after this number of acknowledgements, and ends all of its processes.
fn run_and_kill(
    folder: &Path,
    round: usize,
    kill_after: usize,
    acknowledged: &mut Acknowledged,
) -> usize {
    let mut child = start_writer(folder, round);
    let lines = BufReader::new(child.stdout.take().unwrap()).split(b'\n');
    let mut count = 0;
    for line in lines.map(Result::unwrap) {
        let line = String::from_utf8(line).unwrap();
        if let Some((task, seq)) = acknowledgement(&line) {
            acknowledged.seqs.insert(task, seq);
            count += 1;
        }
        if let Some((task, is_done)) = deletion(&line) {
            acknowledged.deletions.insert(task, is_done);
        }
        if count == kill_after + 1 {
            child.kill().unwrap();
        }
    }
    assert!(!child.wait().unwrap().success(), "the writer was not killed");
    count
}

fn start_writer(folder: &Path, round: usize) -> Child {
    Command::new(std::env::current_exe().unwrap())
        .args(["crash::writer", "--exact", "--nocapture", "--test-threads=1"])
        .env(FOLDER, folder)
        .env(ROUND, round.to_string())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap()
}

/// Reads the acknowledgement of an append. A line that the kill cut off has no full stop at its end.
fn acknowledgement(line: &str) -> Option<(String, Seq)> {
    let (task, seq) = line.strip_prefix("ack ")?.strip_suffix('.')?.split_once(' ')?;
    Some((task.into(), seq.parse().unwrap()))
}

/// Reads the beginning or the acknowledgement of a deletion.
fn deletion(line: &str) -> Option<(String, bool)> {
    let (what, task) = line.strip_suffix('.')?.split_once(' ')?;
    match what {
        "deleting" => Some((task.into(), false)),
        "deleted" => Some((task.into(), true)),
        _ => None,
    }
}

/// Opens the store as a restart would and compares it with what was acknowledged in all rounds.
fn verify(folder: &Path, acknowledged: &mut Acknowledged, figures: &mut Figures) {
    runtime().block_on(async {
        let store = open(folder);
        settle_deletions(&store, acknowledged, figures).await;
        let Acknowledged { seqs, deletions } = acknowledged;
        for (task, seq) in seqs.iter().filter(|(task, _)| !deletions.contains_key(*task)) {
            let there = store.head(&caller(), task).await;
            figures.lost += usize::from(there.map_or(0, |head| head.seq) < *seq);
        }
        let tasks = all_tasks(&store).await;
        figures.tasks = tasks.len();
        for task in tasks {
            verify_task(&store, &task, figures).await;
        }
    });
}

/// Records whether a deletion that was not acknowledged was made; from now on it must stay so.
async fn settle_deletions(
    store: &SledStore,
    acknowledged: &mut Acknowledged,
    figures: &mut Figures,
) {
    let mut settled = BTreeMap::new();
    for (task, is_done) in std::mem::take(&mut acknowledged.deletions) {
        match store.head(&caller(), &task).await {
            Err(StoreError::NotFound { .. }) => drop(settled.insert(task, true)),
            Ok(_) if !is_done => {}
            other => {
                eprintln!("{task} is there after its deletion: {other:?}");
                figures.returned += 1;
            }
        }
    }
    figures.deleted = settled.len();
    acknowledged.deletions = settled;
}

/// Checks that a task in the lists, acknowledged or not, holds the first part of its planned events.
async fn verify_task(store: &SledStore, task: &str, figures: &mut Figures) {
    let events = store.read(&caller(), task, 0, 999).await.unwrap();
    let mut seq = 0;
    for append in plan(task) {
        if seq == events.len() {
            break;
        }
        let written: Vec<_> = events[seq..].iter().take(append.len()).collect();
        let pairs = written.iter().zip(&append);
        figures.changed += pairs.filter(|(stored, event)| stored.event != **event).count();
        figures.torn += usize::from(written.len() < append.len());
        seq += written.len();
    }
    let head = store.head(&caller(), task).await.unwrap();
    let snapshot = store.task(&caller(), task).await.unwrap();
    figures.torn += usize::from(head.seq != seq as Seq || snapshot.seq != head.seq);
    figures.torn += usize::from(snapshot.task.status.state != head.state);
    for stored in &events {
        if let Event::Message(message) = &stored.event {
            let found = store.find_message(&caller(), "agent", &message.message_id).await;
            figures.torn += usize::from(found.unwrap() != Some((task.into(), stored.seq)));
        }
    }
}

/// Walks all pages; their total must be what is on them.
async fn all_tasks(store: &SledStore) -> Vec<String> {
    let mut query = ListQuery { page_size: 100, ..ListQuery::of("agent") };
    let mut tasks = Vec::new();
    loop {
        let page = store.list(&caller(), &query).await.unwrap();
        tasks.extend(page.tasks.iter().map(|one| one.task.id.clone()));
        if page.next.is_empty() {
            assert_eq!(page.total, tasks.len());
            return tasks;
        }
        query.page_token = page.next;
    }
}

/// The program that [`start_writer`] runs, which is not a test by itself.
#[test]
fn writer() {
    let (Ok(folder), Ok(round)) = (std::env::var(FOLDER), std::env::var(ROUND)) else {
        return;
    };
    // The test harness has begun a line.
    println!();
    runtime().block_on(async {
        let store = Arc::new(open(Path::new(&folder)));
        let start = |number: usize| {
            let (store, round) = (Arc::clone(&store), round.clone());
            tokio::spawn(async move {
                for task in 0..TASKS {
                    write(&store, &format!("{round}-{number}-{task}")).await;
                }
            })
        };
        for writer in (0..WRITERS).map(start).collect::<Vec<_>>() {
            writer.await.unwrap();
        }
    });
}

async fn write(store: &SledStore, task: &str) {
    let mut expected = 0;
    for events in plan(task) {
        let append = Append { task: task.into(), expected, time: Timestamp::UNIX_EPOCH, events };
        expected = store.append(&caller(), append).await.unwrap().seq;
        say(&format!("ack {task} {expected}."));
    }
    if task.ends_with(['3', '8']) {
        say(&format!("deleting {task}."));
        let caller = caller();
        let deleting = store.delete(&caller, task, Deletion::Ended);
        deleting.await.unwrap();
        say(&format!("deleted {task}."));
    }
}

fn say(line: &str) {
    let line = format!("{line}\n");
    std::io::stdout().lock().write_all(line.as_bytes()).unwrap();
}

/// Returns all appends that are planned for a task; they follow from its name.
fn plan(task: &str) -> Vec<Vec<Event>> {
    let created = Event::Created(Created {
        agent: "agent".into(),
        owner: caller(),
        context_id: "context".into(),
        client_id: None,
        metadata: None,
    });
    let mut appends: Vec<_> = (1..=APPENDS).map(|number| pair(task, number)).collect();
    appends[0].insert(0, created);
    appends
}

/// Returns a message and a status; the fifth message of every eighth task is large.
fn pair(task: &str, number: u64) -> Vec<Event> {
    let large = number == 5 && task.ends_with('7');
    let text = format!("{task}/{number} ").repeat(if large { 5_000 } else { 40 });
    let id = format!("{task}/{number}");
    let state = match number {
        APPENDS => TaskState::Completed,
        _ => TaskState::Working,
    };
    let mut status = TaskStatus::new(state);
    status.timestamp = Some("1970-01-01T00:00:00.000Z".into());
    vec![
        Event::Message(Message::new(id, Role::User, vec![Part::text(text)])),
        Event::Status { status, metadata: Some(Metadata::new()) },
    ]
}

fn caller() -> Caller {
    Caller::new("caller")
}

fn open(folder: &Path) -> SledStore {
    SledStore::open(&SledSettings::in_folder(folder)).unwrap()
}

fn runtime() -> tokio::runtime::Runtime {
    let mut builder = tokio::runtime::Builder::new_multi_thread();
    builder.worker_threads(2).enable_all().build().unwrap()
}
