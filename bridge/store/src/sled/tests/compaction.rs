//! Tests that compaction keeps all live data and frees the rest.

use futures_util::FutureExt as _;

use super::*;
use crate::{
    Deletion,
    sled::log::{FRAME, Faults, LogOffset, SimulatedDisk},
    testing::status,
};

pub(super) const TASKS: usize = 60;
pub(super) const SEGMENT: u64 = 4 << 10;

/// A store on a disk with small segments.
pub(super) struct Small {
    pub(super) folder: tempfile::TempDir,
    pub(super) disk: SimulatedDisk,
}

impl Small {
    pub(super) fn new() -> Self {
        Self {
            folder: tempfile::tempdir().unwrap(),
            disk: SimulatedDisk::new(1).with_segments(SEGMENT),
        }
    }

    pub(super) fn open(&self) -> SledStore {
        let settings = SledSettings::in_folder(self.folder.path());
        SledStore::open_simulated(&settings, &self.disk).unwrap()
    }

    fn lose_index(&self) {
        fs::remove_dir_all(self.folder.path().join("keys")).unwrap();
    }

    fn bytes(&self) -> usize {
        let files = self.disk.files();
        files.iter().map(|(_, bytes)| bytes.len()).sum()
    }
}

pub(super) fn sample(number: usize) -> Sample {
    let caller = Caller::new(["alice", "bob"][number % 2]);
    Sample::new(format!("t{number:03}")).of(caller).within(["x", "y"][number / 2 % 2])
}

/// Creates tasks in several states, some with many appends, and small records.
pub(super) async fn fill(store: &SledStore) {
    for number in 0..TASKS {
        let sample = sample(number);
        sample.create(store, number as i64).await;
        for step in 0..[0, 2, 70][number % 3] {
            let text = format!("step {step}");
            let event = status(TaskState::Working, &text);
            sample.then(store, 100 + step, event).await;
        }
        if number % 4 > 0 {
            let state = [TaskState::Completed, TaskState::InputRequired][number % 2].clone();
            sample.then(store, 200, status(state, "so")).await;
            let over = Event::TurnEnded { turn: 1 };
            sample.then(store, 201, over).await;
        }
        let key = record(number);
        let value = vec![7; 10 * number];
        store.put_record(&sample.caller, &key, value).await.unwrap();
    }
}

pub(super) fn record(number: usize) -> RecordKey {
    RecordKey { kind: "k".into(), scope: "s".into(), id: format!("{:02}", number % 20) }
}

/// Returns the results of all queries.
pub(super) async fn everything(store: &SledStore) -> Vec<String> {
    let mut all = Vec::new();
    for caller in ["alice", "bob"].map(Caller::new) {
        for context_id in [None, Some("x".to_owned())] {
            let query = ListQuery { context_id, page_size: 1_000, ..ListQuery::of("sample") };
            all.push(format!("{:?}", store.list(&caller, &query).await.unwrap()));
        }
        let records = store.records(&caller, "k", "s").await.unwrap();
        all.push(format!("{records:?}"));
    }
    for number in 0..TASKS {
        let Sample { caller, task, .. } = sample(number);
        let id = format!("{task}-1");
        let found = store.find_message(&caller, "sample", &id).await.unwrap();
        all.push(format!("{:?}", (&task, found)));
        let events = store.read(&caller, &task, 0, 1_000).await.ok();
        all.push(format!("{events:?}"));
        let part = store.read(&caller, &task, 40, 3).await.ok();
        all.push(format!("{part:?}"));
    }
    let time = jiff::Timestamp::from_millisecond(1_000).unwrap();
    let waiting = store.idle_tasks(Idle::Waiting, "sample", None, time, 1_000).await;
    all.push(format!("{:?}", waiting.unwrap()));
    let ended = store.idle_tasks(Idle::Ended, "sample", None, time, 1_000).await;
    all.push(format!("{:?}", ended.unwrap()));
    all.push(format!("{:?}", store.open_turns("", 1_000).await.unwrap()));
    let counts = store.counts().await.unwrap()["sample"];
    all.push(format!("{} {}", counts.open, counts.ended.tasks));
    all
}

