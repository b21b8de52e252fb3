//! Compares the index with maps after random appends, seals and restarts, and tests lost blocks.

use std::collections::BTreeSet;

use bridge_protocol::a2a::TaskState;

use super::{
    super::{latest_append::DataState, log::LogOffset, test_rng::TestRng},
    *,
};
use crate::{Append, Head, Idle, TurnState, caller::Caller, testing::Sample};

const STATES: [TaskState; 3] = [TaskState::Working, TaskState::InputRequired, TaskState::Completed];

/// An index and its expected content.
struct Pair {
    folder: tempfile::TempDir,
    index: Option<Arc<Index>>,
    /// The latest appends of all tasks.
    tasks: BTreeMap<String, LatestAppend>,
    /// The small records.
    records: BTreeMap<Key, Vec<u8>>,
    /// The changes that are not in any part.
    unsealed: Vec<(Changes, End)>,
    end: u64,
}

impl Pair {
    fn new() -> Self {
        let mut pair = Self {
            folder: tempfile::tempdir().unwrap(),
            index: None,
            tasks: BTreeMap::new(),
            records: BTreeMap::new(),
            unsealed: Vec::new(),
            end: 0,
        };
        pair.reopen().unwrap();
        pair
    }

    /// Creates an index with a number of parts.
    fn with_parts(seed: u64, parts: usize) -> Self {
        let (mut pair, mut rng) = (Self::new(), TestRng(seed));
        for _ in 0..parts {
            (0..60).for_each(|_| pair.change(&mut rng));
            pair.seal();
        }
        pair
    }

    fn database(&self) -> sled::Db {
        let config = sled::Config::new().path(self.folder.path());
        let config = config.flush_every_ms(None);
        // Threads of sled may hold the lock of a closed database for a moment.
        let db = (0..5_000).find_map(|_| {
            std::thread::yield_now();
            config.open().ok()
        });
        db.unwrap()
    }

    fn settings(&self) -> SledSettings {
        SledSettings {
            filters: 1 << 20,
            message_ids: u64::MAX,
            ..SledSettings::in_folder(self.folder.path())
        }
    }

    /// Reopens the index as after a crash: the changes that are not in a part are replayed.
    fn reopen(&mut self) -> Result<(), StoreError> {
        drop(self.index.take());
        let settings = self.settings();
        let mut index = Index::open(self.database(), self.folder.path().into(), &settings)?;
        // Layers are only sealed by tests.
        index.layer_bytes = 1 << 40;
        let index = Arc::new(index);
        let end = index.end();
        for (changes, at) in std::mem::take(&mut self.unsealed) {
            if at.at > end.at {
                index.apply(changes.clone(), at);
                self.unsealed.push((changes, at));
            }
        }
        self.index = Some(index);
        Ok(())
    }

    fn index(&self) -> Arc<Index> {
        Arc::clone(self.index.as_ref().unwrap())
    }

    fn seal(&mut self) {
        let index = self.index();
        let (sealed, _) = seal_young(&mut index.lock());
        self.check();
        index.write_part(&sealed).unwrap();
        self.unsealed.clear();
    }

