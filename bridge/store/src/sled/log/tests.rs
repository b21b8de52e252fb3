//! Tests of the log after crashes and on damaged disks.

use std::{
    fs,
    ops::Range,
    path::{Path, PathBuf},
    sync::Arc,
};

use super::*;
use crate::StoreError;

/// An opened log with its content.
struct Opened {
    records: Vec<String>,
    offsets: Vec<LogOffset>,
    /// The damaged ranges.
    damaged: Vec<Range<u64>>,
    log: Arc<Log>,
    writer: Writer,
}

/// Opens the log, and reads the records after `from`.
fn open(folder: &Path, from: End) -> Opened {
    open_on(Arc::new(RealDisk::default()), folder, from)
}

fn open_on(disk: Arc<dyn Disk>, folder: &Path, from: End) -> Opened {
    let (mut records, mut offsets, mut damaged) = (Vec::new(), Vec::new(), Vec::new());
    let log = super::open(disk, folder, from).unwrap();
    let mut visit = |seen: &LogEntry<'_>, _: End| {
        match *seen {
            LogEntry::Record(offset, record) => {
                assert_eq!(log.read(offset).unwrap(), record);
                records.push(String::from_utf8(record.to_vec()).unwrap());
                offsets.push(offset);
            }
            LogEntry::Damaged(at, bytes) => damaged.push(at..at + bytes.len() as u64),
        }
        Ok(())
    };
    let end = walk(&log, from, &mut visit).unwrap();
    let writer = writer(&log, end).unwrap();
    Opened { records, offsets, damaged, log, writer }
}

fn write(writer: &mut Writer, batch: &str) -> End {
    writer.make_room(batch.len() as u64, false).unwrap();
    for record in batch.split(' ') {
        writer.put(|to| to.extend(record.as_bytes()));
    }
    writer.commit().unwrap()
}

fn segments(folder: &Path) -> segment::Segments {
    segment::Segments { disk: Arc::new(RealDisk::default()), folder: folder.into() }
}

fn first(folder: &Path) -> PathBuf {
    folder.join("0000000000000000.log")
}

#[test]
fn records_are_read_back_and_the_log_continues() {
    let folder = tempfile::tempdir().unwrap();
    let Opened { records, offsets, mut writer, .. } = open(folder.path(), End::default());
    assert!(records.is_empty() && offsets.is_empty() && writer.is_empty());
    let middle = write(&mut writer, "one two");
    let end = write(&mut writer, "three");
    drop(writer);
    let Opened { records, mut writer, .. } = open(folder.path(), End::default());
    assert_eq!(records, ["one", "two", "three"]);
    write(&mut writer, "four");
    drop(writer);
    for (from, later) in [(middle, vec!["three", "four"]), (end, vec!["four"])] {
        assert_eq!(open(folder.path(), from).records, later);
    }
}

/// Returns the bytes that the system counts as written to disks by this thread, if it counts them.
fn counted_as_written() -> Option<u64> {
    let counts = fs::read_to_string("/proc/thread-self/io").ok()?;
    let line = counts.lines().find_map(|line| line.strip_prefix("write_bytes: "));
    line?.parse().ok()
}

#[test]
fn few_more_bytes_are_written_than_those_of_a_batch() {
    const BATCHES: u64 = 500;
    let folder = tempfile::tempdir().unwrap();
    let mut writer = open(folder.path(), End::default()).writer;
    let record = "x".repeat(1000);
    write(&mut writer, &record);
    let before = counted_as_written();
    for _ in 0..BATCHES {
        write(&mut writer, &record);
    }
    let counted = counted_as_written().zip(before);
    let each = counted.map_or(0, |(after, before)| (after - before) / BATCHES);
    assert!(each <= 32 << 10, "{each} bytes a batch");
}

