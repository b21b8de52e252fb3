//! How an append is written: a small binary envelope around JSON.
//!
//! | bytes | |
//! |-|-|
//! | 1 | version of this table: 1 |
//! | 1 | where the events are: 0 here, 1 in a file |
//! | 8 | time, milliseconds since 1970 |
//! | 4 | how many events there are |
//! | 4 | the length of the next |
//! | | the task's head after the append, JSON |
//! | rest | the events as a JSON list; or the SHA-256 of the file that holds that list |
//!
//! The head stands with the events so that an append is one key. The newest append of a task has it.
//!
//! JSON costs a third more bytes than a binary form would, but it keeps the objects of the protocol with
//! all their unknown fields as they are.

use std::fmt::Display;

use jiff::Timestamp;
use serde::de::DeserializeOwned;

use crate::store::{Append, Event, Head, Seq, StoreError, Stored};

const VERSION: u8 = 1;
const HERE: u8 = 0;
const IN_FILE: u8 = 1;
const HEADER: usize = 18;
/// Clients choose some of what is in a head; it must not make sled use files of its own.
const HEAD_LIMIT: usize = 16 << 10;

/// The bytes of a SHA-256.
pub(super) type Hash = [u8; 32];

/// One append as it stands in the database.
#[derive(Clone, Debug)]
pub(super) struct Record {
    /// The number of its last event.
    pub(super) last: Seq,
    /// The envelope and what is in it.
    pub(super) bytes: sled::IVec,
}

/// Where a record's events are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Body {
    /// The JSON list itself.
    Here(Vec<u8>),
    /// In the file of this name.
    File(Hash),
}

/// What an envelope says.
struct Parts<'r> {
    time: Timestamp,
    count: u64,
    head: &'r [u8],
    in_file: bool,
    body: &'r [u8],
}

/// The events of an append as they are written.
pub(super) fn events_json(append: &Append) -> Result<Vec<u8>, StoreError> {
    let corrupt = |error| StoreError::corrupt(format!("an event of task {}", append.task), &error);
    serde_json::to_vec(&append.events).map_err(corrupt)
}

/// Puts the events of an append, or the name of their file, into an envelope.
pub(super) fn envelope(append: &Append, head: &Head, body: &Body) -> Result<Vec<u8>, StoreError> {
    let corrupt = |error| StoreError::corrupt(format!("the head of task {}", head.task), &error);
    let json = serde_json::to_vec(head).map_err(corrupt)?;
    if json.len() > HEAD_LIMIT {
        return Err(StoreError::TooLarge {
            what: format!("the ids and open turns of task {}", head.task),
            size: json.len(),
            limit: HEAD_LIMIT,
        });
    }
    let (place, body) = match body {
        Body::Here(json) => (HERE, json.as_slice()),
        Body::File(hash) => (IN_FILE, hash.as_slice()),
    };
    let mut bytes = Vec::with_capacity(HEADER + json.len() + body.len());
    bytes.extend([VERSION, place]);
    bytes.extend(append.time.as_millisecond().to_be_bytes());
    bytes.extend((append.events.len() as u32).to_be_bytes());
    bytes.extend((json.len() as u32).to_be_bytes());
    bytes.extend(json);
    bytes.extend(body);
    Ok(bytes)
}

impl Record {
    /// How many events it has.
    pub(super) fn count(&self) -> Result<u64, StoreError> {
        Ok(self.parts()?.count)
    }

    /// The head after it.
    pub(super) fn head(&self) -> Result<Head, StoreError> {
        read_json(self.parts()?.head, "the head of a task")
    }

    /// The file that holds its events, if it does not hold them itself.
    pub(super) fn file(&self) -> Result<Option<Hash>, StoreError> {
        let parts = self.parts()?;
        let hash = || {
            parts
                .body
                .try_into()
                .map_err(|_| self.corrupt("it is too short"))
        };
        parts.in_file.then(hash).transpose()
    }

    /// The events that it holds itself.
    pub(super) fn events(&self) -> Result<Vec<Stored>, StoreError> {
        self.events_from(self.parts()?.body)
    }

    /// The events that stand in its file.
    pub(super) fn events_from(&self, json: &[u8]) -> Result<Vec<Stored>, StoreError> {
        let Parts { time, count, .. } = self.parts()?;
        let events: Vec<Event> = read_json(json, "the events of an append")?;
        if events.len() as u64 != count {
            return Err(self.corrupt("it has another number of events than it says"));
        }
        let first = self.last + 1 - count;
        let number = |(seq, event)| Stored { seq, time, event };
        Ok((first..).zip(events).map(number).collect())
    }

