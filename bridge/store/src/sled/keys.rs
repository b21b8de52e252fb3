//! What stands in the index: every key, and what its value is.
//!
//! | key | value |
//! |-|-|
//! | `h` task | its [`IndexedTask`] |
//! | `e` (task) last | the place of every 32nd append of a task; `last` is the number of its last event |
//! | `m` hash of (agent) (caller) (message id) | number of the event, task |
//! | `i` hash of (agent) (caller) (client's task id) | task |
//! | `t` (caller) (agent) (state) newest task | nothing: every task, in the order of lists |
//! | `c` (caller) (agent) (context) task | nothing: the tasks of a context, in no order that matters |
//! | `o` (agent) oldest task | nothing: the task waits for its caller, see [`Head::waits`] |
//! | `u` task | nothing: a turn of the task has not ended |
//! | `z` (agent) oldest task | nothing: the task has ended, see [`Head::is_open`] |
//! | `n` (caller) (agent) (state) | how many tasks there are |
//! | `a` (agent) | how many of its tasks are not in a terminal state |
//! | `d` (agent) | how many of its tasks have ended |
//! | `y` (agent) | how many bytes these have in the log |
//! | `w` (agent) | how many bytes its open tasks have in the log |
//! | `x` | how many bytes small records have in the log |
//! | `r` (caller) (kind) (scope) id | the place of a small record |
//!
//! A task whose turn is over before its part is sealed costs it five entries: `h`, `m`, `t`, `c` and `z`.
//!
//! A name in brackets has its length before it, so no name can reach into the next. Numbers in keys are big endian, so
//! their order is the order of the keys; `oldest` is a time, `newest` one turned round. Values are written by postcard,
//! but for counts, which are numbers like those in keys.

use std::sync::Arc;

use jiff::Timestamp;
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use sha2::{Digest as _, Sha256};

use super::{
    log::LogOffset,
    tip::{Tip, TipState},
};
use crate::{Head, RecordKey, Seq, StoreError, caller::Caller, list::ListPosition};

pub(super) type Key = Vec<u8>;

/// The kinds of entries that others must tell apart.
pub(super) const HEAD: u8 = b'h';
pub(super) const MESSAGE: u8 = b'm';
pub(super) const STATE_LIST: u8 = b't';
pub(super) const TURN: u8 = b'u';
pub(super) const RECORD: u8 = b'r';
pub(super) const OPEN: u8 = b'a';
pub(super) const ENDED_COUNT: u8 = b'd';
pub(super) const ENDED_BYTES: u8 = b'y';
pub(super) const OPEN_BYTES: u8 = b'w';
pub(super) const RECORD_BYTES: u8 = b'x';
const CLIENT_TASK: u8 = b'i';
const CONTEXT: u8 = b'c';
const WAITING: u8 = b'o';
const ENDED: u8 = b'z';
const COUNT: u8 = b'n';
const APPEND: u8 = b'e';

/// Room for what mostly follows the names of a key: a time and a task's id.
const TAIL: usize = 8 + 36;

/// The data of a task that is stored in the index.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct IndexedTask {
    /// Where its newest append is.
    pub(super) offset: LogOffset,
    /// How many bytes all of its appends have in the log.
    pub(super) bytes: u64,
    /// Since when it has its state, in milliseconds.
    pub(super) millis: i64,
    pub(super) owner: String,
    pub(super) agent: String,
    pub(super) state: String,
}

impl IndexedTask {
    /// What is known of a task whose newest append cannot be read.
    pub(super) fn broken_tip(self, task: &str) -> Tip {
        let head = Head {
            task: task.to_owned(),
            owner: Caller::new(self.owner),
            agent: self.agent,
            context_id: String::new(),
            client_id: None,
            seq: 0,
            state: self.state.as_str().into(),
            status_time: Timestamp::from_millisecond(self.millis).unwrap_or_default(),
            last_turn: 0,
            turns: Vec::new(),
            traceparent: None,
        };
        Tip {
            head: Arc::new(head),
            offset: self.offset,
            number: 0,
            bytes: self.bytes,
            state: TipState::Broken,
        }
    }

    pub(super) fn of(tip: &Tip) -> Self {
        let head = &tip.head;
        Self {
            offset: tip.offset,
            bytes: tip.bytes,
            millis: head.status_time.as_millisecond(),
            owner: head.owner.id.clone(),
            agent: head.agent.clone(),
            state: head.state.as_str().into(),
        }
    }
}

