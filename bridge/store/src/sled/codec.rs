//! Reads and writes the records of the log: a small binary header with JSON.
//!
//! | bytes | an append |
//! |-|-|
//! | 1 | 1 |
//! | 8 | time, milliseconds since 1970 |
//! | 8 | the number of its last event |
//! | 4 | the number of its events |
//! | 4 | the number of the append in its task, from 1 |
//! | 12 | the offset of the previous append of the task; zeros if there is none |
//! | 4 | the length of the head |
//! | | the task's head after the append, JSON |
//! | rest | the events as a JSON list |
//!
//! | bytes | a copy of an append at the end of the log, with another previous offset |
//! |-|-|
//! | 1 | 4; 5 for the last copy of a task, which consists of its copies from then on |
//! | 8 | the size of all appends of the task in the log |
//! | rest | as in an append, without the first byte |
//!
//! | bytes | the deletion of a task |
//! |-|-|
//! | 1 | 6 |
//! | rest | the task's id |
//!
//! | bytes | a small record |
//! |-|-|
//! | 1 | 2 if it is stored, 3 if it is removed |
//! | 4 | the length of the key |
//! | | the record's key in the index |
//! | rest | the record's value |
//!
//! JSON takes a third more bytes than a binary format would, but it keeps all unknown fields of the protocol's objects.

use std::{fmt::Display, sync::Arc};

use bridge_protocol::wire;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::log::{FRAME, LogOffset};
use crate::{Append, Event, Head, Result, Seq, StoreError, StoredEvent};

const APPEND: u8 = 1;
const PUT: u8 = 2;
const REMOVE: u8 = 3;
const COPY: u8 = 4;
const LAST_COPY: u8 = 5;
const DELETE: u8 = 6;

/// The size of the total in a copy, which stands between the first byte and the part that a copy shares with an append.
const TOTAL: usize = 8;

/// The size of an append before its head, without the first byte.
const HEADER: usize = 8 + 8 + 4 + 4 + LogOffset::BYTES + 4;

/// The position of the previous offset in the header.
const PREVIOUS: usize = 8 + 8 + 4 + 4;

/// The initial size of a buffer. Most heads and events fit.
const BUFFER: usize = 1 << 10;

/// The content of a record.
#[derive(Debug)]
pub(super) enum Record<'r> {
    /// Events of a task.
    Append(LoggedAppend<'r>),
    /// A copy of an append.
    Copy {
        append: LoggedAppend<'r>,
        /// The size of all appends of the task in the log.
        bytes: u64,
        /// Whether this is the last copy of the task.
        is_last: bool,
    },
    Deleted {
        task: &'r str,
    },
    /// A small record was stored, or removed (`None`).
    Small {
        key: &'r [u8],
        value: Option<&'r [u8]>,
    },
}

/// An append in the log.
#[derive(Debug)]
pub(super) struct LoggedAppend<'r> {
    /// The number of the last event.
    pub(super) last: Seq,
    /// The number of the append in its task, from 1.
    pub(super) number: u32,
    /// The offset of the previous append of the task.
    pub(super) previous: Option<LogOffset>,
    time: Timestamp,
    count: u64,
    head: &'r [u8],
    events: &'r [u8],
}

pub(super) fn events_json(append: &Append) -> Result<Vec<u8>> {
    write_json(&append.events, || format!("an event of task {}", append.task))
}

pub(super) fn head_json(head: &Head) -> Result<Vec<u8>> {
    write_json(head, || format!("the head of task {}", head.task))
}

/// Writes an append with its number in its task, the offset of the previous one, and its head and its events as JSON.
pub(super) fn write_append(
    to: &mut Vec<u8>,
    append: &Append,
    number: u32,
    previous: Option<LogOffset>,
    head: &[u8],
    events: &[u8],
) {
    let previous = previous.map_or([0; LogOffset::BYTES], LogOffset::to_bytes);
    to.reserve(1 + HEADER + head.len() + events.len());
    to.push(APPEND);
    to.extend(append.time.as_millisecond().to_be_bytes());
    to.extend(append.last().to_be_bytes());
    to.extend((append.events.len() as u32).to_be_bytes());
    to.extend(number.to_be_bytes());
    to.extend(previous);
    to.extend((head.len() as u32).to_be_bytes());
    to.extend(head);
    to.extend(events);
}