    fn parts(&self) -> Result<Parts<'_>, StoreError> {
        let torn = || self.corrupt("it is too short");
        let (header, rest) = self.bytes.split_first_chunk::<HEADER>().ok_or_else(torn)?;
        let [version, place, time @ .., a, b, c, d, e, f, g, h] = *header;
        if version != VERSION {
            return Err(self.corrupt(&format!("version {version} is unknown")));
        }
        let in_file = match place {
            HERE => false,
            IN_FILE => true,
            other => return Err(self.corrupt(&format!("place {other} is unknown"))),
        };
        let time = Timestamp::from_millisecond(i64::from_be_bytes(time));
        let count = u64::from(u32::from_be_bytes([a, b, c, d]));
        if count == 0 || count > self.last {
            return Err(self.corrupt("it has another number of events than it says"));
        }
        let head = u32::from_be_bytes([e, f, g, h]) as usize;
        let (head, body) = rest.split_at_checked(head).ok_or_else(torn)?;
        Ok(Parts {
            time: time.map_err(|error| self.corrupt(&error))?,
            count,
            head,
            in_file,
            body,
        })
    }

    fn corrupt(&self, reason: &(impl Display + ?Sized)) -> StoreError {
        StoreError::corrupt(format!("the append up to event {}", self.last), reason)
    }
}

fn read_json<T: DeserializeOwned>(json: &[u8], what: &str) -> Result<T, StoreError> {
    serde_json::from_slice(json).map_err(|error| StoreError::corrupt(what, &error))
}

/// A number as it is written.
pub(super) fn read_number(bytes: &[u8], what: &str) -> Result<u64, StoreError> {
    let number = bytes.try_into().map(u64::from_be_bytes);
    number.map_err(|_| StoreError::corrupt(what, "expected eight bytes"))
}

/// The place of a message as it is written.
pub(super) fn write_place(task: &str, seq: Seq) -> Vec<u8> {
    let mut bytes = seq.to_be_bytes().to_vec();
    bytes.extend(task.as_bytes());
    bytes
}

pub(super) fn read_place(bytes: &[u8]) -> Result<(String, Seq), StoreError> {
    let what = "the place of a message";
    let (seq, task) = bytes
        .split_first_chunk()
        .ok_or_else(|| StoreError::corrupt(what, "it is too short"))?;
    Ok((read_text(task, what)?, Seq::from_be_bytes(*seq)))
}

pub(super) fn read_text(bytes: &[u8], what: &str) -> Result<String, StoreError> {
    let text = str::from_utf8(bytes).map(str::to_owned);
    text.map_err(|error| StoreError::corrupt(what, &error))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::testing::Sample;

    fn record() -> Record {
        let sample = Sample::new("t");
        let created = sample.append(0, 7, vec![sample.created()]);
        let mut head = Head::after(None, &sample.caller, &created).unwrap();
        head.seq = 6;
        let turn = |turn| Event::TurnEnded { turn };
        let append = sample.append(4, 7, vec![turn(1), turn(2)]);
        let json = events_json(&append).unwrap();
        let bytes = envelope(&append, &head, &Body::Here(json)).unwrap();
        Record {
            last: append.last(),
            bytes: bytes.into(),
        }
    }

    #[test]
    fn a_record_comes_back_with_head_numbers_and_time() {
        let record = record();
        assert_eq!(record.head().unwrap().seq, 6);
        assert_eq!(record.file().unwrap(), None);
        let events = record.events().unwrap();
        let numbers: Vec<Seq> = events.iter().map(|stored| stored.seq).collect();
        assert_eq!(numbers, [5, 6]);
        assert_eq!(events[1].time.as_millisecond(), 7);
    }

    #[test]
    fn a_record_that_is_not_one_says_why() {
        let whole = record();
        for (at, byte, reason) in [
            (0, 9, "version 9 is unknown"),
            (1, 2, "place 2 is unknown"),
            (1, 1, "it is too short"),
            (2, 0x7f, "parameter"),
            (13, 0, "it has another number of events than it says"),
            (13, 1, "it has another number of events than it says"),
            (13, 7, "it has another number of events than it says"),
            (15, 7, "it is too short"),
        ] {
            let mut bytes = whole.bytes.to_vec();
            bytes[at] = byte;
            let bytes = bytes.into();
            let record = Record { last: 6, bytes };
            let error = record.file().and_then(|_| record.events()).unwrap_err();
            assert!(error.to_string().contains(reason), "{error}");
        }
        let bytes = whole.bytes[..13].into();
        assert!(Record { last: 6, bytes }.count().is_err());
        assert!(whole.events_from(b"[]").is_err());
    }
}