/// A value as it is written; nothing that stands in the index fails to be.
pub(super) fn write(value: &impl Serialize) -> Vec<u8> {
    postcard::to_allocvec(value).unwrap_or_default()
}

/// A value as it was written.
pub(super) fn read<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, StoreError> {
    postcard::from_bytes(bytes).map_err(|error| StoreError::corrupt("the index", &error))
}

/// A count as it was written; nothing is counted yet if there is none.
pub(super) fn count(bytes: Option<&[u8]>) -> i64 {
    let number = bytes.and_then(|bytes| bytes.try_into().ok());
    number.map_or(0, i64::from_be_bytes)
}

/// Whether the entry is only looked for by its whole key, so that the order does not matter.
pub(super) fn is_single(key: &[u8]) -> bool {
    matches!(key.first(), Some(&(MESSAGE | CLIENT_TASK)))
}

/// What filters have of a key: all of it, or the names of its list; `None` if it has not all of these.
pub(super) fn filtered(key: &[u8]) -> Option<&[u8]> {
    let names = match *key.first()? {
        TURN | OPEN | ENDED_COUNT | ENDED_BYTES | OPEN_BYTES | RECORD_BYTES => 0,
        WAITING | ENDED | APPEND => 1,
        COUNT => 2,
        STATE_LIST | CONTEXT | RECORD => 3,
        _ => return Some(key),
    };
    let mut length = 1;
    for _ in 0..names {
        let name = key.get(length..)?.first_chunk()?;
        length += 4 + u32::from_be_bytes(*name) as usize;
    }
    key.get(..length)
}

/// The end of a list's key, behind the names: the id of a task, or a time and that id.
fn tail(key: &[u8]) -> Option<&[u8]> {
    key.get(filtered(key)?.len()..)
}

/// The order of a list by the times of its tasks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Order {
    NewestFirst,
    OldestFirst,
}

/// The order of the list of a key; `None` if the list is in no order by time.
fn order(key: &[u8]) -> Option<Order> {
    match *key.first()? {
        STATE_LIST => Some(Order::NewestFirst),
        WAITING | ENDED => Some(Order::OldestFirst),
        _ => None,
    }
}

/// The order of the list that begins with this prefix; `None` also if several lists do.
pub(super) fn order_of_list(prefix: &[u8]) -> Option<Order> {
    order(prefix).filter(|_| filtered(prefix) == Some(prefix))
}

/// The time in a key of a list that is in an order by time, in milliseconds.
pub(super) fn time(key: &[u8]) -> Option<i64> {
    let order = order(key)?;
    let number = u64::from_be_bytes(*tail(key)?.first_chunk()?);
    Some(match order {
        Order::NewestFirst => turned(number),
        Order::OldestFirst => turned(!number),
    })
}

/// A key that comes before all keys of this time in a list, and behind all keys that are before these.
pub(super) fn start_of_time(list: &[u8], order: Order, millis: i64) -> Key {
    let task = String::new();
    match order {
        Order::NewestFirst => in_state_list(list.to_vec(), &ListPosition { millis, task }),
        Order::OldestFirst => in_order(list.to_vec(), &ListPosition { millis, task }),
    }
}

/// The text behind the names in the key of a list: a task, or the id of a small record.
pub(super) fn last(key: &[u8]) -> Result<String, StoreError> {
    let behind = match *key.first().unwrap_or(&0) {
        STATE_LIST | WAITING | ENDED => 8,
        _ => 0,
    };
    let text = tail(key).and_then(|tail| str::from_utf8(tail.get(behind..)?).ok());
    text.map(str::to_owned).ok_or_else(broken)
}

/// The agent whose tasks are counted.
pub(super) fn agent(key: &[u8]) -> Result<String, StoreError> {
    let name = key.get(5..).and_then(|name| str::from_utf8(name).ok());
    name.map(str::to_owned).ok_or_else(broken)
}

pub(super) fn head(task: &str) -> Key {
    [&[HEAD], task.as_bytes()].concat()
}

/// The appends of a task that can be found by number begin with this.
pub(super) fn appends(task: &str) -> Key {
    named(APPEND, &[task])
}

pub(super) fn append(task: &str, last: Seq) -> Key {
    let mut key = appends(task);
    key.extend(last.to_be_bytes());
    key
}

pub(super) fn message(caller: &Caller, agent: &str, id: &str) -> Key {
    hashed(MESSAGE, &[agent, &caller.id, id])
}

