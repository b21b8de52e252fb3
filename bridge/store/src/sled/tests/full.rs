//! Tests a full disk, and a process with too many open files.

use std::pin::pin;

use futures_util::{FutureExt as _, future::join};

use super::*;

/// Returns the append that creates a task.
fn append(number: i64) -> (Sample, crate::Append) {
    let sample = Sample::new(format!("t{number}"));
    let append = sample.append(0, number, vec![sample.created()]);
    (sample, append)
}

#[tokio::test]
async fn a_full_disk_refuses_writes_until_it_has_free_space() {
    let backend = Sled::new();
    let disk = SimulatedDisk::new(1);
    let open = || SledStore::open_simulated(&backend.settings(), &disk).unwrap();
    let store = open();
    let (first, created) = append(0);
    store.append(&first.caller, created).await.unwrap();
    disk.set_room(0);
    let mut refused = 0;
    for number in 1..400 {
        let (sample, created) = append(number);
        match store.append(&sample.caller, created).await {
            Ok(_) => {}
            Err(StoreError::Full { .. }) => refused += 1,
            Err(error) => panic!("{error}"),
        }
    }
    assert!(refused > 100, "{refused}");
    let key = record_key("1");
    for error in [
        store.ready().await.unwrap_err(),
        store.put_record(&first.caller, &key, vec![7; 60 << 10]).await.unwrap_err(),
    ] {
        assert!(matches!(error, StoreError::Full { .. }), "{error}");
        let folder = backend.0.path().display().to_string();
        assert!(error.to_string().contains(&folder), "{error}");
    }
    assert_eq!(store.task(&first.caller, "t0").await.unwrap().seq, 1);
    let page = store.list(&first.caller, &ListQuery::of("sample")).await;
    assert_eq!(page.unwrap().total, 400 - refused);
    // The free space is detected without a write.
    disk.set_room(usize::MAX);
    store.ready().await.unwrap();
    for number in 1..400 {
        let (sample, created) = append(number);
        match store.append(&sample.caller, created).await {
            Ok(_) => refused -= 1,
            Err(error) => assert!(matches!(error, StoreError::Conflict { .. }), "{error}"),
        }
    }
    assert_eq!(refused, 0);
    drop(store);
    let store = open();
    let page = store.list(&first.caller, &ListQuery::of("sample")).await;
    assert_eq!(page.unwrap().total, 400);
    assert_eq!(store.damage(), Damage::default());
}

/// Otherwise retention and compaction would not continue while clients send.
#[tokio::test]
async fn what_frees_a_full_disk_is_not_refused_with_what_fills_it() {
    let backend = Sled::new();
    let disk = SimulatedDisk::new(1);
    let store = SledStore::open_simulated(&backend.settings(), &disk).unwrap();
    let ((old, first), (new, second)) = (append(0), append(1));
    store.append(&old.caller, first).await.unwrap();
    // A part of the reserve for the index is used.
    disk.set_free(40 << 20);
    // The committer takes the other two jobs together.
    disk.space_gate().set_closed(true);
    let ready = pin!(store.ready());
    assert!(ready.now_or_never().is_none());
    while disk.space_gate().waiting() == 0 {
        tokio::task::yield_now().await;
    }
    let appending = store.append(&new.caller, second);
    let deleting = store.delete(&old.caller, "t0", Deletion::Forced);
    let mut both = pin!(join(appending, deleting));
    assert!(both.as_mut().now_or_never().is_none());
    disk.space_gate().set_closed(false);
    let (appended, deleted) = both.await;
    assert!(matches!(appended, Err(StoreError::Full { .. })), "{appended:?}");
    deleted.unwrap();
}

