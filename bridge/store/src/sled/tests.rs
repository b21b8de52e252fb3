//! Runs the suite on the store on disk, and tests its additional guarantees.

mod backup;
mod compaction;
mod compaction_steps;
mod damaged;
mod full;
mod power_loss;
mod slow;

use std::{fs, os::unix::fs::PermissionsExt as _, path::Path, sync::Arc};

use bridge_protocol::a2a::{Metadata, TaskState, TaskStatus};

use super::*;
use crate::{
    Event,
    testing::{Backend, Sample},
};

struct Sled(tempfile::TempDir);

impl Sled {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    fn settings(&self) -> SledSettings {
        SledSettings { page_cache: 16 << 20, ..SledSettings::in_folder(self.0.path()) }
    }

    fn try_open(&self) -> Result<SledStore, StoreError> {
        SledStore::open(&self.settings())
    }
}

impl Backend for Sled {
    fn open(&self) -> Arc<dyn Store> {
        Arc::new(self.try_open().unwrap())
    }

    fn is_durable(&self) -> bool {
        true
    }
}

crate::store_tests!(Sled::new());

#[test]
fn a_folder_is_opened_once() {
    let backend = Sled::new();
    let _open = backend.try_open().unwrap();
    let error = backend.try_open().unwrap_err();
    assert!(matches!(error, StoreError::InUse { .. }), "{error}");
    assert!(error.to_string().ends_with("Stop it first, or name another folder"));
}

/// With two writers, tasks that one of them has acknowledged would be lost.
#[tokio::test]
async fn a_folder_without_its_lock_file_is_opened_once() {
    let backend = Sled::new();
    let (store, sample) = (backend.try_open().unwrap(), Sample::new("t"));
    fs::remove_file(backend.0.path().join("lock")).unwrap();
    let error = backend.try_open().unwrap_err();
    assert!(matches!(error, StoreError::InUse { .. }), "{error}");
    sample.create(&store, 1).await;
    drop(store);
    sample.head(&backend.try_open().unwrap()).await;
}

#[tokio::test]
async fn a_durable_append_is_announced_after_its_writer_left() {
    let backend = Sled::new();
    let store = backend.try_open().unwrap();
    let sample = Sample::new("t");
    sample.create(&store, 1).await;
    let seq = sample.head(&store).await.seq;
    let mut watch = store.watch(&sample.caller, "t").await.unwrap().with_events();
    let append = sample.append(seq, 2, vec![Event::TurnEnded { turn: 1 }]);
    tokio::select! {
        biased;
        appended = store.append(&sample.caller, append) => drop(appended.unwrap()),
        // The append was polled once, and is dropped then.
        () = std::future::ready(()) => {}
    }
    assert_eq!(watch.after(seq).await.unwrap().seq, seq + 1);
    let events = watch.events(seq).unwrap();
    assert_eq!(events[0].event, Event::TurnEnded { turn: 1 });
}

#[test]
fn other_users_cannot_read_the_files() {
    let parent = tempfile::tempdir().unwrap();
    let folder = parent.path().join("a/b");
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    let folders = ["", "log", "keys"].map(|name| folder.join(name));
    let open = || drop(SledStore::open(&SledSettings::in_folder(&folder)).unwrap());
    open();
    for path in &folders {
        assert_eq!(mode(path), 0o700, "{}", path.display());
    }
    let log = fs::read_dir(&folders[1]).unwrap();
    let index = fs::read_dir(&folders[2]).unwrap();
    let files = log.chain(index).map(|entry| entry.unwrap().path());
    for path in files.chain([folder.join("lock")]) {
        let expected = if path.is_dir() { 0o700 } else { 0o600 };
        assert_eq!(mode(&path), expected, "{}", path.display());
    }
    // The permissions of existing folders of the store are removed, but those of its parent folder are not changed.
    for path in &folders {
        fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
    }
    open();
    assert_eq!(folders.each_ref().map(|path| mode(path)), [0o755, 0o700, 0o700]);
}

#[test]
fn a_store_from_before_the_log_is_refused() {
    let backend = Sled::new();
    fs::write(backend.0.path().join("db"), b"").unwrap();
    let error = backend.try_open().unwrap_err();
    assert!(matches!(error, StoreError::Older { .. }), "{error}");
    assert!(error.to_string().contains("has format 1, this program knows 2: name another"));
}

/// Writes tasks of three events, each third of which ends, and some records.
async fn fill(store: &SledStore, tasks: std::ops::Range<i64>) {
    for number in tasks {
        let sample = Sample::new(format!("t{number}"));
        sample.create(store, number).await;
        if number % 3 == 0 {
            let status = TaskStatus::new(TaskState::Completed);
            let metadata = None;
            let ended = Event::Status { status, metadata };
            sample.then(store, number + 1, ended).await;
            sample.then(store, number + 2, Event::TurnEnded { turn: 1 }).await;
        }
        if number % 10 == 0 {
            let key = record_key(&number.to_string());
            store.put_record(&sample.caller, &key, b"v".into()).await.unwrap();
            let gone = record_key(&(number - 10).to_string());
            store.delete_record(&sample.caller, &gone).await.unwrap();
        }
    }
}

