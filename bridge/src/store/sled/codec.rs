//! How events and heads are written: a small binary envelope around JSON.
//!
//! | bytes | an append |
//! |-|-|
//! | 1 | version of this table: 1 |
//! | 1 | where the events are: 0 here, 1 in a file |
//! | 8 | time, milliseconds since 1970 |
//! | 4 | how many events there are |
//! | rest | the events as a JSON list; or the SHA-256 of the file that holds that list |
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
const HEADER: usize = 14;

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
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Body<'a> {
    /// The JSON list itself.
    Here(&'a [u8]),
    /// In the file of this name.
    File(Hash),
}

/// The events of an append as they are written.
pub(super) fn body(append: &Append) -> Result<Vec<u8>, StoreError> {
    let corrupt = |error| StoreError::corrupt(format!("an event of task {}", append.task), &error);
    serde_json::to_vec(&append.events).map_err(corrupt)
}

/// Puts a body, or the name of its file, into its envelope.
pub(super) fn envelope(append: &Append, body: &Body<'_>) -> Vec<u8> {
    let (place, rest) = match body {
        Body::Here(json) => (HERE, *json),
        Body::File(hash) => (IN_FILE, hash.as_slice()),
    };
    let mut bytes = Vec::with_capacity(HEADER + rest.len());
    bytes.extend([VERSION, place]);
    bytes.extend(append.time.as_millisecond().to_be_bytes());
    bytes.extend((append.events.len() as u32).to_be_bytes());
    bytes.extend(rest);
    bytes
}

impl Record {
    /// How many events it has.
    pub(super) fn count(&self) -> Result<u64, StoreError> {
        self.parts().map(|(_, count, _)| count)
    }

    /// Where its events are.
    pub(super) fn body(&self) -> Result<Body<'_>, StoreError> {
        self.parts().map(|(_, _, body)| body)
    }

    /// Its events, read from `json`, which is what [`Record::body`] named.
    pub(super) fn events(&self, json: &[u8]) -> Result<Vec<Stored>, StoreError> {
        let (time, count, _) = self.parts()?;
        let events: Vec<Event> = read_json(json, "the events of an append")?;
        if events.len() as u64 != count {
            return Err(self.corrupt("it has another number of events than it says"));
        }
        let first = self.last + 1 - count;
        let number = |(seq, event)| Stored { seq, time, event };
        Ok((first..).zip(events).map(number).collect())
    }

    fn parts(&self) -> Result<(Timestamp, u64, Body<'_>), StoreError> {
        let torn = || self.corrupt("it is too short");
        let (header, rest) = self.bytes.split_first_chunk::<HEADER>().ok_or_else(torn)?;
        let [version, place, time @ .., a, b, c, d] = *header;
        if version != VERSION {
            return Err(self.corrupt(&format!("version {version} is unknown")));
        }
        let time = Timestamp::from_millisecond(i64::from_be_bytes(time));
        let time = time.map_err(|error| self.corrupt(&error))?;
        let count = u64::from(u32::from_be_bytes([a, b, c, d]));
        if count == 0 || count > self.last {
            return Err(self.corrupt("it has another number of events than it says"));
        }
        let body = match place {
            HERE => Body::Here(rest),
            IN_FILE => Body::File(rest.try_into().map_err(|_| torn())?),
            other => return Err(self.corrupt(&format!("place {other} is unknown"))),
        };
        Ok((time, count, body))
    }

    fn corrupt(&self, reason: &(impl Display + ?Sized)) -> StoreError {
        StoreError::corrupt(format!("the append up to event {}", self.last), reason)
    }
}

/// A head as it is written.
pub(super) fn write_head(head: &Head) -> Result<Vec<u8>, StoreError> {
    let mut bytes = vec![VERSION];
    let corrupt = |error| StoreError::corrupt(format!("the head of task {}", head.task), &error);
    serde_json::to_writer(&mut bytes, head).map_err(corrupt)?;
    Ok(bytes)
}

pub(super) fn read_head(bytes: &[u8], task: &str) -> Result<Head, StoreError> {
    let what = || format!("the head of task {task}");
    match bytes.split_first() {
        Some((&VERSION, json)) => read_json(json, &what()),
        Some((version, _)) => {
            let reason = format!("version {version} is unknown");
            Err(StoreError::corrupt(what(), &reason))
        }
        None => Err(StoreError::corrupt(what(), "it is empty")),
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
        let turn = |turn| Event::TurnEnded { turn };
        let append = sample.append(4, 7, vec![turn(1), turn(2)]);
        let json = body(&append).unwrap();
        Record {
            last: append.last(),
            bytes: envelope(&append, &Body::Here(&json)).into(),
        }
    }

    #[test]
    fn a_record_comes_back_with_numbers_and_time() {
        let record = record();
        let Body::Here(json) = record.body().unwrap() else {
            panic!("expected the events themselves");
        };
        let events = record.events(json).unwrap();
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
            (13, 7, "it has another number of events than it says"),
        ] {
            let mut bytes = whole.bytes.to_vec();
            bytes[at] = byte;
            let bytes = bytes.into();
            let error = Record { last: 6, bytes }.body().unwrap_err().to_string();
            assert!(error.contains(reason), "{error}");
        }
        let bytes = whole.bytes[..13].into();
        assert!(Record { last: 6, bytes }.body().is_err());
        assert!(whole.events(b"[]").is_err());
    }
}