#[tokio::test]
async fn a_full_disk_is_compacted() {
    let backend = Sled::new();
    let disk = SimulatedDisk::new(1).with_segments(4 << 10);
    let store = SledStore::open_simulated(&backend.settings(), &disk).unwrap();
    fill(&store, 0..60).await;
    let alice = Sample::new("").caller;
    store.put_record(&alice, &record_key("x"), vec![7; 1_000]).await.unwrap();
    for number in 1..60 {
        store.delete(&alice, &format!("t{number}"), Deletion::Forced).await.unwrap();
    }
    // A part of the reserve for the index is used.
    disk.set_free(40 << 20);
    assert!(matches!(store.ready().await, Err(StoreError::Full { .. })));
    store.compact(|| true).await.unwrap();
    let found = store.disk_use().await.unwrap().unwrap();
    assert!(found.log <= 2 * found.live + (12 << 10), "{found:?}");
    let kept = store.record(&alice, &record_key("x")).await.unwrap();
    assert_eq!(kept, Some(vec![7; 1_000]));
}

/// A new segment of the log is an open file more, and so is its folder while it is synced.
#[tokio::test]
async fn too_many_open_files_refuse_writes_until_there_are_fewer() {
    let backend = Sled::new();
    let disk = SimulatedDisk::new(1).with_segments(4 << 10);
    let open = || SledStore::open_simulated(&backend.settings(), &disk).unwrap();
    let store = open();
    let (mut kept, mut refused) = (0, 0);
    for number in 0..400 {
        let files = if number % 8 == 0 { 0 } else { 70 };
        disk.set_faults(Faults { files, ..Faults::default() });
        let (sample, created) = append(number);
        match store.append(&sample.caller, created).await {
            Ok(_) => kept += 1,
            Err(StoreError::Unavailable { reason }) => {
                let doing = ["making", "listing", "syncing"];
                assert!(doing.iter().any(|one| reason.contains(one)), "{reason}");
                refused += 1;
            }
            Err(error) => panic!("{error}"),
        }
    }
    assert!(kept > 50 && refused > 20, "{kept} {refused}");
    disk.set_faults(Faults::default());
    drop(store);
    let store = open();
    let caller = append(0).0.caller;
    let page = store.list(&caller, &ListQuery::of("sample")).await;
    assert_eq!(page.unwrap().total, kept);
    assert_eq!(store.damage(), Damage::default());
}

#[tokio::test]
async fn a_failed_index_is_rebuilt_while_others_read() {
    let backend = Sled::new();
    let store = backend.try_open().unwrap();
    fill(&store, 0..200).await;
    check(&store, 200).await;
    store.reader.disk.index.get().fail();
    let (sample, created) = append(200);
    let error = store.append(&sample.caller, created).await.unwrap_err();
    assert!(matches!(error, StoreError::Rebuilding), "{error}");
    check(&store, 200).await;
    while store.ready().await.is_err() {
        tokio::task::yield_now().await;
    }
    fill(&store, 200..300).await;
    check(&store, 300).await;
    drop(store);
    check(&backend.try_open().unwrap(), 300).await;
}

/// A caller who is refused sends a message again, or gives up its turn.
#[tokio::test]
async fn a_durable_append_is_acknowledged_although_the_index_fails_meanwhile() {
    let backend = Sled::new();
    let disk = SimulatedDisk::new(1);
    let open = || Arc::new(SledStore::open_simulated(&backend.settings(), &disk).unwrap());
    fill(&open(), 0..40).await;
    let (store, sample) = (open(), Sample::new("t1"));
    disk.reads().set_closed(true);
    let appending = tokio::spawn({
        let (store, caller) = (store.clone(), sample.caller.clone());
        let ended = sample.append(3, 1, vec![Event::TurnEnded { turn: 1 }]);
        async move { store.append(&caller, ended).await }
    });
    // The committer reads the head of the task.
    while disk.reads().waiting() == 0 {
        tokio::task::yield_now().await;
    }
    store.reader.disk.index().fail();
    disk.reads().set_closed(false);
    assert_eq!(appending.await.unwrap().unwrap().seq, 4);
    assert_eq!(sample.head(&*store).await.seq, 4);
    while store.ready().await.is_err() {
        tokio::task::yield_now().await;
    }
    assert_eq!(sample.head(&*store).await.seq, 4);
}