#[test]
fn a_torn_end_is_cut_off() {
    let folder = tempfile::tempdir().unwrap();
    let mut writer = open(folder.path(), End::default()).writer;
    let whole = write(&mut writer, "one two").at as usize;
    let end = write(&mut writer, "three four five").at as usize;
    drop(writer);
    let path = first(folder.path());
    let bytes = fs::read(&path).unwrap();
    for cut in whole..=end {
        // The torn bytes may be missing, zeros, or arbitrary.
        for rest in [Vec::new(), vec![0; bytes.len() - cut], vec![b'x'; end - cut]] {
            fs::write(&path, [&bytes[..cut], &rest].concat()).unwrap();
            let Opened { records, mut writer, .. } = open(folder.path(), End::default());
            let expected = if cut == end { 5 } else { 2 };
            assert_eq!(records.len(), expected, "cut at {cut}");
            write(&mut writer, "again");
            drop(writer);
            let records = open(folder.path(), End::default()).records;
            assert_eq!((records.len(), records.last().unwrap().as_str()), (expected + 1, "again"));
        }
    }
}

#[test]
fn a_last_batch_of_which_a_middle_part_is_missing_is_cut_off() {
    let folder = tempfile::tempdir().unwrap();
    let mut writer = open(folder.path(), End::default()).writer;
    let whole = write(&mut writer, "one two").at as usize;
    write(&mut writer, "three four five");
    drop(writer);
    let path = first(folder.path());
    let mut bytes = fs::read(&path).unwrap();
    bytes[whole + 3] ^= 1;
    fs::write(&path, &bytes).unwrap();
    assert_eq!(open(folder.path(), End::default()).records, ["one", "two"]);
}

#[test]
fn a_changed_byte_before_the_end_damages_only_its_record() {
    let folder = tempfile::tempdir().unwrap();
    let mut writer = open(folder.path(), End::default()).writer;
    write(&mut writer, "one two");
    let end = write(&mut writer, "three").at as usize;
    write(&mut writer, "four");
    drop(writer);
    let path = first(folder.path());
    let bytes = fs::read(&path).unwrap();
    let records = ["one", "two", "three", "four"];
    let offsets = [(16, 35), (35, 54), (54, 75)];
    assert_eq!(end, 75);
    for (number, (start, end)) in offsets.into_iter().enumerate() {
        for at in start..end {
            let mut changed = bytes.clone();
            changed[at] ^= 4;
            fs::write(&path, changed).unwrap();
            let opened = open(folder.path(), End::default());
            let mut others = records.to_vec();
            others.remove(number);
            let lost = start as u64..end as u64;
            assert_eq!(opened.records, others, "changed at {at}");
            assert_eq!(opened.damaged, std::slice::from_ref(&lost), "changed at {at}");
            assert_eq!(opened.log.lost(), [lost], "changed at {at}");
        }
    }
    // Later records are found after the damaged one.
    write(&mut open(folder.path(), End::default()).writer, "five");
    let opened = open(folder.path(), End::default());
    assert_eq!(opened.records, ["one", "two", "four", "five"]);
}

#[test]
fn a_changed_record_is_detected_when_it_is_read() {
    let folder = tempfile::tempdir().unwrap();
    let mut writer = open(folder.path(), End::default()).writer;
    let offset = writer.put(|to| to.extend(b"one"));
    let end = writer.commit().unwrap();
    let path = first(folder.path());
    let mut bytes = fs::read(&path).unwrap();
    bytes[33] ^= 1;
    fs::write(&path, bytes).unwrap();
    let log = open(folder.path(), end).log;
    let error = log.read(offset).unwrap_err().to_string();
    assert!(error.contains("at byte 16 is corrupt"), "{error}");
    let nowhere = LogOffset { at: 9_999, ..offset };
    assert!(log.read(nowhere).is_err());
}

