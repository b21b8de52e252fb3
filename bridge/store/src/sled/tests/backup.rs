//! Copies of a store that is in use.

use std::{
    collections::BTreeMap,
    sync::{
        Mutex,
        atomic::{AtomicBool, Ordering},
    },
};

use super::*;
use crate::{Deletion, copy_store, testing::status};

const WRITERS: usize = 4;
const COPIES: usize = 5;

/// What was acknowledged of each task: its last event, and whether it was deleted.
type Acknowledged = Arc<Mutex<BTreeMap<String, (Seq, bool)>>>;

/// Creates tasks, goes on with them and deletes some, until it is told to stop.
async fn write(
    store: Arc<SledStore>,
    writer: usize,
    acknowledged: Acknowledged,
    is_over: Arc<AtomicBool>,
) {
    let mut number = 0;
    while !is_over.load(Ordering::SeqCst) {
        number += 1;
        let sample = Sample::new(format!("w{writer}-{number}"));
        sample.create(&*store, number).await;
        let note = |seq, is_gone| {
            let mut all = acknowledged.lock().unwrap();
            all.insert(sample.task.clone(), (seq, is_gone));
        };
        note(3, false);
        let text = "x".repeat(number as usize % 7 * 500);
        let event = status(TaskState::Working, &text);
        note(sample.then(&*store, number, event).await, false);
        if number % 3 == 0 {
            let gone = store.delete(&sample.caller, &sample.task, Deletion::Forced);
            gone.await.unwrap();
            note(4, true);
        }
    }
}

/// Whether the writer deletes it some time.
fn may_go(task: &str) -> bool {
    let (_, number) = task.split_once('-').unwrap();
    number.parse::<usize>().unwrap().is_multiple_of(3)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_copy_has_all_that_was_acknowledged_before() {
    let backend = Sled::new();
    let store = Arc::new(backend.try_open().unwrap());
    let (acknowledged, is_over) = (Acknowledged::default(), Arc::new(AtomicBool::default()));
    let writers: Vec<_> = (0..WRITERS)
        .map(|writer| {
            let (store, is_over) = (store.clone(), is_over.clone());
            tokio::spawn(write(store, writer, acknowledged.clone(), is_over))
        })
        .collect();
    for _ in 0..COPIES {
        while acknowledged.lock().unwrap().len() < 20 {
            tokio::task::yield_now().await;
        }
        let before = acknowledged.lock().unwrap().clone();
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
        assert!(copy.check().unwrap().is_whole());
        let alice = Sample::new("").caller;
        for (task, (seq, is_gone)) in before {
            match copy.head(&alice, &task).await {
                Ok(head) => assert!(!is_gone && head.seq >= seq, "{task}"),
                // It was perhaps deleted while the copy was made.
                Err(StoreError::NotFound { .. }) => {
                    assert!(is_gone || may_go(&task), "{task}");
                }
                Err(error) => panic!("{task}: {error}"),
            }
        }
        acknowledged.lock().unwrap().clear();
    }
    is_over.store(true, Ordering::SeqCst);
    for writer in writers {
        writer.await.unwrap();
    }
}

#[test]
fn what_is_no_store_is_not_copied() {
    let folder = tempfile::tempdir().unwrap();
    let error = copy_store(&folder.path().join("a"), &folder.path().join("b")).unwrap_err();
    assert!(error.to_string().contains("it holds no store"), "{error}");
    assert!(!folder.path().join("b").exists());
}