/// Writes a copy of the append whose record in the log is `record`.
pub(super) fn write_copy(
    to: &mut Vec<u8>,
    record: &[u8],
    previous: Option<LogOffset>,
    bytes: u64,
    is_last: bool,
) {
    let previous = previous.map_or([0; LogOffset::BYTES], LogOffset::to_bytes);
    let body = body(record);
    let (before, behind) = (&body[..PREVIOUS], &body[PREVIOUS + LogOffset::BYTES..]);
    to.push(if is_last { LAST_COPY } else { COPY });
    to.extend(bytes.to_be_bytes());
    to.extend(before);
    to.extend(previous);
    to.extend(behind);
}

/// Writes a record that stands for a damaged task: a last copy without events, which cannot be read. So the task still
/// exists.
pub(super) fn write_damaged(to: &mut Vec<u8>, head: &[u8]) {
    to.push(LAST_COPY);
    to.extend([0; TOTAL + HEADER - 4]);
    to.extend((head.len() as u32).to_be_bytes());
    to.extend(head);
}

/// Returns the part of a record that appends and copies share.
fn body(record: &[u8]) -> &[u8] {
    match record.first() {
        Some(&(COPY | LAST_COPY)) => &record[1 + TOTAL..],
        _ => &record[1..],
    }
}

/// Returns the size of a copy of this append in the log, with its frame.
pub(super) fn copy_size(record: &[u8]) -> u64 {
    (FRAME + 1 + TOTAL + body(record).len()) as u64
}

pub(super) fn write_deletion(to: &mut Vec<u8>, task: &str) {
    to.push(DELETE);
    to.extend(task.as_bytes());
}

/// Writes a small record, or its removal (`None`).
pub(super) fn write_small(to: &mut Vec<u8>, key: &[u8], value: Option<&[u8]>) {
    to.push(if value.is_some() { PUT } else { REMOVE });
    to.extend((key.len() as u32).to_be_bytes());
    to.extend(key);
    to.extend(value.unwrap_or_default());
}

impl<'r> Record<'r> {
    pub(super) fn read(mut bytes: &'r [u8]) -> Result<Self> {
        let from = &mut bytes;
        match u8::from_be_bytes(take(from)?) {
            APPEND => LoggedAppend::read(from).map(Self::Append),
            kind @ (COPY | LAST_COPY) => Ok(Self::Copy {
                bytes: u64::from_be_bytes(take(from)?),
                append: LoggedAppend::read(from)?,
                is_last: kind == LAST_COPY,
            }),
            DELETE => match str::from_utf8(from) {
                Ok(task) => Ok(Self::Deleted { task }),
                Err(error) => Err(corrupt(&error)),
            },
            kind @ (PUT | REMOVE) => {
                let key = take_counted(from)?;
                let value = (kind == PUT).then_some(*from);
                Ok(Self::Small { key, value })
            }
            kind => Err(corrupt(&format!("kind {kind} is unknown"))),
        }
    }
}

impl<'r> LoggedAppend<'r> {
    /// Reads a record that must be an append.
    pub(super) fn open(bytes: &'r [u8]) -> Result<Self> {
        match Record::read(bytes)? {
            Record::Append(append) | Record::Copy { append, .. } => Ok(append),
            Record::Deleted { .. } | Record::Small { .. } => Err(corrupt("expected an append")),
        }
    }

    fn read(from: &mut &'r [u8]) -> Result<Self> {
        let time = Timestamp::from_millisecond(i64::from_be_bytes(take(from)?));
        let last = u64::from_be_bytes(take(from)?);
        let count = u32::from_be_bytes(take(from)?);
        if count == 0 || u64::from(count) > last {
            return Err(corrupt("it has another number of events than it says"));
        }
        let number = u32::from_be_bytes(take(from)?);
        let previous = LogOffset::from_bytes(take(from)?);
        Ok(Self {
            last,
            number,
            previous: Some(previous).filter(|place| place.length > 0),
            time: time.map_err(|error| corrupt(&error))?,
            count: count.into(),
            head: take_counted(from)?,
            events: from,
        })
    }

    /// Returns the number of the first event.
    pub(super) fn first(&self) -> Seq {
        self.last + 1 - self.count
    }

