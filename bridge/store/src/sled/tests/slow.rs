//! Tests a disk that hangs.

use super::*;
use crate::{sled::reader_threads::MAX_READS, testing::status};

/// Returns a store with twenty tasks on a disk that can hang, without a cache of tasks.
async fn filled() -> (Sled, SledSettings, SimulatedDisk, Arc<SledStore>) {
    let backend = Sled::new();
    let settings = SledSettings { task_cache: 0, ..backend.settings() };
    let disk = SimulatedDisk::new(1);
    let store = Arc::new(SledStore::open_simulated(&settings, &disk).unwrap());
    fill(&store, 0..20).await;
    (backend, settings, disk, store)
}

/// The test runs on one thread, which a blocking read would block.
#[tokio::test]
async fn hanging_reads_do_not_block_operations_without_the_disk() {
    let (_backend, settings, disk, store) = filled().await;
    let alice = Sample::new("").caller;
    store.put_record(&alice, &record_key("1"), vec![7]).await.unwrap();
    drop(store);
    // Data that were written before are no longer in memory.
    let store = Arc::new(SledStore::open_simulated(&settings, &disk).unwrap());
    disk.reads().set_closed(true);
    let head = tokio::spawn({
        let (store, alice) = (store.clone(), alice.clone());
        async move { store.head(&alice, "t1").await.unwrap().seq }
    });
    let task = tokio::spawn({
        let (store, alice) = (store.clone(), alice.clone());
        async move { store.task(&alice, "t2").await.unwrap().seq }
    });
    let events = tokio::spawn({
        let (store, alice) = (store.clone(), alice.clone());
        async move { store.read(&alice, "t4", 0, 9).await.unwrap().len() as u64 }
    });
    let page = tokio::spawn({
        let (store, alice) = (store.clone(), alice.clone());
        async move {
            let query = ListQuery::of("sample");
            store.list(&alice, &query).await.unwrap().total as u64
        }
    });
    let record = tokio::spawn({
        let (store, alice) = (store.clone(), alice.clone());
        async move {
            let key = record_key("1");
            u64::from(store.record(&alice, &key).await.unwrap().unwrap()[0])
        }
    });
    let records = tokio::spawn({
        let (store, alice) = (store.clone(), alice.clone());
        async move { store.records(&alice, "k", "s").await.unwrap().len() as u64 }
    });
    let reads = [head, task, events, page, record, records];
    while disk.reads().waiting() < reads.len() {
        tokio::task::yield_now().await;
    }
    // Other callers write, and read the data that they wrote.
    let sample = Sample::new("new");
    sample.create(&*store, 1).await;
    let watch = store.watch(&alice, "new").await.unwrap();
    assert_eq!(store.head(&alice, "new").await.unwrap().seq, 3);
    drop(watch);
    assert!(reads.iter().all(|read| !read.is_finished()));
    disk.reads().set_closed(false);
    let mut found = Vec::new();
    for read in reads {
        found.push(read.await.unwrap());
    }
    assert_eq!(found, [3, 3, 3, 20, 7, 2]);
}

#[tokio::test]
async fn the_number_of_concurrent_reads_is_limited() {
    let (_backend, _, disk, store) = filled().await;
    disk.reads().set_closed(true);
    let read = |number: usize| {
        let store = store.clone();
        tokio::spawn(async move {
            let alice = Sample::new("").caller;
            let task = format!("t{}", number % 20);
            store.task(&alice, &task).await.unwrap();
        })
    };
    let reads: Vec<_> = (0..20 * MAX_READS).map(read).collect();
    while disk.reads().waiting() < MAX_READS {
        tokio::task::yield_now().await;
    }
    for _ in 0..1_000 {
        tokio::task::yield_now().await;
        assert_eq!(disk.reads().waiting(), MAX_READS);
    }
    disk.reads().set_closed(false);
    for read in reads {
        read.await.unwrap();
    }
}

#[tokio::test]
async fn a_large_task_is_read_once_for_all_who_want_it() {
    let backend = Sled::new();
    let (settings, disk) = (backend.settings(), SimulatedDisk::new(1));
    let store = SledStore::open_simulated(&settings, &disk).unwrap();
    let sample = Sample::new("t");
    sample.create(&store, 1).await;
    let done = status(TaskState::Completed, &"x".repeat(2 << 20));
    sample.then(&store, 2, done).await;
    drop(store);
    let store = Arc::new(SledStore::open_simulated(&settings, &disk).unwrap());
    disk.reads().set_closed(true);
    let reads = [(); MAX_READS / 2].map(|()| {
        let (store, alice) = (store.clone(), sample.caller.clone());
        tokio::spawn(async move { store.task(&alice, "t").await.unwrap().task })
    });
    let lists = [(); MAX_READS / 2 - 1].map(|()| {
        let (store, alice) = (store.clone(), sample.caller.clone());
        let query = ListQuery { history: Some(9), artifacts: true, ..ListQuery::of("sample") };
        tokio::spawn(async move {
            let mut page = store.list(&alice, &query).await.unwrap();
            page.tasks.remove(0).task
        })
    });
    while disk.reads().waiting() < 1 {
        tokio::task::yield_now().await;
    }
    for _ in 0..1_000 {
        tokio::task::yield_now().await;
        assert_eq!(disk.reads().waiting(), 1);
    }
    disk.reads().set_closed(false);
    let mut tasks = Vec::new();
    for read in reads.into_iter().chain(lists) {
        tasks.push(read.await.unwrap());
    }
    assert!(tasks.iter().all(|task| Arc::ptr_eq(task, &tasks[0])));
}

/// Pages wait for large tasks on threads, of which there are few. Who has the turn to read one does not need one of these.
#[tokio::test]
async fn pages_that_wait_for_a_large_task_do_not_prevent_its_read() {
    let backend = Sled::new();
    let settings = SledSettings { task_cache: 0, ..backend.settings() };
    let disk = SimulatedDisk::new(1);
    let store = Arc::new(SledStore::open_simulated(&settings, &disk).unwrap());
    let sample = Sample::new("t");
    sample.create(&*store, 1).await;
    let done = status(TaskState::Completed, &"x".repeat(2 << 20));
    sample.then(&*store, 2, done).await;
    disk.reads().set_closed(true);
    // The first one reads, and the second one is the next.
    let reads = [(); 2].map(|()| {
        let (store, alice) = (store.clone(), sample.caller.clone());
        tokio::spawn(async move { store.task(&alice, "t").await.unwrap().seq })
    });
    let pages = [(); MAX_READS].map(|()| {
        let (store, alice) = (store.clone(), sample.caller.clone());
        tokio::spawn(async move {
            let page = store.list(&alice, &ListQuery::of("sample")).await;
            page.unwrap().tasks[0].seq
        })
    });
    for _ in 0..1_000 {
        tokio::task::yield_now().await;
    }
    disk.reads().set_closed(false);
    for read in reads.into_iter().chain(pages) {
        assert_eq!(read.await.unwrap(), 4);
    }
}