fn record_key(id: &str) -> RecordKey {
    RecordKey { kind: "k".into(), scope: "s".into(), id: id.into() }
}

/// Checks the tasks and records that [`fill`] wrote.
async fn check(store: &SledStore, tasks: i64) {
    let alice = Sample::new("").caller;
    for number in 0..tasks {
        let task = format!("t{number}");
        let seq = if number % 3 == 0 { 5 } else { 3 };
        assert_eq!(store.head(&alice, &task).await.unwrap().seq, seq);
        assert_eq!(store.read(&alice, &task, 1, 99).await.unwrap().len(), seq as usize - 1);
        let found = store.find_message(&alice, "sample", &format!("{task}-1")).await;
        assert_eq!(found.unwrap(), Some((task, 2)));
    }
    let page = store.list(&alice, &ListQuery::of("sample")).await.unwrap();
    assert_eq!(page.total, tasks as usize);
    let done = ListQuery {
        state: Some(TaskState::Completed),
        page_size: 1_000,
        ..ListQuery::of("sample")
    };
    let page = store.list(&alice, &done).await.unwrap();
    let expected = (0..tasks).rev().filter(|number| number % 3 == 0);
    let expected: Vec<String> = expected.map(|number| format!("t{number}")).collect();
    let listed: Vec<_> = page.tasks.iter().map(|one| one.task.id.clone()).collect();
    assert_eq!(listed, expected);
    let open = store.open_turns("", 10_000).await.unwrap();
    assert_eq!(open.len() + expected.len(), tasks as usize);
    let counts = store.counts().await.unwrap();
    assert_eq!((counts.len(), counts["sample"].open), (1, open.len()));
    let records = store.records(&alice, "k", "s").await.unwrap();
    let last = ((tasks - 1) / 10 * 10).to_string();
    assert_eq!(records, [(last, b"v".to_vec())]);
}

#[tokio::test]
async fn a_lost_or_damaged_index_is_rebuilt() {
    let backend = Sled::new();
    let index = backend.0.path().join("keys");
    let store = backend.try_open().unwrap();
    fill(&store, 0..200).await;
    check(&store, 200).await;
    drop(store);
    fs::remove_dir_all(&index).unwrap();
    let store = backend.try_open().unwrap();
    check(&store, 200).await;
    drop(store);
    fs::write(index.join("conf"), b"nonsense").unwrap();
    check(&backend.try_open().unwrap(), 200).await;
}

#[tokio::test]
async fn the_index_of_an_earlier_version_is_removed_and_rebuilt() {
    let backend = Sled::new();
    let store = backend.try_open().unwrap();
    fill(&store, 0..100).await;
    drop(store);
    let [former, index] = ["lists", "keys"].map(|name| backend.0.path().join(name));
    fs::rename(&index, &former).unwrap();
    check(&backend.try_open().unwrap(), 100).await;
    assert!(index.exists() && !former.exists());
}

#[tokio::test]
async fn an_index_that_is_behind_catches_up_with_the_log() {
    let backend = Sled::new();
    let [index, copy] = ["keys", "copy"].map(|name| backend.0.path().join(name));
    let store = backend.try_open().unwrap();
    fill(&store, 0..100).await;
    drop(store);
    fs::rename(&index, &copy).unwrap();
    copy_files(&copy, &index);
    let store = backend.try_open().unwrap();
    fill(&store, 100..200).await;
    drop(store);
    fs::remove_dir_all(&index).unwrap();
    fs::rename(&copy, &index).unwrap();
    let store = backend.try_open().unwrap();
    check(&store, 200).await;
    drop(store);
    // Tasks of the index that the log does not have are damaged, and all others are served.
    let log = backend.0.path().join("log/0000000000000000.log");
    let bytes = fs::read(&log).unwrap();
    fs::write(&log, &bytes[..bytes.len() / 3]).unwrap();
    let store = backend.try_open().unwrap();
    let alice = Sample::new("").caller;
    assert_eq!(store.task(&alice, "t1").await.unwrap().seq, 3);
    let error = store.task(&alice, "t199").await.unwrap_err();
    assert!(matches!(error, StoreError::Damaged { .. }), "{error}");
    assert!(store.damage().bytes > bytes.len() as u64 / 4);
    let page = store.list(&alice, &ListQuery::of("sample")).await.unwrap();
    assert_eq!(page.total, 200);
}

fn copy_files(from: &std::path::Path, to: &std::path::Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap().map(Result::unwrap) {
        let to = to.join(entry.file_name());
        match entry.path().is_dir() {
            true => copy_files(&entry.path(), &to),
            false => drop(fs::copy(entry.path(), to).unwrap()),
        }
    }
}

