//! Tests a disk that returns other data than were written.

use std::{collections::BTreeSet, path::PathBuf, time::Duration};

use super::*;
use crate::sled::log::{FRAME, LogOffset};

const TASKS: i64 = 60;
/// The number of changed bytes, one at a time.
const FLIPS: u64 = 48;

/// Returns pseudorandom numbers.
fn pseudorandom() -> impl Iterator<Item = u64> {
    (1_u64..).map(|number| (number.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 11) ^ number)
}

/// Returns all files of a store with their content.
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
    for name in ["keys", "keys-2", "log"] {
        let _ = fs::remove_dir_all(folder.join(name));
    }
    for (path, bytes) in files {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, bytes).unwrap();
    }
}

/// Returns the damaged tasks, and the number of missing ones. Checks that all others are unchanged, and that another
/// caller finds none.
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
        assert!(matches!(error, StoreError::NotFound { .. }), "{what}: {error}");
    }
    (damaged, missing)
}

/// Waits until the index on the disk is complete. A task that it does not have is missing if its only record is damaged.
async fn wait_for_index(store: &SledStore) {
    let index = store.reader.disk.index();
    while index.durable_end() < index.end().at {
        index.write_soon();
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
}

/// Checks that every task is either unchanged or reported as damaged, and that lists have the others. Returns the damaged
/// tasks.
async fn check_served(store: &SledStore, what: &str) -> BTreeSet<String> {
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

/// Appends to a task, and checks that a damaged task refuses it.
async fn check_append(store: &SledStore, task: &str, is_damaged: bool) {
    let sample = Sample::new(task);
    let append = sample.append(3, 9, vec![Event::TurnEnded { turn: 1 }]);
    match store.append(&sample.caller, append).await {
        Err(StoreError::Damaged { .. }) => assert!(is_damaged, "{task}"),
        done => drop(done.unwrap()),
    }
}

#[tokio::test]
async fn a_flipped_bit_damages_at_most_one_task_and_the_store_starts() {
    let backend = Sled::new();
    let folder = backend.0.path();
    let store = backend.try_open().unwrap();
    fill(&store, 0..TASKS).await;
    wait_for_index(&store).await;
    drop(store);
    let whole = files(folder);
    let total: usize = whole.iter().map(|(_, bytes)| bytes.len()).sum();
    for (number, lot) in pseudorandom().take(FLIPS as usize).enumerate() {
        restore(folder, &whole);
        // Half of the changes are in the log, which is small compared with the index.
        let (path, bytes) = match number % 2 {
            0 => whole.iter().find(|(path, _)| path.ends_with("0000000000000000.log")).unwrap(),
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
        // A changed version of the log would be refused as that of a newer program.
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
        let store = backend.try_open().unwrap_or_else(|error| panic!("{what}: {error}"));
        let damaged = check_served(&store, &what).await;
        assert!(damaged.len() <= usize::from(is_log), "{what}: {damaged:?}");
        let report = store.check().unwrap();
        let reported: BTreeSet<String> =
            report.damaged.iter().map(|one| one.task.clone()).collect();
        assert_eq!(reported, damaged, "{what}");
        assert_eq!(store.damage().tasks, damaged.len(), "{what}");
        check_append(&store, "t1", damaged.contains("t1")).await;
        drop(store);
        let store = backend.try_open().unwrap_or_else(|error| panic!("{what}, again: {error}"));
        assert!(store.check().unwrap().damaged.len() <= usize::from(is_log), "{what}");
    }
}

#[tokio::test]
async fn a_damaged_record_without_an_index_damages_one_task_at_most() {
    let backend = Sled::new();
    let folder = backend.0.path();
    let store = backend.try_open().unwrap();
    fill(&store, 0..TASKS).await;
    drop(store);
    let log = folder.join("log/0000000000000000.log");
    let bytes = fs::read(&log).unwrap();
    let written = bytes.iter().rposition(|byte| *byte != 0).unwrap();
    let mut damaged_total = 0;
    for lot in pseudorandom().take(24) {
        let mut changed = bytes.clone();
        // The last batch is left out, since damaged bytes there count as torn.
        let at = 16 + lot as usize % (written - 2_000);
        changed[at] ^= 1 << (lot % 8);
        fs::write(&log, changed).unwrap();
        fs::remove_dir_all(folder.join("keys")).unwrap();
        let store = backend.try_open().unwrap();
        // A task whose first record is damaged is missing.
        let (damaged, missing) = damaged(&store, &format!("at {at}")).await;
        let damaged = damaged.len() + missing;
        assert!(damaged <= 1, "at {at}: {damaged}");
        damaged_total += damaged;
        assert!(!store.check().unwrap().lost.is_empty(), "at {at}");
        store.open_turns("", 1_000).await.unwrap();
    }
    assert!(damaged_total > 12, "{damaged_total} were noticed");
}

#[tokio::test]
async fn the_store_starts_if_any_file_is_missing() {
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
        let store = backend.try_open().unwrap_or_else(|error| panic!("{what}: {error}"));
        let is_log = path.extension().is_some_and(|name| name == "log");
        let damaged = check_served(&store, &what).await;
        assert_eq!(damaged.len(), if is_log { TASKS as usize } else { 0 }, "{what}");
        assert_eq!(store.damage().bytes > 0, is_log, "{what}");
        // A new task can be created, and is found after the next start.
        let sample = Sample::new("new");
        let created = sample.append(0, 1, vec![sample.created()]);
        store.append(&sample.caller, created).await.unwrap();
        drop(store);
        let store = backend.try_open().unwrap();
        assert_eq!(store.task(&sample.caller, "new").await.unwrap().seq, 1, "{what}");
    }
}

/// A disk whose reads fail for a while damages nothing.
#[tokio::test]
async fn a_task_that_can_be_read_again_can_be_continued() {
    let (folder, disk) = (tempfile::tempdir().unwrap(), SimulatedDisk::new(1));
    let settings = SledSettings::in_folder(folder.path());
    let store = SledStore::open_simulated(&settings, &disk).unwrap();
    let sample = Sample::new("t");
    sample.create(&store, 1).await;
    wait_for_index(&store).await;
    drop(store);
    let store = SledStore::open_simulated(&settings, &disk).unwrap();
    disk.set_faults(Faults { read: 1, ..Faults::default() });
    let append = || sample.append(3, 9, vec![Event::TurnEnded { turn: 1 }]);
    let error = store.append(&sample.caller, append()).await.unwrap_err();
    assert!(matches!(error, StoreError::Damaged { .. }), "{error}");
    assert_eq!(store.damage().tasks, 1);
    disk.set_faults(Faults::default());
    store.append(&sample.caller, append()).await.unwrap();
    assert_eq!(store.damage(), Damage::default());
}

/// It is unknown whether such a task has ended, so only an operator may delete it. Other callers learn nothing of it.
#[tokio::test]
async fn a_task_whose_newest_append_is_lost_is_deleted_by_force_only() {
    let (folder, disk) = (tempfile::tempdir().unwrap(), SimulatedDisk::new(1));
    let settings = SledSettings::in_folder(folder.path());
    let store = SledStore::open_simulated(&settings, &disk).unwrap();
    fill(&store, 0..1).await;
    let (sample, bob) = (Sample::new("t0"), crate::caller::Caller::new("bob"));
    let LogOffset { at, length } = store.reader.disk.find("t0").unwrap().unwrap().offset;
    // A damaged record at the end of the log would count as torn.
    Sample::new("last").create(&store, 1).await;
    drop(store);
    fs::remove_dir_all(folder.path().join("keys")).unwrap();
    let path = folder.path().join("log/0000000000000000.log");
    disk.flip(&path, at as usize + FRAME + length as usize - 1, 0);
    let store = SledStore::open_simulated(&settings, &disk).unwrap();
    for (caller, is_own) in [(&sample.caller, true), (&bob, false)] {
        let append = sample.append(5, 9, vec![Event::TurnEnded { turn: 1 }]);
        let appended = store.append(caller, append).await.map(drop);
        let deleted = store.delete(caller, "t0", Deletion::Ended).await;
        for refused in [appended, deleted] {
            let found = matches!(refused, Err(StoreError::Damaged { .. }));
            let hidden = matches!(refused, Err(StoreError::NotFound { .. }));
            assert!(if is_own { found } else { hidden }, "{refused:?}");
        }
    }
    store.delete(&sample.caller, "t0", Deletion::Forced).await.unwrap();
    let error = store.head(&sample.caller, "t0").await.unwrap_err();
    assert!(matches!(error, StoreError::NotFound { .. }), "{error}");
    assert_eq!(store.damage().tasks, 0);
}

/// A check reads tasks in pages, and reports what of the log no task needs.
#[tokio::test]
async fn a_check_finds_damage_in_long_tasks_and_in_records() {
    let (folder, disk) = (tempfile::tempdir().unwrap(), SimulatedDisk::new(1));
    let settings = SledSettings::in_folder(folder.path());
    let store = SledStore::open_simulated(&settings, &disk).unwrap();
    let sample = Sample::new("long");
    sample.create(&store, 1).await;
    for _ in 0..40 {
        let event = || Event::Metadata { metadata: Metadata::new(), revised: None };
        let expected = sample.head(&store).await.seq;
        let events = (0..20).map(|_| event()).collect();
        store.append(&sample.caller, sample.append(expected, 2, events)).await.unwrap();
    }
    let LogOffset { at: late, .. } = store.reader.disk.find("long").unwrap().unwrap().offset;
    sample.then(&store, 3, Event::TurnEnded { turn: 1 }).await;
    let before = store.reader.disk.index().end().at;
    store.put_record(&sample.caller, &record_key("x"), vec![7; 50]).await.unwrap();
    Sample::new("last").create(&store, 4).await;
    assert!(store.check().unwrap().is_intact());
    let path = folder.path().join("log/0000000000000000.log");
    for at in [late, before] {
        disk.flip(&path, at as usize + FRAME + 30, 0);
    }
    let report = store.check().unwrap();
    let damaged: Vec<&str> = report.damaged.iter().map(|one| one.task.as_str()).collect();
    assert_eq!((damaged, report.records), (vec!["long"], 1));
    assert_eq!(report.lost.len(), 2);
}

/// The index cannot be rebuilt while the disk cannot read an earlier part of the log.
#[tokio::test]
async fn a_start_that_cannot_read_the_log_keeps_the_index() {
    let (folder, disk) = (tempfile::tempdir().unwrap(), SimulatedDisk::new(1));
    let disk = disk.with_segments(4 << 10);
    let open = || SledStore::open_simulated(&SledSettings::in_folder(folder.path()), &disk);
    let store = open().unwrap();
    fill(&store, 0..TASKS).await;
    wait_for_index(&store).await;
    drop(store);
    let is_segment = |path: &PathBuf| path.extension().is_some_and(|name| name == "log");
    let paths = disk.files().into_iter().map(|(path, _)| path).filter(is_segment);
    let segments: Vec<PathBuf> = paths.collect();
    let lose = |path: &PathBuf| {
        disk.set_faults(Faults { unreadable: Some(path.clone()), ..Faults::default() });
    };
    lose(segments.last().unwrap());
    let error = open().unwrap_err();
    assert!(matches!(error, StoreError::Io { .. }), "{error}");
    lose(&segments[0]);
    let store = open().unwrap();
    assert_eq!(store.damage(), Damage::default());
    drop(store);
    disk.set_faults(Faults::default());
    check(&open().unwrap(), TASKS).await;
}

#[tokio::test]
async fn a_damaged_length_does_not_make_a_task_large() {
    let (folder, disk) = (tempfile::tempdir().unwrap(), SimulatedDisk::new(1));
    let open = || SledStore::open_simulated(&SledSettings::in_folder(folder.path()), &disk);
    let store = open().unwrap();
    fill(&store, 1..3).await;
    drop(store);
    fs::remove_dir_all(folder.path().join("keys")).unwrap();
    let (log, _) = disk.files().into_iter().find(|(_, bytes)| !bytes.is_empty()).unwrap();
    // The length is the first number after the header of the segment.
    disk.flip(&log, 16, 7);
    let store = open().unwrap();
    let error = store.head(&Sample::new("").caller, "t1").await.unwrap_err();
    assert!(matches!(error, StoreError::Damaged { .. }), "{error}");
    let found = store.disk_use().await.unwrap().unwrap();
    assert!(found.live <= found.log, "{found:?}");
}

/// A damaged task is read again before each append to it, which must not delay others.
#[tokio::test]
async fn a_damaged_task_is_read_again_beside_the_appends_of_others() {
    let (folder, disk) = (tempfile::tempdir().unwrap(), SimulatedDisk::new(1));
    let settings = SledSettings::in_folder(folder.path());
    let sample = Sample::new("t");
    sample.create(&SledStore::open_simulated(&settings, &disk).unwrap(), 1).await;
    let store = Arc::new(SledStore::open_simulated(&settings, &disk).unwrap());
    store.reader.disk.quarantine.add("t", "it is damaged");
    disk.reads().set_closed(true);
    let append = sample.append(3, 9, vec![Event::TurnEnded { turn: 1 }]);
    let appending = tokio::spawn({
        let (store, caller) = (Arc::clone(&store), sample.caller.clone());
        async move { store.append(&caller, append).await }
    });
    while disk.reads().waiting() < 1 {
        tokio::task::yield_now().await;
    }
    Sample::new("other").create(&*store, 1).await;
    disk.reads().set_closed(false);
    appending.await.unwrap().unwrap();
    assert_eq!(store.damage(), Damage::default());
}

/// The index has nothing of the newest segment after a crash, so only its record tells that it is missing.
#[tokio::test]
async fn a_lost_newest_segment_is_reported() {
    let folder = tempfile::tempdir().unwrap();
    let disk = SimulatedDisk::new(1).with_segments(4 << 10);
    let settings = SledSettings::in_folder(folder.path());
    let open = || SledStore::open_simulated(&settings, &disk).unwrap();
    let store = open();
    fill(&store, 0..20).await;
    drop(store);
    let (newest, _) = disk
        .files()
        .into_iter()
        .rfind(|(path, _)| path.extension().is_some_and(|name| name == "log"))
        .unwrap();
    assert_eq!(open().damage(), Damage::default());
    log::Disk::remove(&disk, &newest).unwrap();
    let mut seq = 0;
    for start in 0..3 {
        let store = open();
        assert!(store.damage().bytes > 0, "start {start}");
        assert_eq!(store.check().unwrap().lost.len(), 1, "start {start}");
        let sample = Sample::new("new");
        if start == 0 {
            sample.create(&store, 1).await;
            seq = sample.head(&store).await.seq;
        }
        assert_eq!(sample.head(&store).await.seq, seq, "start {start}");
    }
}

/// The length of a file may be damaged, too. The bytes beyond what was written take no memory.
#[tokio::test]
async fn a_segment_that_is_much_too_long_is_read_as_far_as_it_was_written() {
    let backend = Sled::new();
    let sample = Sample::new("t");
    sample.create(&backend.try_open().unwrap(), 1).await;
    let path = backend.0.path().join("log/0000000000000000.log");
    let file = fs::File::options().write(true).open(&path).unwrap();
    file.set_len(1 << 40).unwrap();
    let store = backend.try_open().unwrap();
    assert_eq!(sample.head(&store).await.seq, 3);
    assert!(file.metadata().unwrap().len() < 1 << 20);
}
