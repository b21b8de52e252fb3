//! Copies of a store that is in use.

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

/// Small segments, so that some are removed while they are copied.
const SEGMENT: u64 = 32 << 10;

/// What was acknowledged.
#[derive(Clone, Debug, Default)]
struct Acknowledged {
    /// The last event of each task, and whether it was deleted.
    tasks: BTreeMap<String, (Seq, bool)>,
    /// The last value of each writer's record.
    records: BTreeMap<usize, i64>,
}

/// Those who use the store until they are told to stop.
#[derive(Clone)]
struct Users {
    store: Arc<SledStore>,
    acknowledged: Arc<Mutex<Acknowledged>>,
    is_over: Arc<AtomicBool>,
}

impl Users {
    /// Creates tasks, goes on with them, deletes some, and replaces a record.
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
            if may_go(task) {
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

    /// Gives room back.
    async fn compact(self) {
        while !self.is_over.load(Ordering::SeqCst) {
            let goes_on = || !self.is_over.load(Ordering::SeqCst);
            self.store.compact(goes_on).await.unwrap();
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    }

    /// What was acknowledged of so many tasks.
    async fn after(&self, tasks: usize) -> Acknowledged {
        while self.acknowledged.lock().unwrap().tasks.len() < tasks {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        self.acknowledged.lock().unwrap().clone()
    }
}

fn record(writer: usize) -> RecordKey {
    RecordKey {
        kind: "k".into(),
        scope: "s".into(),
        id: writer.to_string(),
    }
}

/// Whether the writer deletes it some time: most of them, so that there is room to give back.
fn may_go(task: &str) -> bool {
    let (_, number) = task.split_once('-').unwrap();
    !number.parse::<usize>().unwrap().is_multiple_of(8)
}

/// The copy is whole and has what was acknowledged before it was begun.
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
            // It was perhaps deleted while the copy was made.
            Err(StoreError::NotFound { .. }) => assert!(*is_gone || may_go(task), "{task}"),
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
async fn a_copy_has_all_that_was_acknowledged_before() {
    let backend = Sled::new();
    let disk = RealDisk {
        segment_limit: SEGMENT,
    };
    let store = SledStore::open_on(&backend.settings(), &(Arc::new(disk) as _)).unwrap();
    let users = Users {
        store: Arc::new(store),
        acknowledged: Arc::default(),
        is_over: Arc::default(),
    };
    let mut tasks: Vec<_> = (0..WRITERS)
        .map(|writer| tokio::spawn(users.clone().write(writer)))
        .collect();
    tasks.push(tokio::spawn(users.clone().compact()));
    let mut begins = Vec::new();
    for _ in 0..COPIES {
        let before = users.after(20).await;
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

/// What is written while it is copied is there up to some place, and nothing behind that.
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
            // This thread may get no processor before the copy is whole.
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
fn what_is_no_store_is_not_copied() {
    let folder = tempfile::tempdir().unwrap();
    let error = copy_store(&folder.path().join("a"), &folder.path().join("b")).unwrap_err();
    assert!(error.to_string().contains("it holds no store"), "{error}");
    assert!(!folder.path().join("b").exists());
}
