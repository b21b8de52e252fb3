//! How tasks and events are written into rows and read from them.

use jiff::Timestamp;
use sha2::{Digest as _, Sha256};
use tokio_postgres::Row;

use bridge_store::{Event, Head, RecordKey, Seq, StoreError, StoredEvent, caller::Caller};

/// The format of events that this program writes and reads.
pub(super) const FORMAT: i16 = 1;

/// A digest of names, each of any length and content.
pub(super) type Key = Vec<u8>;

fn digest(kind: &str, names: &[&str]) -> Key {
    let mut digest = Sha256::new();
    for name in [kind].iter().chain(names) {
        digest.update((name.len() as u64).to_be_bytes());
        digest.update(name);
    }
    // Half of it: ids of others are as hard to meet as those of tasks are to guess.
    digest.finalize()[..16].to_vec()
}

/// The key of a caller's tasks of an agent.
pub(super) fn list(owner: &Caller, agent: &str) -> Key {
    digest("list", &[&owner.id, agent])
}

pub(super) fn context(context: &str) -> Key {
    digest("context", &[context])
}

pub(super) fn message(owner: &Caller, agent: &str, id: &str) -> Key {
    digest("message", &[&owner.id, agent, id])
}

pub(super) fn client(owner: &Caller, agent: &str, id: &str) -> Key {
    digest("client", &[&owner.id, agent, id])
}

/// The key of a conversation's lease.
pub(super) fn conversation(owner: &Caller, agent: &str, id: &str) -> Key {
    digest("conversation", &[&owner.id, agent, id])
}

/// The key of the records of a kind in one scope.
pub(super) fn scope(owner: &Caller, kind: &str, scope: &str) -> Key {
    digest("scope", &[&owner.id, kind, scope])
}

pub(super) fn record(owner: &Caller, key: &RecordKey) -> (Key, Key) {
    let in_scope = scope(owner, &key.kind, &key.scope);
    (in_scope, digest("id", &[&key.id]))
}

/// A number of an event in a row. There are never so many that it does not fit.
pub(super) fn signed(seq: Seq) -> i64 {
    i64::try_from(seq).unwrap_or(i64::MAX)
}

pub(super) fn unsigned(number: i64) -> Seq {
    Seq::try_from(number).unwrap_or_default()
}

/// Whether a text can be a task's id. The database cannot hold others, so there is no such task.
pub(super) fn is_storable(task: &str) -> bool {
    !task.contains('\0')
}

/// A name that selects rows, without the one character that the database cannot hold.
pub(super) fn name(text: &str) -> std::borrow::Cow<'_, str> {
    match text.contains('\0') {
        false => text.into(),
        true => text.replace('\0', "\u{fffd}").into(),
    }
}

pub(super) fn written<T: serde::Serialize>(what: &str, value: &T) -> Result<Vec<u8>, StoreError> {
    serde_json::to_vec(value).map_err(|error| StoreError::corrupt(what, &error))
}

/// Reads a head from its column.
pub(super) fn head(task: &str, json: &[u8]) -> Result<Head, StoreError> {
    serde_json::from_slice(json).map_err(|error| damaged(task, &error))
}

/// Reads the events of a row with the columns `first`, `time`, `format` and `body`.
pub(super) fn events(
    task: &str,
    row: &Row,
) -> Result<impl Iterator<Item = StoredEvent>, StoreError> {
    let (first, time, format): (i64, i64, i16) = (row.get(0), row.get(1), row.get(2));
    if format != FORMAT {
        let reason = format!("an event has format {format}, this program knows {FORMAT}");
        return Err(damaged(task, &reason));
    }
    let body = serde_json::from_slice::<Vec<Event>>(row.get(3));
    let body = body.map_err(|error| damaged(task, &error))?;
    let time = Timestamp::from_millisecond(time).map_err(|error| damaged(task, &error))?;
    let number = move |(seq, event)| StoredEvent { seq, time, event };
    Ok((unsigned(first)..).zip(body).map(number))
}

pub(super) fn damaged(task: &str, reason: &(impl std::fmt::Display + ?Sized)) -> StoreError {
    StoreError::Damaged {
        task: task.to_owned(),
        reason: reason.to_string(),
    }
}