pub(super) fn client_task(caller: &Caller, agent: &str, id: &str) -> Key {
    hashed(CLIENT_TASK, &[agent, &caller.id, id])
}

/// How many tasks there are in each state: what the counts begin with.
pub(super) fn states(caller: &Caller, agent: &str) -> Key {
    named(COUNT, &[&caller.id, agent])
}

/// How many tasks there are of one state.
pub(super) fn state(caller: &Caller, agent: &str, state: &str) -> Key {
    named(COUNT, &[&caller.id, agent, state])
}

/// What counts the task, and by how much.
pub(super) fn counts(tip: &Tip) -> Vec<(Key, i64)> {
    let (head, bytes) = (&tip.head, tip.bytes.cast_signed());
    let mut counts = vec![(state(&head.owner, &head.agent, head.state.as_str()), 1)];
    let mut add = |kind, more| counts.push((named(kind, &[&head.agent]), more));
    if !head.state.is_terminal() {
        add(OPEN, 1);
    }
    match head.is_open() {
        true => add(OPEN_BYTES, bytes),
        false => {
            add(ENDED_COUNT, 1);
            add(ENDED_BYTES, bytes);
        }
    }
    counts
}

/// The prefix of the list of a caller's tasks in one state.
pub(super) fn state_list(caller: &Caller, agent: &str, state: &str) -> Key {
    named(STATE_LIST, &[&caller.id, agent, state])
}

/// The prefix of the state list for a key that counts the tasks of that state.
pub(super) fn state_list_of(state: &Key) -> Key {
    [&[STATE_LIST], &state[1..]].concat()
}

/// The tasks of a context begin with this.
pub(super) fn context(caller: &Caller, agent: &str, context: &str) -> Key {
    named(CONTEXT, &[&caller.id, agent, context])
}

/// Where its context has the task.
pub(super) fn in_context(head: &Head) -> Key {
    let mut key = context(&head.owner, &head.agent, &head.context_id);
    key.extend(head.task.as_bytes());
    key
}

/// The tasks of an agent that wait begin with this.
pub(super) fn waiting(agent: &str) -> Key {
    named(WAITING, &[agent])
}

/// The tasks of an agent that have ended begin with this.
pub(super) fn ended(agent: &str) -> Key {
    named(ENDED, &[agent])
}

/// Every list in which the task stands.
pub(super) fn places(tip: &Tip) -> Vec<Key> {
    let head = &*tip.head;
    let position = ListPosition::of(head);
    let list = state_list(&head.owner, &head.agent, head.state.as_str());
    let mut places = vec![in_state_list(list, &position), in_context(head)];
    if head.waits() {
        places.push(in_order(waiting(&head.agent), &position));
    }
    if !head.is_open() {
        places.push(in_order(ended(&head.agent), &position));
    }
    if !head.turns.is_empty() {
        places.push(turn(&head.task));
    }
    places
}

/// The key of a position in a state list.
pub(super) fn in_state_list(mut list: Key, position: &ListPosition) -> Key {
    list.extend(newest_first(position.millis).to_be_bytes());
    list.extend(position.task.as_bytes());
    list
}

/// A place in a list that begins with the oldest.
pub(super) fn in_order(mut list: Key, position: &ListPosition) -> Key {
    list.extend((!newest_first(position.millis)).to_be_bytes());
    list.extend(position.task.as_bytes());
    list
}

pub(super) fn turn(task: &str) -> Key {
    [&[TURN], task.as_bytes()].concat()
}

pub(super) fn record(caller: &Caller, key: &RecordKey) -> Key {
    let mut start = records(caller, &key.kind, &key.scope);
    start.extend(key.id.as_bytes());
    start
}

/// The owner's id and the names in a record's key.
pub(super) fn record_names(key: &[u8]) -> Result<(String, RecordKey), StoreError> {
    let mut rest = key.get(1..).unwrap_or_default();
    let mut names = [const { String::new() }; 3];
    for name in &mut names {
        let (length, behind) = rest.split_first_chunk().ok_or_else(broken)?;
        let length = u32::from_be_bytes(*length) as usize;
        let (text, behind) = behind.split_at_checked(length).ok_or_else(broken)?;
        *name = str::from_utf8(text).map_err(|_| broken())?.to_owned();
        rest = behind;
    }
    let [owner, kind, scope] = names;
    let id = str::from_utf8(rest).map_err(|_| broken())?.to_owned();
    Ok((owner, RecordKey { kind, scope, id }))
}

pub(super) fn records(caller: &Caller, kind: &str, scope: &str) -> Key {
    named(RECORD, &[&caller.id, kind, scope])
}