    /// Creates a task or changes one, and sometimes a small record.
    fn change(&mut self, rng: &mut TestRng) {
        self.end += 1;
        let end = End { at: self.end, batch: self.end };
        let mut changes = Changes::default();
        if rng.below(4) == 0 {
            let key = crate::RecordKey {
                kind: "k".into(),
                scope: rng.below(3).to_string(),
                id: rng.below(9).to_string(),
            };
            let key = keys::record(&Caller::new("alice"), &key);
            let value = (rng.below(3) > 0).then(|| self.end.to_be_bytes().to_vec());
            match &value {
                Some(value) => drop(self.records.insert(key.clone(), value.clone())),
                None => drop(self.records.remove(&key)),
            }
            changes.entries.insert(key, value);
        }
        let is_new = self.tasks.is_empty() || rng.below(3) == 0;
        let number = if is_new { self.tasks.len() } else { rng.below(self.tasks.len()) };
        let task = format!("t{number:04}");
        let caller = Caller::new(["alice", "bob"][number % 2]);
        let sample = Sample::new(&task).of(caller).within(["x", "y", "z"][number % 3]);
        let before = self.tasks.get(&task).cloned();
        let mut head = match &before {
            Some(before) => Head::clone(&before.head),
            None => {
                let created: Append = sample.append(0, 1, vec![sample.created()]);
                Head::after(None, &sample.caller, &created).unwrap()
            }
        };
        head.seq += 1;
        head.status_time = jiff::Timestamp::from_millisecond(self.end as i64 / 3).unwrap();
        head.state = STATES[rng.below(3)].clone();
        let turn = crate::Turn {
            turn: 1,
            message_id: "m".into(),
            state: TurnState::Queued,
            traceparent: None,
        };
        head.turns = (0..rng.below(2)).map(|_| turn.clone()).collect();
        let latest = LatestAppend {
            head: Arc::new(head),
            offset: LogOffset { at: self.end, length: 1 },
            number: 1,
            bytes: 1,
            state: DataState::Intact,
        };
        if before.is_none() {
            let key = keys::message(&sample.caller, "sample", &task);
            changes.entries.insert(key, Some(task.clone().into_bytes()));
        }
        changes.update_task(before, latest.clone());
        self.tasks.insert(task, latest);
        self.index().apply(changes.clone(), end);
        self.unsealed.push((changes, end));
    }

    fn check(&self) {
        let index = self.index();
        for (task, latest) in &self.tasks {
            let offset = match index.latest(task) {
                Some(latest) => latest.offset,
                None => index.indexed_task(task).unwrap().unwrap().offset,
            };
            assert_eq!(offset, latest.offset, "{task}");
            let key = keys::message(&latest.head.owner, "sample", task);
            assert_eq!(index.get(&key).unwrap(), Some(task.clone().into_bytes()));
        }
        assert_eq!(index.indexed_task("t9999").unwrap(), None);
        for caller in ["alice", "bob", "nobody"].map(Caller::new) {
            self.check_lists(&caller);
        }
        for (list, is_in) in [
            (vec![keys::TURN], (|head| !head.turns.is_empty()) as fn(&Head) -> bool),
            (keys::idle(Idle::Waiting, "sample"), Head::waits),
            (keys::idle(Idle::Ended, "sample"), |head| !head.is_open()),
            (vec![keys::STATE_LIST], |_| true),
        ] {
            let appends = self.tasks.values().filter(|latest| is_in(&latest.head));
            let expected: BTreeSet<Arc<str>> = appends.map(|one| one.head.task.clone()).collect();
            let found = scan(&index, &list);
            assert!(found.is_sorted());
            check_windows(&index, &list, &found);
            let tasks = found.iter().map(|key| keys::last_name(key).unwrap());
            let tasks: Vec<String> = tasks.collect();
            assert_eq!(tasks.len(), expected.len());
            assert_eq!(tasks.into_iter().map(Arc::from).collect::<BTreeSet<Arc<str>>>(), expected);
        }
        let records: Vec<Key> = self.records.keys().cloned().collect();
        let scopes = ["0", "1", "2"].map(|scope| keys::records(&Caller::new("alice"), "k", scope));
        let found: Vec<Key> = scopes.iter().flat_map(|scope| scan(&index, scope)).collect();
        assert_eq!(found, records);
        for (key, value) in &self.records {
            assert_eq!(index.get(key).unwrap().as_ref(), Some(value));
        }
    }