    /// Returns the head of the task after the append.
    pub(super) fn head(&self) -> Result<Head> {
        read_json(self.head, "the head of a task")
    }

    /// Returns the ids of the caller's messages, with the numbers of their events. Nothing else of the events is read.
    pub(super) fn message_ids(&self) -> Result<Vec<(String, Seq)>> {
        #[derive(Deserialize)]
        struct Light {
            message: Option<Named>,
        }
        #[derive(Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct Named {
            message_id: String,
        }
        // Most appends have no messages, which this finds out without parsing. JSON in the log has no spaces.
        if str::from_utf8(self.events).is_ok_and(|events| !events.contains("{\"message\":{")) {
            return Ok(Vec::new());
        }
        let events: Vec<Light> = read_json(self.events, "the events of an append")?;
        let named = |(seq, light): (Seq, Light)| Some((light.message?.message_id, seq));
        Ok((self.first()..).zip(events).filter_map(named).collect())
    }

    pub(super) fn events(&self) -> Result<Vec<StoredEvent>> {
        let time = self.time;
        let events: Vec<Event> = read_json(self.events, "the events of an append")?;
        if events.len() as u64 != self.count {
            return Err(corrupt("it has another number of events than it says"));
        }
        let number = |(seq, event)| StoredEvent { seq, time, event };
        Ok((self.first()..).zip(events).map(number).collect())
    }
}

/// Guesses the task of a damaged append, and its head if it can still be read. The result may be wrong.
pub(super) fn guess_task(record: &[u8]) -> Option<(Arc<str>, Option<Head>)> {
    let body = match record.split_first()? {
        (&APPEND, body) => body,
        (&LAST_COPY, body) => body.get(TOTAL..)?,
        _ => return None,
    };
    let (header, rest) = body.split_at_checked(HEADER)?;
    let length = u32::from_be_bytes(*header.last_chunk()?) as usize;
    if let Some(Ok(head)) = rest.get(..length).map(serde_json::from_slice::<Head>) {
        return Some((head.task.clone(), Some(head)));
    }
    let id = rest.strip_prefix(b"{\"task\":\"")?;
    let end = id.iter().position(|byte| *byte == b'"')?;
    Some((str::from_utf8(&id[..end]).ok()?.into(), None))
}

/// Returns the value of a small record.
pub(super) fn small_value(bytes: &[u8]) -> Result<Vec<u8>> {
    match Record::read(bytes)? {
        Record::Small { value: Some(value), .. } => Ok(value.to_vec()),
        Record::Small { value: None, .. }
        | Record::Append(_)
        | Record::Copy { .. }
        | Record::Deleted { .. } => Err(corrupt("expected a small record")),
    }
}

/// Takes the next `N` bytes.
fn take<const N: usize>(from: &mut &[u8]) -> Result<[u8; N]> {
    let (taken, rest) = from.split_first_chunk().ok_or_else(|| corrupt("it is too short"))?;
    *from = rest;
    Ok(*taken)
}

/// Takes the next bytes, whose number is before them.
fn take_counted<'r>(from: &mut &'r [u8]) -> Result<&'r [u8]> {
    let length = u32::from_be_bytes(take(from)?) as usize;
    let taken = from.split_at_checked(length).ok_or_else(|| corrupt("it is too short"))?;
    *from = taken.1;
    Ok(taken.0)
}

fn corrupt(reason: &(impl Display + ?Sized)) -> StoreError {
    StoreError::corrupt("a record of the log", reason)
}

fn write_json(value: &impl Serialize, what: impl FnOnce() -> String) -> Result<Vec<u8>> {
    let mut json = Vec::with_capacity(BUFFER);
    let written = wire::write_json(&mut json, value);
    written.map_err(|error| StoreError::corrupt(what(), &error))?;
    Ok(json)
}

fn read_json<'r, T: Deserialize<'r>>(json: &'r [u8], what: &str) -> Result<T> {
    serde_json::from_slice(json).map_err(|error| StoreError::corrupt(what, &error))
}

#[cfg(test)]
mod tests {
    use bridge_protocol::a2a::{Message, Metadata, Part, Role};
    use serde_json::json;

    use super::*;
    use crate::testing::Sample;