#[tokio::test]
async fn live_data_are_kept_and_other_data_are_freed() {
    let small = Small::new();
    let mut store = small.open();
    fill(&store).await;
    let full = small.bytes();
    for number in (0..TASKS).filter(|number| number % 5 > 0) {
        let Sample { caller, task, .. } = sample(number);
        let deletion = Deletion::Forced;
        store.delete(&caller, &task, deletion).await.unwrap();
    }
    let before = everything(&store).await;
    // The data are still the same after further compactions.
    for round in 0..3 {
        let begin = store.reader.disk.log.begin();
        let extra = sample(900 + round);
        extra.create(&store, 1).await;
        let gone = store.delete(&extra.caller, &extra.task, Deletion::Forced);
        gone.await.unwrap();
        if round > 0 {
            // Records of another caller can be freed.
            for number in 0..100 {
                let value = vec![1; 1_000];
                let (caller, key) = (Caller::new("carol"), record(number));
                store.put_record(&caller, &key, value).await.unwrap();
            }
        }
        store.compact(|| true).await.unwrap();
        assert!(store.reader.disk.log.begin() > begin, "round {round}");
        assert_eq!(everything(&store).await, before, "round {round}");
        let (live, used) = (store.reader.disk.live_bytes().unwrap(), small.bytes());
        assert!(used as u64 <= 2 * live + 3 * SEGMENT, "{used} of {live}");
        assert!(used < full / 2, "{used} of {full}");
        drop(store);
        if round > 0 {
            small.lose_index();
        }
        store = small.open();
        assert_eq!(everything(&store).await, before, "opened, round {round}");
        assert!(store.check().unwrap().is_intact());
    }
    // Compacted tasks can be continued.
    let sample = sample(5);
    let head = sample.head(&store).await;
    let late = status(TaskState::Working, "late");
    let seq = match head.state.is_terminal() {
        true => head.seq,
        false => sample.then(&store, 300, late).await,
    };
    assert_eq!(sample.head(&store).await.seq, seq);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn concurrent_readers_and_writers_are_not_affected() {
    let small = Small::new();
    let store = Arc::new(small.open());
    fill(&store).await;
    let is_over = Arc::new(std::sync::atomic::AtomicBool::default());
    let reader = {
        let (store, is_over) = (Arc::clone(&store), Arc::clone(&is_over));
        tokio::spawn(async move {
            let mut rounds = 0;
            while !is_over.load(std::sync::atomic::Ordering::SeqCst) || rounds == 0 {
                for number in (0..TASKS).step_by(5) {
                    let sample = sample(number);
                    let head = sample.head(&*store).await;
                    let read = store.read(&sample.caller, &sample.task, 0, 1_000).await;
                    assert!(read.unwrap().len() as Seq >= head.seq);
                    store.task(&sample.caller, &sample.task).await.unwrap();
                }
                store.records(&Caller::new("bob"), "k", "s").await.unwrap();
                rounds += 1;
            }
        })
    };
    let continued = sample(0);
    for round in 0..8 {
        for number in (0..TASKS).filter(|number| number % 5 == 1 + round % 4) {
            let Sample { caller, task, .. } = sample(number);
            drop(store.delete(&caller, &task, Deletion::Forced).await);
        }
        let event = status(TaskState::Working, &format!("round {round}"));
        let compacting = store.compact(|| true);
        let writing = continued.then(&*store, 400, event);
        let (compacted, _) = tokio::join!(compacting, writing);
        compacted.unwrap();
    }
    is_over.store(true, std::sync::atomic::Ordering::SeqCst);
    reader.await.unwrap();
    assert_eq!(store.damage(), Damage::default());
    assert!(store.reader.disk.log.begin() > 0);
}

/// The command of the operator may be interrupted at any time.
#[tokio::test]
async fn a_step_that_is_dropped_keeps_no_disk_space() {
    let small = Small::new();
    let store = small.open();
    fill(&store).await;
    for number in (0..TASKS).filter(|number| number % 5 > 0) {
        let Sample { caller, task, .. } = sample(number);
        store.delete(&caller, &task, Deletion::Forced).await.unwrap();
    }
    loop {
        drop(store.compact_step().now_or_never());
        if !store.compact_step().await.unwrap() {
            break;
        }
    }
    let (live, used) = (store.reader.disk.live_bytes().unwrap(), small.bytes());
    assert!(used as u64 <= 2 * live + 3 * SEGMENT, "{used} of {live}");
}

#[tokio::test]
async fn a_compaction_long_after_an_interrupted_one_frees_everything() {
    let small = Small::new();
    let store = small.open();
    fill(&store).await;
    for number in 0..TASKS {
        let Sample { caller, task, .. } = sample(number);
        store.delete(&caller, &task, Deletion::Forced).await.unwrap();
    }
    assert!(store.compact_step().await.unwrap());
    let later = Sample::new("later");
    later.create(&store, 0).await;
    for step in 0..500 {
        later.then(&store, 1 + step, status(TaskState::Working, "later")).await;
    }
    store.delete(&later.caller, &later.task, Deletion::Forced).await.unwrap();
    tokio::time::pause();
    tokio::time::advance(std::time::Duration::from_secs(3600)).await;
    store.compact(|| true).await.unwrap();
    let found = store.disk_use().await.unwrap().unwrap();
    assert!(found.log <= 2 * found.live + 3 * SEGMENT, "{found:?}");
}

#[tokio::test]
async fn a_log_without_segments_continues_at_its_beginning() {
    let backend = Sled::new();
    let log = backend.0.path().join("log");
    fs::create_dir_all(&log).unwrap();
    fs::write(log.join("0000000000001000.begin"), b"").unwrap();
    let sample = Sample::new("t");
    sample.create(&backend.try_open().unwrap(), 1).await;
    for _ in 0..2 {
        drop(fs::remove_dir_all(backend.0.path().join("keys")));
        let store = backend.try_open().unwrap();
        assert_eq!(sample.head(&store).await.seq, 3);
        assert!(store.check().unwrap().is_intact());
    }
}

/// Tasks are created and deleted over many periods of retention. Each period fills some segments and a part of the index.
#[tokio::test]
async fn log_and_index_do_not_grow_with_deleted_tasks() {
    const PERIODS: usize = 16;
    const EACH: usize = 40;
    let small = Small::new();
    let store = small.open();
    for period in 0..PERIODS {
        for number in period * EACH..(period + 1) * EACH {
            let (sample, time) = (Sample::new(format!("t{number:06}")), number as i64);
            sample.create(&store, time).await;
            let done = status(TaskState::Completed, "done");
            sample.then(&store, time, done).await;
            let over = Event::TurnEnded { turn: 1 };
            sample.then(&store, time, over).await;
            let (key, value) = (record(number), vec![7; 50]);
            let put = store.put_record(&sample.caller, &key, value);
            put.await.unwrap();
            if let Some(old) = number.checked_sub(EACH) {
                let old = format!("t{old:06}");
                let gone = store.delete(&sample.caller, &old, Deletion::Ended);
                gone.await.unwrap();
            }
        }
        while store.maintain().await.unwrap() {
            tokio::task::yield_now().await;
        }
        let found = store.disk_use().await.unwrap().unwrap();
        let limit = 2 * found.live + 3 * SEGMENT;
        assert!(found.log <= limit, "{} of {limit}", found.log);
        let parts = store.reader.disk.index().parts();
        assert!(parts <= 10, "{parts} parts in period {period}");
    }
}

/// A disk fails now and then. What could be read again in the end must not be given up.
#[tokio::test]
async fn reads_that_fail_for_a_moment_lose_nothing() {
    let small = Small::new();
    let store = small.open();
    fill(&store).await;
    for number in (0..TASKS).filter(|number| number % 5 > 0) {
        let Sample { caller, task, .. } = sample(number);
        let deletion = Deletion::Forced;
        store.delete(&caller, &task, deletion).await.unwrap();
    }
    let before = everything(&store).await;
    drop(store);
    // The start reads the log; nothing of it is in the caches then.
    let store = small.open();
    small.disk.set_faults(Faults { read: 150, ..Faults::default() });
    let mut failures = 0;
    while failures < 1_000 {
        match store.compact(|| true).await {
            Ok(()) => break,
            Err(error) => assert!(error.is_temporary(), "{error}"),
        }
        failures += 1;
    }
    assert!((1..1_000).contains(&failures), "{failures}");
    small.disk.set_faults(Faults::default());
    assert!(store.reader.disk.log.begin() > 0);
    assert_eq!(everything(&store).await, before);
    assert!(store.check().unwrap().is_intact());
    assert_eq!(store.damage(), Damage::default());
}

/// A task has data in a segment that is emptied, and in a later one, which the disk cannot read for a long time.
#[tokio::test]
async fn a_task_that_cannot_be_read_for_long_is_not_given_up() {
    // A task with many appends, which is not deleted.
    const LONG: usize = 5;
    let small = Small::new();
    let store = small.open();
    fill(&store).await;
    for number in (0..TASKS).filter(|number| number % LONG > 0) {
        let Sample { caller, task, .. } = sample(number);
        let gone = store.delete(&caller, &task, Deletion::Forced);
        gone.await.unwrap();
    }
    let before = everything(&store).await;
    drop(store);
    let store = small.open();
    let disk = &store.reader.disk;
    let latest = disk.find(&sample(LONG).task).unwrap().unwrap();
    let (base, _) = disk.log.closed_segment(latest.offset.at).unwrap();
    let path = small.folder.path().join(format!("log/{base:016x}.log"));
    small.disk.set_faults(Faults { unreadable: Some(path), ..Faults::default() });
    for _ in 0..10 {
        let error = store.compact(|| true).await.unwrap_err();
        assert!(error.is_temporary(), "{error}");
    }
    small.disk.set_faults(Faults::default());
    store.compact(|| true).await.unwrap();
    assert!(store.reader.disk.log.begin() > 0);
    assert_eq!(everything(&store).await, before);
    assert!(store.check().unwrap().is_intact());
}

/// The record that stands for a damaged task is copied and counted like live data.
#[tokio::test]
async fn compaction_ends_if_all_tasks_are_damaged() {
    const MAX_STEPS: usize = 10_000;
    let small = Small::new();
    let store = small.open();
    for number in 0..TASKS {
        sample(number).create(&store, number as i64).await;
    }
    let ends = (0..TASKS).map(|number| {
        let LogOffset { at, length } =
            store.reader.disk.find(&sample(number).task).unwrap().unwrap().offset;
        at + FRAME as u64 + u64::from(length)
    });
    let ends: Vec<u64> = ends.collect();
    // A damaged record at the end of the log would count as torn.
    sample(TASKS).create(&store, 1).await;
    drop(store);
    small.lose_index();
    let segments = small.disk.files();
    let segments = segments.iter().filter_map(|(path, _)| {
        let base = path.file_name()?.to_str()?.strip_suffix(".log")?;
        Some((u64::from_str_radix(base, 16).ok()?, path))
    });
    let segments: std::collections::BTreeMap<u64, _> = segments.collect();
    for end in ends {
        let (base, path) = segments.range(..end).next_back().unwrap();
        small.disk.flip(path, (end - base - 1) as usize, 0);
    }
    let store = small.open();
    assert_eq!(store.check().unwrap().damaged.len(), TASKS);
    let mut steps = 0;
    let continues = || {
        steps += 1;
        steps < MAX_STEPS
    };
    store.compact(continues).await.unwrap();
    assert!(steps < MAX_STEPS);
    assert_eq!(store.check().unwrap().damaged.len(), TASKS);
}

/// An earlier program has an index of its own. It does not know the current one, which is still there when it has ended.
#[tokio::test]
async fn an_index_is_rebuilt_after_an_earlier_program_has_compacted_the_log() {
    let small = Small::new();
    let [index, aside, former] =
        ["keys", "aside", "entries"].map(|name| small.folder.path().join(name));
    let compact = async |store: &SledStore, unwanted: [usize; 3]| {
        for number in unwanted {
            let Sample { caller, task, .. } = sample(number);
            store.delete(&caller, &task, Deletion::Forced).await.unwrap();
        }
        store.compact(|| true).await.unwrap();
        store.reader.disk.log.begin()
    };
    let store = small.open();
    fill(&store).await;
    let first_begin = compact(&store, [2, 5, 8]).await;
    let end = store.reader.disk.index().durable_end();
    drop(store);
    fs::rename(&index, &aside).unwrap();
    let store = small.open();
    let begin = compact(&store, [11, 14, 17]).await;
    assert!(first_begin < begin && begin < end, "{first_begin} {begin} {end}");
    let expected = everything(&store).await;
    drop(store);
    fs::rename(&index, &former).unwrap();
    fs::rename(&aside, &index).unwrap();
    assert_eq!(everything(&small.open()).await, expected);
    assert!(!former.exists());
}