    fn check_lists(&self, caller: &Caller) {
        let index = self.index();
        for state in STATES.iter().map(TaskState::as_str) {
            let own = |latest: &&LatestAppend| {
                latest.head.owner == *caller && latest.head.state.as_str() == state
            };
            let appends: Vec<&LatestAppend> = self.tasks.values().filter(own).collect();
            let counts = index.counts(&keys::states(caller, "sample", None, Some(state)));
            let count = counts.unwrap().into_values().next().unwrap_or_default();
            assert_eq!(count, appends.len(), "{state}");
            let list = keys::counted_list(&keys::states(caller, "sample", None, Some(state)));
            let found = scan(&index, &list);
            let expected: BTreeSet<Key> =
                appends.iter().map(|latest| keys::list_keys(latest)[0].clone()).collect();
            assert!(found.iter().eq(&expected));
        }
        for context in ["x", "y", "z"] {
            let own = |latest: &&LatestAppend| {
                latest.head.owner == *caller && *latest.head.context_id == *context
            };
            let appends = self.tasks.values().filter(own);
            let mut expected: Vec<Key> =
                appends.map(|one| keys::list_keys(one).remove(1)).collect();
            expected.sort();
            let counts = index.counts(&keys::states(caller, "sample", Some(context), None));
            let counts = counts.unwrap();
            assert_eq!(counts.values().sum::<usize>(), expected.len());
            let lists = counts.keys().map(keys::counted_list);
            let found: Vec<Key> = lists.flat_map(|list| scan(&index, &list)).collect();
            assert_eq!(found, expected);
        }
    }
}

fn scan(index: &Arc<Index>, prefix: &[u8]) -> Vec<Key> {
    scan_between(index, prefix, None, None)
}

fn scan_between(
    index: &Arc<Index>,
    prefix: &[u8],
    after: Option<&Key>,
    end: Option<&Key>,
) -> Vec<Key> {
    let entries = Arc::clone(index).scan_before(prefix.to_vec(), after.cloned(), end.cloned());
    entries.map(|entry| entry.unwrap().0).collect()
}

/// Checks that a scan between two keys returns the entries between them, for keys in the list and for others.
fn check_windows(index: &Arc<Index>, list: &[u8], all: &[Key]) {
    let some = all.iter().step_by(1 + all.len() / 4);
    let ends: Vec<Key> =
        some.flat_map(|key| [key.clone(), key[..key.len() - 2].to_vec()]).collect();
    for after in [None].into_iter().chain(ends.iter().map(Some)) {
        for end in [None].into_iter().chain(ends.iter().map(Some)) {
            let is_in = |key: &&Key| {
                after.is_none_or(|after| *key > after) && end.is_none_or(|end| *key < end)
            };
            let expected: Vec<&Key> = all.iter().filter(is_in).collect();
            let found = scan_between(index, list, after, end);
            assert!(found.iter().eq(expected), "{after:?} {end:?}");
        }
    }
}

#[test]
fn the_newest_part_has_all_open_turns() {
    let pair = Pair::with_parts(11, 5);
    let index = pair.index();
    let open = scan(&index, &[keys::TURN]);
    let newest = index.lock().parts.all[0].clone();
    let found: Vec<Key> = newest.list(&[keys::TURN]).map(|entry| entry.unwrap().0).collect();
    assert!(!open.is_empty());
    assert_eq!(found, open);
    // No other part is needed for them.
    index.remove_parts(newest.meta.end.at - 1);
    index.drop_removed_parts().unwrap();
    assert_eq!(index.parts(), 1);
    assert_eq!(scan(&index, &[keys::TURN]), open);
}

#[test]
fn parts_of_older_programs_are_refused() {
    let mut pair = Pair::with_parts(13, 2);
    let index = pair.index();
    let (key, value) = index.db.scan_prefix(b"p").next().unwrap().unwrap();
    // Their descriptions end before the format and the times of idle tasks.
    let times = index.lock().parts.all[1].times(keys::Order::OldestFirst);
    let more = postcard::to_allocvec(&(1_u8, times)).unwrap();
    let older = value[4..].strip_suffix(&*more).unwrap();
    let sum = crc32fast::hash(older).to_be_bytes();
    index.db.insert(key, [&sum, older].concat()).unwrap();
    drop(index);
    let error = pair.reopen().unwrap_err();
    assert!(matches!(error, StoreError::Corrupt { .. }), "{error}");
}

