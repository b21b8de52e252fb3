//! Tests copies of a store that is in use.

use std::{
    collections::BTreeMap,
    os::unix::fs::FileExt as _,
    sync::{
        Mutex,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use super::*;
use crate::{Deletion, copy_store, sled::log::RealDisk, testing::status};

const WRITERS: usize = 4;
const COPIES: usize = 6;

/// The size of segments, which is small so that some are removed while they are copied.
const SEGMENT: u64 = 32 << 10;

/// The acknowledged changes.
#[derive(Clone, Debug, Default)]
struct Acknowledged {
    /// The last event of each task, and whether it was deleted.
    tasks: BTreeMap<String, (Seq, bool)>,
    /// The last value of each writer's record.
    records: BTreeMap<usize, i64>,
}

/// The users of the store, which stop when `is_over` is set.
#[derive(Clone)]
struct Users {
    store: Arc<SledStore>,
    acknowledged: Arc<Mutex<Acknowledged>>,
    is_over: Arc<AtomicBool>,
}

impl Users {
    /// Creates tasks, appends to them, deletes some, and replaces a record.
    async fn write(self, writer: usize) {
        let store = &*self.store;
        let mut number = 0;
        while !self.is_over.load(Ordering::SeqCst) {
            number += 1;
            let sample = Sample::new(format!("w{writer}-{number}"));
            let Sample { caller, task, .. } = &sample;
            let note = |seq, is_gone| {
                let mut all = self.acknowledged.lock().unwrap();
                all.tasks.insert(task.clone(), (seq, is_gone));
            };
            sample.create(store, number).await;
            note(3, false);
            let text = "x".repeat(number as usize % 7 * 500);
            let event = status(TaskState::Working, &text);
            note(sample.then(store, number, event).await, false);
            if is_deleted_later(task) {
                let gone = store.delete(caller, task, Deletion::Forced);
                gone.await.unwrap();
                note(4, true);
            }
            let value = number.to_be_bytes().to_vec();
            let key = record(writer);
            store.put_record(caller, &key, value).await.unwrap();
            let mut all = self.acknowledged.lock().unwrap();
            all.records.insert(writer, number);
        }
    }

    /// Compacts the store.
    async fn compact(self) {
        while !self.is_over.load(Ordering::SeqCst) {
            let continues = || !self.is_over.load(Ordering::SeqCst);
            self.store.compact(continues).await.unwrap();
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    }

    /// Waits until changes of this number of tasks are acknowledged, and returns the acknowledged changes.
    async fn wait_for(&self, tasks: usize) -> Acknowledged {
        while self.acknowledged.lock().unwrap().tasks.len() < tasks {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        self.acknowledged.lock().unwrap().clone()
    }
}

fn record(writer: usize) -> RecordKey {
    RecordKey { kind: "k".into(), scope: "s".into(), id: writer.to_string() }
}

/// Returns whether the writer deletes the task. It deletes most tasks, so that disk space can be freed.
fn is_deleted_later(task: &str) -> bool {
    let (_, number) = task.split_once('-').unwrap();
    !number.parse::<usize>().unwrap().is_multiple_of(8)
}

/// Checks that the copy is intact and has the changes that were acknowledged before it began.
async fn check(copy: &SledStore, before: &Acknowledged) {
    let report = copy.check().unwrap();
    assert!(report.is_intact(), "{report:?}");
    let alice = Sample::new("").caller;
    for (task, (seq, is_gone)) in &before.tasks {
        match copy.head(&alice, task).await {
            Ok(head) => {
                assert!(!is_gone && head.seq >= *seq, "{task}");
                let events = copy.read(&alice, task, 0, 100).await.unwrap();
                assert_eq!(events.len() as Seq, head.seq, "{task}");
            }
            // The task may have been deleted while the copy was made.
            Err(StoreError::NotFound { .. }) if *is_gone || is_deleted_later(task) => {}
            Err(error) => panic!("{task}: {error}"),
        }
    }
    for (writer, number) in &before.records {
        let value = copy.record(&alice, &record(*writer)).await.unwrap();
        let value = i64::from_be_bytes(value.unwrap().try_into().unwrap());
        assert!(value >= *number, "{writer}: {value} is before {number}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_copy_has_all_changes_that_were_acknowledged_before() {
    let backend = Sled::new();
    let disk = RealDisk { segment_limit: SEGMENT };
    let store = SledStore::open_on(&backend.settings(), &(Arc::new(disk) as _)).unwrap();
    let users =
        Users { store: Arc::new(store), acknowledged: Arc::default(), is_over: Arc::default() };
    let mut tasks: Vec<_> =
        (0..WRITERS).map(|writer| tokio::spawn(users.clone().write(writer))).collect();
    tasks.push(tokio::spawn(users.clone().compact()));
    let mut begins = Vec::new();
    for _ in 0..COPIES {
        let before = users.wait_for(20).await;
        begins.push(users.store.reader.disk.log.begin());
        let (folder, from) = (tempfile::tempdir().unwrap(), backend.0.path().to_owned());
        let to = folder.path().join("copy");
        let copied = to.clone();
        let copying = tokio::task::spawn_blocking(move || copy_store(&from, &copied));
        copying.await.unwrap().unwrap();
        let error = copy_store(backend.0.path(), &to).unwrap_err();
        assert!(error.to_string().contains("there is a store already"));
        let restored = folder.path().join("restored");
        copy_store(&to, &restored).unwrap();
        let copy = SledStore::open(&SledSettings::in_folder(&restored)).unwrap();
        check(&copy, &before).await;
        users.acknowledged.lock().unwrap().tasks.clear();
    }
    users.is_over.store(true, Ordering::SeqCst);
    for task in tasks {
        task.await.unwrap();
    }
    assert!(begins[0] < begins[COPIES - 1], "{begins:?}");
}

/// A copy of a growing file has all bytes up to some position and zeros after it.
#[test]
fn a_copy_has_no_holes() {
    const LENGTH: usize = 8 << 20;
    const BATCH: usize = 50_000;
    let folder = tempfile::tempdir().unwrap();
    let from = folder.path().join("from");
    let name = "log/0000000000000000.log";
    fs::create_dir_all(from.join("log")).unwrap();
    for round in 0..10 {
        fs::write(from.join(name), vec![0; LENGTH]).unwrap();
        let log = fs::File::options().write(true).open(from.join(name));
        let log = log.unwrap();
        let to = folder.path().join(round.to_string());
        let (begins, ends) = (to.join(name.replace("log/", "log.partial/")), to.join(name));
        let writing = std::thread::spawn(move || {
            // This thread may not run before the copy is finished.
            while !begins.exists() && !ends.exists() {}
            for at in (0..LENGTH - BATCH).step_by(BATCH) {
                log.write_all_at(&[1; BATCH], at as u64).unwrap();
            }
        });
        copy_store(&from, &to).unwrap();
        writing.join().unwrap();
        let copy = fs::read(to.join(name)).unwrap();
        assert_eq!(copy.len(), LENGTH);
        let end = copy.partition_point(|byte| *byte == 1);
        assert!(copy[..end].iter().all(|byte| *byte == 1), "round {round}");
        assert!(copy[end..].iter().all(|byte| *byte == 0), "round {round}");
    }
}

#[test]
fn a_folder_without_a_store_is_not_copied() {
    let folder = tempfile::tempdir().unwrap();
    let error = copy_store(&folder.path().join("a"), &folder.path().join("b")).unwrap_err();
    assert!(error.to_string().contains("it holds no store"), "{error}");
    assert!(!folder.path().join("b").exists());
}

/// The index of another log leads to other records, or hides those of the copy.
#[test]
fn a_copy_is_not_made_beside_an_index() {
    let folder = tempfile::tempdir().unwrap();
    let (from, to) = (folder.path().join("from"), folder.path().join("to"));
    for path in [&from, &to] {
        drop(SledStore::open(&SledSettings::in_folder(path)).unwrap());
    }
    fs::remove_dir_all(to.join("log")).unwrap();
    let error = copy_store(&from, &to).unwrap_err();
    assert!(error.to_string().contains("or its index: name another folder"), "{error}");
}

#[test]
fn an_unfinished_copy_is_neither_used_nor_copied_until_it_is_repeated() {
    let folder = tempfile::tempdir().unwrap();
    let (from, to) = (folder.path().join("from"), folder.path().join("to"));
    drop(SledStore::open(&SledSettings::in_folder(&from)).unwrap());
    fs::create_dir_all(to.join("log.partial")).unwrap();
    let opened = SledStore::open(&SledSettings::in_folder(&to)).map(drop);
    let copied = copy_store(&to, &folder.path().join("other")).map(drop);
    for refused in [opened, copied] {
        let error = refused.unwrap_err();
        assert!(matches!(error, StoreError::Unfinished { .. }), "{error}");
    }
    copy_store(&from, &to).unwrap();
    SledStore::open(&SledSettings::in_folder(&to)).unwrap();
}

/// On Windows the bridge's socket is a file, which would lead commands for the copy to the bridge of the original.
#[test]
fn the_files_of_a_running_bridge_are_not_copied() {
    let folder = tempfile::tempdir().unwrap();
    let (from, to) = (folder.path().join("from"), folder.path().join("to"));
    fs::create_dir_all(from.join("log")).unwrap();
    for name in ["lock", "admin.sock", "issuer.json"] {
        fs::write(from.join(name), name).unwrap();
    }
    copy_store(&from, &to).unwrap();
    let names = fs::read_dir(&to).unwrap();
    let mut names: Vec<_> = names.map(|entry| entry.unwrap().file_name()).collect();
    names.sort();
    assert_eq!(names, ["issuer.json", "log"]);
}
