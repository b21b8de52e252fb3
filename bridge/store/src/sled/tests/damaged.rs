//! A disk that gives back something else than was written.

use std::{collections::BTreeSet, path::PathBuf, time::Duration};

use super::*;

const TASKS: i64 = 60;
/// How many bytes are changed, one after the other.
const FLIPS: u64 = 48;

/// Numbers that look drawn by lot.
fn lots() -> impl Iterator<Item = u64> {
    (1_u64..).map(|number| (number.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 11) ^ number)
}

/// All files of a store, with what is in them.
fn files(folder: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    let mut files = Vec::new();
    for entry in fs::read_dir(folder).unwrap().map(Result::unwrap) {
        match entry.path() {
            path if path.is_dir() => files.extend(self::files(&path)),
            path => files.push((path.clone(), fs::read(path).unwrap())),
        }
    }
    files.sort();
    files
}

fn restore(folder: &Path, files: &[(PathBuf, Vec<u8>)]) {
    for name in ["entries", "entries-2", "log"] {
        let _ = fs::remove_dir_all(folder.join(name));
    }
    for (path, bytes) in files {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, bytes).unwrap();
    }
}

/// The tasks that say that they are damaged, and how many there are of which nothing is left. Every other one is as it
/// was, and none is another caller's.
async fn damaged(store: &SledStore, what: &str) -> (BTreeSet<String>, usize) {
    let alice = Sample::new("").caller;
    let (mut damaged, mut missing) = (BTreeSet::new(), 0);
    for number in 0..TASKS {
        let id = format!("t{number}");
        let seq = if number % 3 == 0 { 5 } else { 3 };
        match store.task(&alice, &id).await {
            Ok(snapshot) => assert_eq!(snapshot.seq, seq, "{what}: {id}"),
            Err(StoreError::Damaged { task, .. }) => drop(damaged.insert(task)),
            Err(StoreError::NotFound { .. }) => missing += 1,
            Err(error) => panic!("{what}: {id}: {error}"),
        }
        let bob = crate::caller::Caller::new("bob");
        let error = store.task(&bob, &id).await.unwrap_err();
        assert!(
            matches!(error, StoreError::NotFound { .. }),
            "{what}: {error}"
        );
    }
    (damaged, missing)
}

