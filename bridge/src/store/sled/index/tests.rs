//! The index as a whole, against a map of what was put and not removed.

use std::{collections::BTreeMap, fs::File};

use super::{run::Run, *};

struct Folder(tempfile::TempDir);

impl Folder {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    fn open(&self, room: usize) -> Arc<Index> {
        let config = sled::Config::new().path(self.0.path());
        let config = config.flush_every_ms(None);
        // Threads of sled's may hold the lock for a moment after the last one has closed it.
        let db = (0..500).find_map(|_| {
            std::thread::yield_now();
            config.open().ok()
        });
        Arc::new(Index::open(db.unwrap(), room).unwrap())
    }

    fn file(&self) -> File {
        File::open(self.0.path().join("db")).unwrap()
    }
}

fn end(batch: u64) -> End {
    End { at: batch, batch }
}

/// Numbers that look drawn by lot.
fn lots() -> impl Iterator<Item = u64> {
    (1_u64..).map(|number| (number.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 17) ^ number)
}

fn key(lot: u64) -> Key {
    let kind = ["a", "b", "bb"][lot as usize % 3];
    format!("{kind}{:05}", lot / 3 % 4_000).into()
}

/// Puts and removes about 2,000 entries, the same of the map.
fn change(index: &Index, known: &mut BTreeMap<Key, Vec<u8>>, batch: u64) {
    let mut changes = Changes::default();
    for lot in lots().skip(batch as usize * 2_000).take(2_000) {
        let key = key(lot);
        match (lot >> 40).is_multiple_of(3) {
            true => {
                changes.remove(key.clone());
                known.remove(&key);
            }
            false => {
                let value = lot.to_be_bytes().to_vec();
                match known.insert(key.clone(), value.clone()) {
                    Some(_) => changes.put(key, value),
                    None => changes.put_new(key, value),
                }
            }
        }
    }
    index.apply(changes, end(batch)).unwrap();
}

fn check(index: &Arc<Index>, known: &BTreeMap<Key, Vec<u8>>) {
    for prefix in ["a", "b", "bb", "c"] {
        let prefix = Key::from(prefix);
        for after in [None, Some(key(5_000))].into_iter() {
            let after = after.filter(|after| after.starts_with(&prefix));
            let found: Result<Vec<_>, _> = Arc::clone(index)
                .scan(prefix.clone(), after.clone())
                .collect();
            let known = known.iter().filter(|(key, _)| key.starts_with(&prefix));
            let known = known.filter(|(key, _)| after.as_ref().is_none_or(|after| after < *key));
            let known: Vec<_> = known
                .map(|(key, value)| (key.clone(), value.clone()))
                .collect();
            assert!(found.unwrap() == known, "{prefix:?} {after:?}");
        }
    }
    for lot in lots().take(3_000) {
        let key = key(lot);
        assert_eq!(
            index.get(&key).unwrap(),
            known.get(&key).cloned(),
            "{key:?}"
        );
    }
}

#[test]
fn entries_are_found_wherever_they_are() {
    let folder = Folder::new();
    let (index, file) = (folder.open(1 << 30), folder.file());
    let mut known = BTreeMap::new();
    let mut retired: Vec<Arc<Run>> = Vec::new();
    for batch in 0..30 {
        change(&index, &mut known, batch);
        if batch % 5 == 0 {
            check(&index, &known);
        }
        let layer = index.seal().unwrap();
        change(&index, &mut known, 100 + batch);
        if batch % 7 == 0 {
            check(&index, &known);
        }
        index.write_layer(&layer, &file).unwrap();
        retired.extend(index.merge_group().unwrap());
        index.sweep(&mut retired).unwrap();
    }
    check(&index, &known);
    assert!(index.lock().runs.len() < 16 && retired.is_empty());
    assert_eq!(index.end(), end(129));
    let layer = index.seal().unwrap();
    index.write_layer(&layer, &file).unwrap();
    drop((layer, index));
    let index = folder.open(1 << 30);
    assert_eq!(index.end(), end(129));
    check(&index, &known);
}

#[test]
fn who_writes_waits_for_room_and_all_is_written_at_the_end() {
    let folder = Folder::new();
    let index = folder.open(64 << 10);
    let indexer =
        Indexer::start(Arc::clone(&index), folder.file(), folder.0.path().into()).unwrap();
    let mut known = BTreeMap::new();
    for batch in 0..20 {
        change(&index, &mut known, batch);
        // One batch is about 200 KB: none is taken before there is room again.
        assert!(index.lock().young.bytes() < 512 << 10);
    }
    check(&index, &known);
    drop((indexer, index));
    check(&folder.open(64 << 10), &known);
}

#[test]
fn what_is_not_written_is_not_said_to_be() {
    let folder = Folder::new();
    let (index, file) = (folder.open(1 << 30), folder.file());
    let mut known = BTreeMap::new();
    change(&index, &mut known, 1);
    let layer = index.seal().unwrap();
    index.write_layer(&layer, &file).unwrap();
    change(&index, &mut BTreeMap::new(), 2);
    // Of a run that was begun there may be blocks.
    let mut torn = run::Writer::new(&index.db, 7, 9_000);
    for number in 0..9_000 {
        let key = format!("a{number:05}");
        torn.push(key.as_bytes(), Some(&[7; 60])).unwrap();
    }
    drop(torn);
    drop((layer, index));
    let index = folder.open(1 << 30);
    assert_eq!(index.end(), end(1));
    check(&index, &known);
    let blocks = index.db.scan_prefix(b"b").count();
    assert!(blocks < 40, "{blocks} blocks of one small run");
}
