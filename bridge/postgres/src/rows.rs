//! Converts tasks and events to rows and back.

use jiff::Timestamp;
use sha2::{Digest as _, Sha256};
use tokio_postgres::Row;

use bridge_store::{
    Conversation, Event, Head, RecordKey, Result, Seq, StoreError, StoredEvent, caller::Caller,
};

/// The format version of events that this program writes and reads.
pub(super) const FORMAT: i16 = 1;

/// A digest of names of any length and content.
pub(super) type Key = Vec<u8>;

fn digest(kind: &str, names: &[&str]) -> Key {
    let mut digest = Sha256::new();
    for name in [kind].iter().chain(names) {
        digest.update((name.len() as u64).to_be_bytes());
        digest.update(name);
    }
    // Half of the digest suffices: a collision is as improbable as a guessed task id.
    digest.finalize()[..16].to_vec()
}

/// Returns the key of the list of a caller's tasks at an agent.
pub(super) fn list_key(owner: &Caller, agent: &str) -> Key {
    digest("list", &[&owner.id, agent])
}

pub(super) fn context_key(context: &str) -> Key {
    digest("context", &[context])
}

pub(super) fn message_key(owner: &Caller, agent: &str, id: &str) -> Key {
    digest("message", &[&owner.id, agent, id])
}

pub(super) fn client_key(owner: &Caller, agent: &str, id: &str) -> Key {
    digest("client", &[&owner.id, agent, id])
}

/// Returns the key of a conversation's lease.
pub(super) fn conversation_key(Conversation { agent, caller, id }: Conversation<'_>) -> Key {
    digest("conversation", &[&caller.id, agent, id])
}

/// Returns the key of the records of a kind in one scope.
pub(super) fn scope_key(owner: &Caller, kind: &str, scope: &str) -> Key {
    digest("scope", &[&owner.id, kind, scope])
}

pub(super) fn record_keys(owner: &Caller, key: &RecordKey) -> (Key, Key) {
    let in_scope = scope_key(owner, &key.kind, &key.scope);
    (in_scope, digest("id", &[&key.id]))
}

/// Converts the number of an event for a row. Real numbers always fit.
pub(super) fn signed(seq: Seq) -> i64 {
    i64::try_from(seq).unwrap_or(i64::MAX)
}

pub(super) fn unsigned(number: i64) -> Seq {
    Seq::try_from(number).unwrap_or_default()
}

/// Returns whether a text can be the id of a task. The database cannot store null characters, so no task has one.
pub(super) fn is_storable(task: &str) -> bool {
    !task.contains('\0')
}

/// Replaces null characters, which the database cannot store, in a name that selects rows.
pub(super) fn storable(text: &str) -> std::borrow::Cow<'_, str> {
    if text.contains('\0') { text.replace('\0', "\u{fffd}").into() } else { text.into() }
}

pub(super) fn to_json<T: serde::Serialize>(what: &str, value: &T) -> Result<Vec<u8>> {
    serde_json::to_vec(value).map_err(|error| StoreError::corrupt(what, &error))
}

/// Reads a head from its column.
pub(super) fn read_head(task: &str, json: &[u8]) -> Result<Head> {
    serde_json::from_slice(json).map_err(|error| damaged(task, &error))
}

/// Reads the events of a row with the columns `first`, `time`, `format` and `body`.
pub(super) fn read_events(task: &str, row: &Row) -> Result<impl Iterator<Item = StoredEvent>> {
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
    StoreError::Damaged { task: task.to_owned(), reason: reason.to_string() }
}