    fn record() -> Vec<u8> {
        let turn = |turn| Event::TurnEnded { turn };
        record_of(vec![turn(1), turn(2)])
    }

    fn record_of(events: Vec<Event>) -> Vec<u8> {
        let sample = Sample::new("t");
        let created = sample.append(0, 7, vec![sample.created()]);
        let mut head = Head::after(None, &sample.caller, &created).unwrap();
        head.seq = 6;
        let append = sample.append(4, 7, events);
        let previous = Some(LogOffset { at: 16, length: 9 });
        let (head, events) = (head_json(&head).unwrap(), events_json(&append).unwrap());
        let mut bytes = Vec::new();
        write_append(&mut bytes, &append, 3, previous, &head, &events);
        bytes
    }

    #[test]
    fn an_append_is_read_back_with_head_numbers_and_time() {
        let bytes = record();
        let append = LoggedAppend::open(&bytes).unwrap();
        assert_eq!(append.head().unwrap().seq, 6);
        assert_eq!((append.first(), append.last, append.number), (5, 6, 3));
        assert_eq!(append.previous, Some(LogOffset { at: 16, length: 9 }));
        let events = append.events().unwrap();
        let numbers: Vec<Seq> = events.iter().map(|stored| stored.seq).collect();
        assert_eq!(numbers, [5, 6]);
        assert_eq!(events[1].time.as_millisecond(), 7);
    }

    #[test]
    fn only_ids_of_messages_are_found() {
        let message = |text: &str| Message::new("id", Role::User, vec![Part::text(text)]);
        let text = r#"{"message":{"messageId":"of a text"}}"#;
        let ids = |events| LoggedAppend::open(&record_of(events)).and_then(|one| one.message_ids());
        let said = || Event::Said(message(text));
        assert_eq!(ids(vec![said()]).unwrap(), []);
        let events = vec![said(), Event::Message(message(text))];
        assert_eq!(ids(events).unwrap(), [("id".to_owned(), 6)]);
        let mut metadata = Metadata::new();
        let inner = json!({ "message": { "messageId": "of metadata" } });
        metadata.insert("list".to_owned(), json!([inner]));
        let revised = None;
        assert_eq!(ids(vec![Event::Metadata { metadata, revised }]).unwrap(), []);
    }

    #[test]
    fn the_error_for_an_invalid_record_has_the_reason() {
        let whole = record();
        for (at, byte, reason) in [
            (0, 9, "kind 9 is unknown"),
            (0, 2, "expected an append"),
            (1, 0x7f, "parameter"),
            (20, 0, "it has another number of events than it says"),
            (20, 1, "it has another number of events than it says"),
            (20, 7, "it has another number of events than it says"),
            (38, 7, "it is too short"),
        ] {
            let mut bytes = whole.clone();
            bytes[at] = byte;
            let error = LoggedAppend::open(&bytes).and_then(|append| append.events());
            let error = error.unwrap_err().to_string();
            assert!(error.contains(reason), "{at}: {error}");
        }
        assert!(LoggedAppend::open(&whole[..30]).is_err());
        assert!(Record::read(&[]).is_err());
    }

    #[test]
    fn the_task_of_a_damaged_append_is_guessed() {
        let whole = record();
        let (task, head) = guess_task(&whole).unwrap();
        assert_eq!((&*task, head.map(|head| head.seq)), ("t", Some(6)));
        let mut torn = whole.clone();
        torn[41] = 0;
        assert_eq!(guess_task(&torn), None);
        let cut = &whole[..1 + HEADER + 20];
        assert_eq!(guess_task(cut), Some(("t".into(), None)));
        for end in 0..whole.len() {
            guess_task(&whole[..end]);
        }
    }

    #[test]
    fn small_records_are_read_back() {
        let mut bytes = Vec::new();
        write_small(&mut bytes, b"key", Some(b"value"));
        assert_eq!(small_value(&bytes).unwrap(), b"value");
        let (mut removed, gone) = (Vec::new(), None);
        write_small(&mut removed, b"key", gone);
        let read = Record::read(&removed).unwrap();
        assert!(matches!(read, Record::Small { key: b"key", value: None }));
        assert!(small_value(&removed).is_err() && small_value(&record()).is_err());
    }
}