/// Waits until the index on the disk has all of the log. Of a task that it does not have, nothing is left when its only
/// record is damaged.
async fn wait_for_index(store: &SledStore) {
    let index = store.reader.disk.index();
    while index.durable_end() < index.end().at {
        index.write_soon();
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
}

/// Every task is as it was, or says that it is damaged; lists show the others; all can be continued but those.
/// Answers with those that are damaged.
async fn serves(store: &SledStore, what: &str) -> BTreeSet<String> {
    let alice = Sample::new("").caller;
    let (damaged, missing) = damaged(store, what).await;
    assert_eq!(missing, 0, "{what}");
    let mut query = ListQuery::of("sample");
    query.page_size = 7;
    let mut listed = 0;
    loop {
        let page = store.list(&alice, &query).await.unwrap();
        assert_eq!(page.total, TASKS as usize, "{what}");
        listed += page.tasks.len();
        if page.next.is_empty() {
            break;
        }
        query.page_token = page.next;
    }
    assert_eq!(listed + damaged.len(), TASKS as usize, "{what}");
    store.open_turns("", 1_000).await.unwrap();
    store.records(&alice, "k", "s").await.unwrap();
    damaged
}

/// Somebody goes on with a task: one that is damaged refuses, and stays as it was.
async fn goes_on(store: &SledStore, task: &str, is_damaged: bool) {
    let sample = Sample::new(task);
    let append = sample.append(3, 9, vec![Event::TurnEnded { turn: 1 }]);
    match store.append(&sample.caller, append).await {
        Err(StoreError::Damaged { .. }) => assert!(is_damaged, "{task}"),
        done => drop(done.unwrap()),
    }
}

#[tokio::test]
async fn one_flipped_byte_costs_one_task_at_most_and_never_the_start() {
    let backend = Sled::new();
    let folder = backend.0.path();
    let store = backend.try_open().unwrap();
    fill(&store, 0..TASKS).await;
    wait_for_index(&store).await;
    drop(store);
    let whole = files(folder);
    let total: usize = whole.iter().map(|(_, bytes)| bytes.len()).sum();
    for (number, lot) in lots().take(FLIPS as usize).enumerate() {
        restore(folder, &whole);
        // Half of them hit the log, which is small beside the index.
        let (path, bytes) = match number % 2 {
            0 => whole
                .iter()
                .find(|(path, _)| path.ends_with("0000000000000000.log"))
                .unwrap(),
            _ => {
                let mut at = lot as usize % total;
                let hit = |(_, bytes): &&(PathBuf, Vec<u8>)| match at.checked_sub(bytes.len()) {
                    Some(rest) => {
                        at = rest;
                        false
                    }
                    None => true,
                };
                whole.iter().find(hit).unwrap()
            }
        };
        // The version of the log is what tells an older program to leave it alone.
        let at = match (lot >> 20) as usize % bytes.len().max(1) {
            7 => 8,
            at => at,
        };
        let mut changed = bytes.clone();
        if let Some(byte) = changed.get_mut(at) {
            *byte ^= 1 << (lot % 8);
        }
        fs::write(path, changed).unwrap();
        let what = format!("{} at {at}", path.display());
        let is_log = path.ends_with("0000000000000000.log");
        let store = backend
            .try_open()
            .unwrap_or_else(|error| panic!("{what}: {error}"));
        let damaged = serves(&store, &what).await;
        assert!(damaged.len() <= usize::from(is_log), "{what}: {damaged:?}");
        let report = store.check().unwrap();
        let told: BTreeSet<String> = report.damaged.iter().map(|one| one.task.clone()).collect();
        assert_eq!(told, damaged, "{what}");
        assert_eq!(store.damage().tasks, damaged.len(), "{what}");
        goes_on(&store, "t1", damaged.contains("t1")).await;
        drop(store);
        let store = backend
            .try_open()
            .unwrap_or_else(|error| panic!("{what}, again: {error}"));
        assert!(
            store.check().unwrap().damaged.len() <= usize::from(is_log),
            "{what}"
        );
    }
}

#[tokio::test]
async fn a_damaged_task_without_an_index_costs_no_other() {
    let backend = Sled::new();
    let folder = backend.0.path();
    let store = backend.try_open().unwrap();
    fill(&store, 0..TASKS).await;
    drop(store);
    let log = folder.join("log/0000000000000000.log");
    let bytes = fs::read(&log).unwrap();
    let written = bytes.iter().rposition(|byte| *byte != 0).unwrap();
    let mut hit = 0;
    for lot in lots().take(24) {
        let mut changed = bytes.clone();
        // Not in the last batch: what is broken there was perhaps torn before it was acknowledged.
        let at = 16 + lot as usize % (written - 2_000);
        changed[at] ^= 1 << (lot % 8);
        fs::write(&log, changed).unwrap();
        fs::remove_dir_all(folder.join("entries")).unwrap();
        let store = backend.try_open().unwrap();
        // Of a task whose first record was hit nothing is left.
        let (damaged, missing) = damaged(&store, &format!("at {at}")).await;
        let damaged = damaged.len() + missing;
        assert!(damaged <= 1, "at {at}: {damaged}");
        hit += damaged;
        assert!(!store.check().unwrap().lost.is_empty(), "at {at}");
        store.open_turns("", 1_000).await.unwrap();
    }
    assert!(hit > 12, "{hit} were noticed");
}

#[tokio::test]
async fn any_file_may_be_missing() {
    let backend = Sled::new();
    let folder = backend.0.path();
    let store = backend.try_open().unwrap();
    fill(&store, 0..TASKS).await;
    wait_for_index(&store).await;
    drop(store);
    let whole = files(folder);
    for (path, _) in &whole {
        restore(folder, &whole);
        fs::remove_file(path).unwrap();
        let what = path.display().to_string();
        let store = backend
            .try_open()
            .unwrap_or_else(|error| panic!("{what}: {error}"));
        let is_log = path.extension().is_some_and(|name| name == "log");
        let damaged = serves(&store, &what).await;
        assert_eq!(
            damaged.len(),
            if is_log { TASKS as usize } else { 0 },
            "{what}"
        );
        assert_eq!(store.damage().bytes > 0, is_log, "{what}");
        // A new task is kept, and found after the next start.
        let sample = Sample::new("new");
        let created = sample.append(0, 1, vec![sample.created()]);
        store.append(&sample.caller, created).await.unwrap();
        drop(store);
        let store = backend.try_open().unwrap();
        assert_eq!(
            store.task(&sample.caller, "new").await.unwrap().seq,
            1,
            "{what}"
        );
    }
}
