//! The log as a crash or a bad disk leaves it.

use std::{
    fs,
    path::{Path, PathBuf},
    sync::Arc,
};

use super::*;
use crate::store::StoreError;

/// Opens the log, and tells the records after `from`.
fn open(folder: &Path, from: End) -> Result<(Vec<String>, Vec<Place>, Writer), StoreError> {
    let (mut records, mut places) = (Vec::new(), Vec::new());
    let mut visit = |log: &Arc<Log>, place: Place, record: &[u8], _: End| {
        assert_eq!(log.read(place).unwrap(), record);
        records.push(String::from_utf8(record.to_vec()).unwrap());
        places.push(place);
        Ok(())
    };
    let (_, writer) = replay(folder, from, &mut visit)?;
    Ok((records, places, writer))
}

fn write(writer: &mut Writer, batch: &str) -> End {
    for record in batch.split(' ') {
        writer.put(|to| to.extend(record.as_bytes()));
    }
    writer.commit().unwrap()
}

fn first(folder: &Path) -> PathBuf {
    folder.join("0000000000000000.log")
}

#[test]
fn records_come_back_and_the_log_goes_on() {
    let folder = tempfile::tempdir().unwrap();
    let (records, _, mut writer) = open(folder.path(), End::default()).unwrap();
    assert!(records.is_empty() && writer.is_empty());
    let middle = write(&mut writer, "one two");
    let end = write(&mut writer, "three");
    drop(writer);
    let (records, _, mut writer) = open(folder.path(), End::default()).unwrap();
    assert_eq!(records, ["one", "two", "three"]);
    write(&mut writer, "four");
    drop(writer);
    for (from, later) in [(middle, vec!["three", "four"]), (end, vec!["four"])] {
        assert_eq!(open(folder.path(), from).unwrap().0, later);
    }
}

#[test]
fn a_torn_end_is_cut_off_wherever_it_is_torn() {
    let folder = tempfile::tempdir().unwrap();
    let (_, _, mut writer) = open(folder.path(), End::default()).unwrap();
    let whole = write(&mut writer, "one two").at as usize;
    let end = write(&mut writer, "three four five").at as usize;
    drop(writer);
    let path = first(folder.path());
    let bytes = fs::read(&path).unwrap();
    for cut in whole..=end {
        // What is cut off may be gone, or zeros, or something else that does not make sense.
        for rest in [
            Vec::new(),
            vec![0; bytes.len() - cut],
            vec![b'x'; end - cut],
        ] {
            fs::write(&path, [&bytes[..cut], &rest].concat()).unwrap();
            let (records, _, mut writer) = open(folder.path(), End::default()).unwrap();
            let expected = if cut == end { 5 } else { 2 };
            assert_eq!(records.len(), expected, "cut at {cut}");
            write(&mut writer, "again");
            drop(writer);
            let (records, ..) = open(folder.path(), End::default()).unwrap();
            assert_eq!(
                (records.len(), records.last().unwrap().as_str()),
                (expected + 1, "again")
            );
        }
    }
}

#[test]
fn parts_of_the_last_batch_may_reach_the_disk_in_any_order() {
    let folder = tempfile::tempdir().unwrap();
    let (_, _, mut writer) = open(folder.path(), End::default()).unwrap();
    let whole = write(&mut writer, "one two").at as usize;
    write(&mut writer, "three four five");
    drop(writer);
    let path = first(folder.path());
    let mut bytes = fs::read(&path).unwrap();
    bytes[whole + 3] ^= 1;
    fs::write(&path, &bytes).unwrap();
    assert_eq!(
        open(folder.path(), End::default()).unwrap().0,
        ["one", "two"]
    );
}

#[test]
fn a_byte_that_changed_before_the_end_is_an_error_that_says_where() {
    let folder = tempfile::tempdir().unwrap();
    let (_, _, mut writer) = open(folder.path(), End::default()).unwrap();
    write(&mut writer, "one two");
    let end = write(&mut writer, "three").at as usize;
    write(&mut writer, "four");
    drop(writer);
    let path = first(folder.path());
    let bytes = fs::read(&path).unwrap();
    let starts = [(16, 35), (35, 54), (54, 75)];
    assert_eq!(end, 75);
    for (start, end) in starts {
        for at in start..end {
            let mut changed = bytes.clone();
            changed[at] ^= 4;
            fs::write(&path, changed).unwrap();
            let error = open(folder.path(), End::default()).unwrap_err().to_string();
            let place = format!("{} at byte {start} is corrupt", path.display());
            assert!(error.starts_with(&place), "changed at {at}: {error}");
        }
    }
}

#[test]
fn a_record_that_changed_is_noticed_when_it_is_read() {
    let folder = tempfile::tempdir().unwrap();
    let (_, _, mut writer) = open(folder.path(), End::default()).unwrap();
    let place = writer.put(|to| to.extend(b"one"));
    let end = writer.commit().unwrap();
    let path = first(folder.path());
    let mut bytes = fs::read(&path).unwrap();
    bytes[33] ^= 1;
    fs::write(&path, bytes).unwrap();
    let (log, _) = replay(folder.path(), end, &mut |_, _, _, _| Ok(())).unwrap();
    let error = log.read(place).unwrap_err().to_string();
    assert!(error.contains("at byte 16 is corrupt"), "{error}");
    let nowhere = Place { at: 9_999, ..place };
    assert!(log.read(nowhere).is_err());
}

#[test]
fn segments_follow_each_other_and_none_may_be_missing() {
    let folder = tempfile::tempdir().unwrap();
    let (_, _, mut writer) = open(folder.path(), End::default()).unwrap();
    writer.limit = 100;
    let ends: Vec<End> = (0..40)
        .map(|number| write(&mut writer, &format!("record{number}")))
        .collect();
    drop(writer);
    let bases = segment::list(folder.path()).unwrap();
    assert!(bases.len() > 8);
    for (number, end) in ends.iter().enumerate() {
        let (records, ..) = open(folder.path(), *end).unwrap();
        assert_eq!(records.len(), 39 - number);
    }
    // One that was just made when the process was killed.
    fs::write(segment::path(folder.path(), ends[39].at + 900), b"a2a").unwrap();
    assert_eq!(open(folder.path(), End::default()).unwrap().0.len(), 40);
    assert_eq!(segment::list(folder.path()).unwrap(), bases);
    fs::remove_file(segment::path(folder.path(), bases[3])).unwrap();
    let error = open(folder.path(), End::default()).unwrap_err().to_string();
    assert!(error.contains("is broken, and later ones"), "{error}");
    fs::remove_dir_all(folder.path()).unwrap();
    fs::create_dir(folder.path()).unwrap();
    let error = open(folder.path(), ends[3]).unwrap_err().to_string();
    assert!(error.contains("is missing"), "{error}");
}

#[test]
fn a_newer_log_is_left_alone() {
    let folder = tempfile::tempdir().unwrap();
    drop(open(folder.path(), End::default()).unwrap());
    let path = first(folder.path());
    let mut bytes = fs::read(&path).unwrap();
    bytes[7] = 99;
    fs::write(&path, bytes).unwrap();
    let error = open(folder.path(), End::default()).unwrap_err();
    assert!(
        matches!(error, StoreError::Newer { found: 99, .. }),
        "{error}"
    );
}