/// The position that a key of a state list stands for.
pub(super) fn position(key: &[u8]) -> Result<ListPosition, StoreError> {
    let (millis, task) = (time(key).ok_or_else(broken)?, last(key)?);
    Ok(ListPosition { millis, task })
}

/// Later times are smaller numbers; the sign bit is turned so that negative times come last.
fn newest_first(millis: i64) -> u64 {
    !(millis.cast_unsigned() ^ (1 << 63))
}

fn turned(number: u64) -> i64 {
    (!number ^ (1 << 63)).cast_signed()
}

fn named(kind: u8, names: &[&str]) -> Key {
    let length: usize = names.iter().map(|name| 4 + name.len()).sum();
    let mut key = Key::with_capacity(1 + length + TAIL);
    key.push(kind);
    for name in names {
        key.extend((name.len() as u32).to_be_bytes());
        key.extend(name.as_bytes());
    }
    key
}

/// Clients choose these ids, of any length; as a hash they make keys of one length.
fn hashed(kind: u8, names: &[&str]) -> Key {
    let mut key = vec![kind];
    key.extend(Sha256::digest(named(kind, names)));
    key
}

fn broken() -> StoreError {
    StoreError::corrupt("the index", "a key is broken")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn position(millis: i64, task: &str) -> ListPosition {
        ListPosition {
            millis,
            task: task.into(),
        }
    }

    #[test]
    fn the_order_of_keys_is_the_order_of_lists() {
        let ordered = [
            position(i64::MAX, "a"),
            position(7, "a"),
            position(7, "b"),
            position(0, ""),
            position(-1, "z"),
            position(i64::MIN, "a"),
        ];
        let list = state_list(&Caller::new("a"), "b", "s");
        let keys = ordered.clone().map(|one| in_state_list(list.clone(), &one));
        assert!(ordered.is_sorted() && keys.is_sorted());
        for (key, one) in keys.iter().zip(&ordered) {
            assert_eq!(super::position(key).as_ref().unwrap(), one);
        }
        let times = ordered.map(|one| in_order(waiting("b"), &position(one.millis, "")));
        assert!(times.iter().rev().is_sorted());
        for list in [list, waiting("b"), ended("b")] {
            let order = order_of_list(&list).unwrap();
            for millis in [i64::MIN, -1, 0, 7, i64::MAX] {
                assert_eq!(time(&start_of_time(&list, order, millis)), Some(millis));
            }
            assert_eq!(order_of_list(&list[..1]), None);
        }
    }

    #[test]
    fn a_record_is_told_by_its_key() {
        let key = RecordKey {
            kind: "push".to_owned(),
            scope: "t".to_owned(),
            id: "a".to_owned(),
        };
        let found = record_names(&record(&Caller::new("me"), &key)).unwrap();
        assert_eq!(found, ("me".to_owned(), key));
        assert!(record_names(&[RECORD, 0, 0, 0, 9]).is_err());
    }

    #[test]
    fn names_do_not_reach_into_each_other() {
        let caller = Caller::new("a");
        assert!(!states(&caller, "bc").starts_with(&states(&caller, "b")));
        assert!(!state_list(&caller, "bc", "s").starts_with(&state_list(&caller, "b", "c")));
        let (one, other) = (("ab", "c"), ("a", "bc"));
        let key = |(agent, id)| message(&caller, agent, id);
        assert_ne!(key(one), key(other));
    }

    #[test]
    fn what_is_asked_for_is_the_key_or_the_names_of_its_list() {
        let caller = Caller::new("a");
        let list = state_list(&caller, "b", "s");
        let place = in_state_list(list.clone(), &position(-7, "t"));
        assert_eq!((filtered(&place), time(&place)), (Some(&*list), Some(-7)));
        assert_eq!(
            (filtered(&list), filtered(&[STATE_LIST])),
            (Some(&*list), None)
        );
        let appends = appends("t");
        assert_eq!(filtered(&append("t", 9)), Some(&*appends));
        let head = head("t");
        assert_eq!(filtered(&head), Some(&*head));
        let waits = in_order(waiting("b"), &position(7, "t"));
        assert_eq!(
            (filtered(&waits), last(&waits).unwrap().as_str()),
            (Some(&*waiting("b")), "t")
        );
        assert_eq!(filtered(&turn("t")), Some(&[TURN][..]));
        assert_eq!(agent(&named(OPEN, &["b"])).unwrap(), "b");
    }
}