#[test]
fn missing_segments_are_detected() {
    let folder = tempfile::tempdir().unwrap();
    let mut writer = open(folder.path(), End::default()).writer;
    writer.limit = 100;
    let ends: Vec<End> =
        (0..40).map(|number| write(&mut writer, &format!("record{number}"))).collect();
    drop(writer);
    let bases = segments(folder.path()).list().unwrap();
    assert!(bases.len() > 8);
    for (number, end) in ends.iter().enumerate() {
        let records = open(folder.path(), *end).records;
        assert_eq!(records.len(), 39 - number);
    }
    // A segment was being created when the process was killed.
    fs::write(segments(folder.path()).path(ends[39].at + 900), b"a2a").unwrap();
    assert_eq!(open(folder.path(), End::default()).records.len(), 40);
    assert_eq!(segments(folder.path()).list().unwrap(), bases);
    fs::remove_file(segments(folder.path()).path(bases[3])).unwrap();
    let opened = open(folder.path(), End::default());
    assert_eq!(opened.log.lost().len(), 1);
    assert_eq!(opened.log.lost()[0], bases[3]..bases[4]);
    assert!((30..40).contains(&opened.records.len()));
    assert_eq!(opened.records.last().unwrap(), "record39");
    // The newest segment is missing, which an index of the whole log detects, and no position is used twice.
    let newest = *bases.last().unwrap();
    fs::remove_file(segments(folder.path()).path(newest)).unwrap();
    let mut opened = open(folder.path(), ends[39]);
    assert_eq!(opened.log.lost()[1].end, ends[39].at);
    write(&mut opened.writer, "again");
    drop(opened);
    let opened = open(folder.path(), ends[39]);
    assert_eq!(opened.records, ["again"]);
    assert!(opened.offsets[0].at >= ends[39].at);
    fs::remove_dir_all(folder.path()).unwrap();
    fs::create_dir(folder.path()).unwrap();
    let mut opened = open(folder.path(), ends[3]);
    assert_eq!(opened.log.lost()[0], 0..ends[3].at);
    write(&mut opened.writer, "last");
    assert_eq!(open(folder.path(), ends[3]).records, ["last"]);
}

#[test]
fn a_changed_segment_header_damages_no_record() {
    let folder = tempfile::tempdir().unwrap();
    write(&mut open(folder.path(), End::default()).writer, "one two");
    let path = first(folder.path());
    let bytes = fs::read(&path).unwrap();
    let mut zero = bytes.clone();
    zero[..16].fill(0);
    let flipped = (0..16).filter(|at| *at != 7).map(|at| {
        let mut changed = bytes.clone();
        changed[at] ^= 1;
        changed
    });
    for changed in flipped.chain([zero]) {
        fs::write(&path, &changed).unwrap();
        let opened = open(folder.path(), End::default());
        assert_eq!(opened.records, ["one", "two"], "{:?}", &changed[..16]);
    }
}

#[test]
fn a_batch_that_does_not_fit_leaves_no_bytes() {
    let disk = SimulatedDisk::new(1).with_segments(400);
    let folder = Path::new("log");
    disk.make_folder(folder).unwrap();
    let open = || open_on(Arc::new(disk.clone()), folder, End::default());
    let mut writer = open().writer;
    let (mut written, mut refused) = (Vec::new(), 0);
    for number in 0..200_usize {
        // Some batches fit, and some only fit until they are written.
        disk.set_room([1 << 30, 0, 70_000, 66_000][number % 4]);
        let record = format!("{number} ").repeat(1 + 4_000 * (number % 3));
        let room = writer.make_room([record.len() as u64, 0][number / 4 % 2], false);
        let done = room.and_then(|()| {
            writer.put(|to| to.extend(record.as_bytes()));
            writer.commit()
        });
        match done {
            Ok(_) => written.push(record),
            Err(StoreError::Full { .. }) => refused += 1,
            Err(error) => panic!("{error}"),
        }
        assert!(writer.is_empty());
    }
    assert!(written.len() > 50 && refused > 50, "{refused} refused");
    drop(writer);
    let opened = open();
    assert!(opened.records == written);
    assert!(opened.log.lost().is_empty());
}

#[test]
fn a_newer_log_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    drop(open(folder.path(), End::default()));
    let path = first(folder.path());
    let mut bytes = fs::read(&path).unwrap();
    bytes[7] = 99;
    fs::write(&path, bytes).unwrap();
    let error = super::open(Arc::new(RealDisk::default()), folder.path(), End::default())
        .and_then(|log| walk(&log, End::default(), &mut |_, _| Ok(())))
        .unwrap_err();
    assert!(matches!(error, StoreError::Newer { found: 99, .. }), "{error}");
}