/// Entries of the layer that could not be written would be missing beside those of later layers.
#[test]
fn nothing_is_written_after_a_failure() {
    let (mut pair, mut rng) = (Pair::new(), TestRng(17));
    drop(pair.index.take());
    let index = Index::open(pair.database(), pair.folder.path().into(), &pair.settings()).unwrap();
    let running = CurrentIndex::start(index).unwrap();
    pair.index = Some(running.get());
    running.get().fail();
    // Nobody waits for the layers of a failed index.
    for _ in 0..200 {
        pair.change(&mut rng);
    }
    assert!(pair.index().lock().young.bytes() > 2 * LAYER_BYTES);
    drop((pair.index.take(), running));
    pair.reopen().unwrap();
    assert_eq!(pair.index().parts(), 0);
    pair.check();
}

#[test]
fn the_index_has_the_content_of_maps() {
    for seed in 1..=4 {
        let (mut pair, mut rng) = (Pair::new(), TestRng(seed));
        for _ in 0..700 {
            pair.change(&mut rng);
            match rng.below(60) {
                0 | 1 => pair.seal(),
                2 => pair.reopen().unwrap(),
                3 => pair.check(),
                _ => {}
            }
        }
        pair.check();
        pair.seal();
        pair.reopen().unwrap();
        pair.check();
        let parts = pair.index().lock().parts.all.len();
        assert!((2..50).contains(&parts), "{parts} parts");
    }
}

#[test]
fn a_lost_or_damaged_block_is_detected() {
    let (mut pair, mut rng) = (Pair::new(), TestRng(7));
    for _ in 0..300 {
        pair.change(&mut rng);
    }
    pair.seal();
    let keys: Vec<sled::IVec> = pair.index().db.iter().keys().map(Result::unwrap).collect();
    assert!(keys.len() > 4);
    for key in keys {
        let db = pair.index().db.clone();
        let value = db.remove(&key).unwrap().unwrap();
        drop(db);
        // A part without a description does not exist.
        let opened = pair.reopen();
        assert_eq!(opened.is_ok(), key[0] == b'p', "{key:?}: {opened:?}");
        if key[0] == b'p' {
            return;
        }
        let db = pair.database();
        let mut changed = value.to_vec();
        changed[5] ^= 1;
        db.insert(&key, changed).unwrap();
        drop(db);
        let error = pair.reopen().unwrap_err();
        assert!(matches!(error, StoreError::Corrupt { .. }), "{error}");
        let db = pair.database();
        db.insert(&key, value).unwrap();
        drop(db);
        pair.reopen().unwrap();
        pair.check();
    }
}

#[test]
fn old_parts_are_found_without_filters_in_memory() {
    let pair = Pair::with_parts(5, 6);
    let index = pair.index();
    let settings = SledSettings { filters: 300, ..pair.settings() };
    {
        let mut state = index.lock();
        let parts = Parts::new(state.parts.all.clone(), &settings).unwrap();
        let filters = parts.all.iter().filter_map(|part| part.filter.as_ref());
        let bytes: usize = filters.map(|filter| filter.as_bytes().len()).sum();
        assert!(bytes <= 300 && parts.all.len() > 2);
        state.parts = Arc::new(parts);
    }
    pair.check();
}

#[test]
fn the_newest_message_ids_are_kept() {
    let pair = Pair::with_parts(3, 6);
    let settings = SledSettings { message_ids: 20, ..pair.settings() };
    let parts = pair.index().lock().parts.all.clone();
    let newest = parts.iter().map(|part| part.meta.messages).scan(0, |sum, more| {
        *sum += more;
        Some(*sum)
    });
    let enough = newest.take_while(|sum| *sum < 20).count() + 1;
    let parts = Parts::new(parts, &settings).unwrap();
    assert_eq!(parts.with_messages, enough);
    assert!(enough < parts.all.len());
}