#[tokio::test]
async fn any_range_of_a_long_task_is_read() {
    let backend = Sled::new();
    let store = backend.try_open().unwrap();
    let sample = Sample::new("t");
    sample.create(&store, 1).await;
    for _ in 0..200 {
        let metadata = Metadata::new();
        let revised = None;
        let event = Event::Metadata { metadata, revised };
        sample.then(&store, 2, event).await;
    }
    drop(store);
    let store = backend.try_open().unwrap();
    for after in (0..203).step_by(7) {
        for limit in [1, 10, 300] {
            let events = store.read(&sample.caller, "t", after, limit).await.unwrap();
            let numbers: Vec<Seq> = events.iter().map(|stored| stored.seq).collect();
            let expected: Vec<Seq> = (after + 1..=203).take(limit).collect();
            assert_eq!(numbers, expected, "after {after}, at most {limit}");
        }
    }
    assert_eq!(store.task(&sample.caller, "t").await.unwrap().seq, 203);
}

/// The index has offsets of the appends of long tasks.
#[tokio::test]
async fn a_task_with_the_id_of_a_deleted_one_has_only_its_own_events() {
    let backend = Sled::new();
    let store = backend.try_open().unwrap();
    let sample = Sample::new("t");
    for (appends, events) in [(31, 2), (99, 2), (40, 1)] {
        sample.create(&store, 1).await;
        let metadata = Metadata::from_iter([("appends".to_owned(), appends.into())]);
        for _ in 0..appends {
            let event = || Event::Metadata { metadata: metadata.clone(), revised: None };
            let expected = sample.head(&store).await.seq;
            let events = (0..events).map(|_| event()).collect();
            store.append(&sample.caller, sample.append(expected, 2, events)).await.unwrap();
        }
        let last = sample.head(&store).await.seq;
        for after in 0..last {
            let events = store.read(&sample.caller, "t", after, 2).await.unwrap();
            let numbers: Vec<Seq> = events.iter().map(|stored| stored.seq).collect();
            let expected: Vec<Seq> = (after + 1..=last).take(2).collect();
            assert_eq!(numbers, expected, "after {after} of {last}");
            for stored in events.into_iter().filter(|stored| stored.seq > 3) {
                let expected = Event::Metadata { metadata: metadata.clone(), revised: None };
                assert_eq!(stored.event, expected, "after {after} of {last}");
            }
        }
        store.delete(&sample.caller, "t", Deletion::Forced).await.unwrap();
    }
}

/// Otherwise the log would grow with removed records.
#[tokio::test]
async fn removed_records_and_tasks_take_no_space_of_the_live_data() {
    let backend = Sled::new();
    let store = backend.try_open().unwrap();
    let live = async || store.disk_use().await.unwrap().unwrap().live;
    let sample = Sample::new("t");
    for round in 0..2 {
        sample.create(&store, 1).await;
        let key = record_key("1");
        for size in [10, 100, 50] {
            store.put_record(&sample.caller, &key, vec![7; size]).await.unwrap();
        }
        assert!(live().await > 0, "{round}");
        store.delete(&sample.caller, "t", Deletion::Forced).await.unwrap();
        store.delete_record(&sample.caller, &key).await.unwrap();
        assert_eq!(live().await, 0, "{round}");
    }
}

#[tokio::test]
async fn the_size_of_ids_is_limited() {
    let backend = Sled::new();
    let store = backend.try_open().unwrap();
    let sample = Sample::new("t").within(&"c".repeat(17 << 10));
    let append = sample.append(0, 1, vec![sample.created()]);
    let error = store.append(&sample.caller, append).await.unwrap_err();
    assert!(matches!(error, StoreError::TooLarge { .. }), "{error}");
    let error = store.head(&sample.caller, "t").await.unwrap_err();
    assert!(matches!(error, StoreError::NotFound { .. }), "{error}");
    let key = record_key(&"i".repeat(17 << 10));
    let error = store.put_record(&sample.caller, &key, Vec::new()).await.unwrap_err();
    assert!(matches!(error, StoreError::TooLarge { .. }), "{error}");
}

#[tokio::test]
async fn answers_do_not_wait_for_callers_that_are_not_polled() {
    use futures_util::FutureExt as _;
    let backend = Sled::new();
    let store = backend.try_open().unwrap();
    for round in 0..20 {
        let samples: Vec<_> =
            (0..32).map(|number| Sample::new(format!("t{round}-{number}"))).collect();
        let begin = |sample: &'_ Sample| {
            let created = sample.append(0, 1, vec![sample.created()]);
            store.append(&samples[0].caller, created)
        };
        let mut waiting: Vec<_> = samples.iter().map(begin).collect();
        let begun: Vec<_> = waiting.iter_mut().map(|one| one.now_or_never().is_none()).collect();
        // The other callers are not polled again.
        if begun[0] {
            let told = tokio::time::timeout(std::time::Duration::from_secs(60), &mut waiting[0]);
            told.await.expect("it is answered").unwrap();
        }
    }
}