#[test]
fn the_last_batch_of_a_killed_process_is_durable_before_it_is_read() {
    let folder = Path::new("log");
    for seed in 0..40 {
        let disk = SimulatedDisk::new(seed);
        disk.make_folder(folder).unwrap();
        disk.sync_folder(Path::new("")).unwrap();
        let simulated = || Arc::new(disk.clone());
        let mut writer = open_on(simulated(), folder, End::default()).writer;
        write(&mut writer, "one two");
        writer.put(|to| to.extend(b"three"));
        // The process is killed between the write and the sync.
        let stops_at = Some(2);
        disk.set_faults(Faults { stops_at, ..Faults::default() });
        writer.commit().unwrap_err();
        drop(writer);
        disk.kill();
        let read = super::open(simulated(), folder, End::default()).unwrap();
        let mut records = 0;
        let mut count = |_: &LogEntry<'_>, _: End| {
            records += 1;
            Ok(())
        };
        walk(&read, End::default(), &mut count).unwrap();
        assert_eq!(records, 3);
        disk.lose_power();
        let opened = open_on(simulated(), folder, End::default());
        assert_eq!(opened.records, ["one", "two", "three"], "seed {seed}");
    }
}

#[test]
fn zeros_after_the_end_of_a_full_segment_are_ignored() {
    let folder = tempfile::tempdir().unwrap();
    let mut writer = open(folder.path(), End::default()).writer;
    writer.limit = 100;
    for number in 0..20 {
        write(&mut writer, &format!("record{number}"));
    }
    drop(writer);
    let path = first(folder.path());
    let mut bytes = fs::read(&path).unwrap();
    bytes.extend([0; 900]);
    fs::write(&path, bytes).unwrap();
    let opened = open(folder.path(), End::default());
    assert_eq!(opened.records.len(), 20);
    assert!(opened.log.lost().is_empty());
}

#[test]
fn nothing_is_written_after_a_failed_sync() {
    for (full, sync) in [(0, 100), (100, 0)] {
        let (disk, folder) = (SimulatedDisk::new(1), Path::new("log"));
        disk.make_folder(folder).unwrap();
        let mut writer = open_on(Arc::new(disk.clone()), folder, End::default()).writer;
        write(&mut writer, "one");
        writer.put(|to| to.extend(b"two"));
        disk.set_faults(Faults { full, sync, ..Faults::default() });
        // The batch cannot be cut off either, so it must not be reported as refused.
        let error = writer.commit().unwrap_err();
        assert!(matches!(error, StoreError::Io { .. }), "{error}");
        disk.set_faults(Faults::default());
        let error = writer.make_room(1, false).unwrap_err();
        assert!(matches!(error, StoreError::Closed), "{error}");
    }
}

/// Another process may compact the log while this one lists the files to copy.
#[test]
fn the_names_of_files_are_consistent() {
    const SEGMENTS: u64 = 2_000;
    let disk = SimulatedDisk::new(1);
    let folder = Path::new("/log");
    let log = segment::Segments { disk: Arc::new(disk), folder: folder.into() };
    log.disk.make_folder(folder).unwrap();
    drop(log.create(0).unwrap());
    let moving = std::thread::spawn({
        let log = log.clone();
        move || {
            for base in 1..=SEGMENTS {
                drop(log.create(base).unwrap());
                log.set_begin(base).unwrap();
                log.remove_before_begin().unwrap();
            }
        }
    });
    while !moving.is_finished() {
        let names = log.names().unwrap();
        let names: Vec<&str> = names.iter().map(|name| name.to_str().unwrap()).collect();
        let base = |name: &str| name.split('.').next().map(str::to_owned);
        match names[..] {
            ["0000000000000000.log", ..] => {}
            [begin, first, ..] => assert_eq!(base(begin), base(first), "{names:?}"),
            _ => panic!("{names:?}"),
        }
    }
    moving.join().unwrap();
}
