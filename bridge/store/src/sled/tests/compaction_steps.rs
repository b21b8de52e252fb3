//! Tests compactions between whose steps the store is changed, and those that follow others.

use std::{
    pin::pin,
    sync::atomic::{AtomicBool, Ordering},
    task::{Context, Wake, Waker},
};

use super::{
    compaction::{SEGMENT, Small, TASKS, everything, fill, record, sample},
    *,
};
use crate::{Created, testing::status};

/// Far more steps than any of these compactions takes.
const MAX_STEPS: usize = 50_000;

/// Deletes most of the tasks of [`fill`].
async fn delete_most(store: &SledStore) {
    for number in (0..TASKS).filter(|number| number % 5 > 0) {
        let Sample { caller, task, .. } = sample(number);
        store.delete(&caller, &task, Deletion::Forced).await.unwrap();
    }
}

#[tokio::test]
async fn a_compaction_ends_although_records_are_replaced_meanwhile() {
    let small = Small::new();
    let store = small.open();
    // Each round replaces more than a step copies.
    let replace = async || {
        for _ in 0..6 {
            let value = vec![1; 1_000];
            store.put_record(&Caller::new("carol"), &record(0), value).await.unwrap();
        }
    };
    for _ in 0..20 {
        replace().await;
    }
    let mut steps = 0;
    while store.compact_step().await.unwrap() {
        replace().await;
        steps += 1;
        assert!(steps < MAX_STEPS);
    }
}

#[tokio::test]
async fn a_compaction_soon_after_another_one_frees_what_was_deleted_since() {
    let small = Small::new();
    let store = small.open();
    fill(&store).await;
    store.compact(|| true).await.unwrap();
    delete_most(&store).await;
    let mut steps = 0;
    let continues = || {
        steps += 1;
        steps < MAX_STEPS
    };
    store.compact(continues).await.unwrap();
    let found = store.disk_use().await.unwrap().unwrap();
    assert!(found.log <= 2 * found.live + 3 * SEGMENT, "{found:?}");
}

/// Says that a future can be polled again.
struct Woken(AtomicBool);

impl Wake for Woken {
    fn wake(self: Arc<Self>) {
        self.0.store(true, Ordering::SeqCst);
    }
}

/// Does a step of a compaction. Whenever the step could continue after it has waited, `between` runs first.
async fn step(store: &SledStore, mut between: impl AsyncFnMut()) {
    let woken = Arc::new(Woken(AtomicBool::new(false)));
    let waker = Waker::from(Arc::clone(&woken));
    let mut step = pin!(store.compact_step());
    while step.as_mut().poll(&mut Context::from_waker(&waker)).is_pending() {
        while !woken.0.swap(false, Ordering::SeqCst) {
            tokio::task::yield_now().await;
        }
        between().await;
    }
}

/// The copies of a task are refused if it has changed since it was read.
#[tokio::test]
async fn a_task_that_changes_all_the_time_is_not_lost() {
    let small = Small::new();
    let store = small.open();
    let (busy, gone) = (Sample::new("busy"), Sample::new("gone"));
    for sample in [&busy, &gone] {
        sample.create(&store, 0).await;
        for _ in 0..40 {
            let text = "x".repeat(200);
            sample.then(&store, 1, status(TaskState::Working, &text)).await;
        }
    }
    store.delete(&gone.caller, "gone", Deletion::Forced).await.unwrap();
    for _ in 0..3 {
        let change = async || {
            busy.then(&store, 2, status(TaskState::Working, "busy")).await;
        };
        step(&store, change).await;
    }
    // The next step removes what was emptied.
    let index = store.reader.disk.index();
    while index.durable_end() < index.end().at {
        index.write_soon();
        index.settle();
    }
    store.compact_step().await.unwrap();
    assert!(store.check().unwrap().is_intact());
    store.compact(|| true).await.unwrap();
    assert!(store.reader.disk.log.begin() > 0);
    let seq = busy.head(&store).await.seq;
    let events = store.read(&busy.caller, "busy", 0, 10_000).await.unwrap();
    assert_eq!(events.len() as Seq, seq);
    assert!(store.check().unwrap().is_intact());
}

/// The index on the disk is older than that in memory when the program is killed.
#[tokio::test]
async fn an_index_needs_no_segment_that_was_removed_before_a_kill() {
    let small = Small::new();
    let store = small.open();
    fill(&store).await;
    delete_most(&store).await;
    let before = everything(&store).await;
    let [index, killed] = ["keys", "killed"].map(|name| small.folder.path().join(name));
    while store.reader.disk.log.begin() == 0 {
        store.compact_step().await.unwrap();
    }
    copy_files(&index, &killed);
    drop(store);
    fs::remove_dir_all(&index).unwrap();
    fs::rename(&killed, &index).unwrap();
    let store = small.open();
    assert_eq!(everything(&store).await, before);
    assert!(store.check().unwrap().is_intact());
}

/// The id that a client chose for a task is in a part of the index that is removed.
#[tokio::test]
async fn the_id_of_a_client_is_found_after_a_compaction() {
    let small = Small::new();
    let store = small.open();
    let sample = Sample::new("named");
    let Event::Created(created) = sample.created() else { unreachable!() };
    let created = Event::Created(Created { client_id: Some("mine".into()), ..created });
    store.append(&sample.caller, sample.append(0, 1, vec![created])).await.unwrap();
    fill(&store).await;
    delete_most(&store).await;
    store.compact(|| true).await.unwrap();
    let begin = store.reader.disk.log.begin();
    // Further records fill the layers of the index, so that the first part is removed.
    while store.reader.disk.log.begin() < 4 * begin {
        for number in 0..100 {
            let value = vec![7; 200];
            store.put_record(&sample.caller, &record(number), value).await.unwrap();
        }
        store.compact(|| true).await.unwrap();
    }
    let found = store.find_client_task(&sample.caller, "sample", "mine").await;
    assert_eq!(found.unwrap().as_deref(), Some("named"));
}
