//! The keys and values of the index.
//!
//! | key | value |
//! |-|-|
//! | `h` task | its [`IndexedTask`] |
//! | `e` (task) last | the offset of every 32nd append of a task; `last` is the number of its last event |
//! | `m` hash of (agent) (caller) (message id) | number of the event, task |
//! | `i` hash of (agent) (caller) (client's task id) | task |
//! | `t` (caller) (agent) (state) newest task | empty: all tasks, in the order of lists |
//! | `c` (caller) (agent) (context) (state) newest task | empty: the tasks of a context, in the order of lists |
//! | `o` (agent) oldest task | empty: the tasks that wait for their callers, see [`Head::waits`] |
//! | `u` task | empty: the tasks with open turns |
//! | `z` (agent) oldest task | empty: the ended tasks, see [`Head::is_open`] |
//! | `n` (caller) (agent) (state) | the number of tasks |
//! | `k` (caller) (agent) (context) (state) | the number of tasks of a context |
//! | `a` (agent) | the number of its tasks that are not in a terminal state |
//! | `d` (agent) | the number of its ended tasks |
//! | `y` (agent) | the size of its ended tasks in the log |
//! | `w` (agent) | the size of its open tasks in the log |
//! | `x` | the size of small records in the log |
//! | `r` (caller) (kind) (scope) id | the offset of a small record |
//!
//! A task that ends before its layer is sealed has five entries, `h`, `m`, `t`, `c` and `z`, and each context `k`.
//!
//! A name in parentheses is preceded by its length, so names cannot run into each other. Numbers in keys are big endian, so
//! keys are in the order of the numbers; `oldest` is a time, and `newest` is the complement of a time. Values are written
//! by postcard, except for counts, which are numbers like those in keys.

use std::sync::Arc;

use jiff::Timestamp;
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use sha2::{Digest as _, Sha256};

use super::{
    latest_append::{DataState, LatestAppend},
    log::LogOffset,
};
use crate::{Head, Idle, ListPosition, RecordKey, Result, Seq, StoreError, caller::Caller};

pub(super) type Key = Vec<u8>;

/// The kinds of entries, which are the first bytes of keys.
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
pub(super) const CONTEXT: u8 = b'c';
const WAITING: u8 = b'o';
const ENDED: u8 = b'z';
const COUNT: u8 = b'n';
const CONTEXT_COUNT: u8 = b'k';
const APPEND: u8 = b'e';

/// The usual size of the rest of a key after the names: a time and the id of a task.
const USUAL_TAIL: usize = 8 + 36;

/// The data of a task that is stored in the index.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct IndexedTask {
    /// The offset of the latest append.
    pub(super) offset: LogOffset,
    /// The size of all appends in the log.
    pub(super) bytes: u64,
    /// The time of the status, in milliseconds.
    pub(super) millis: i64,
    pub(super) owner: Arc<str>,
    pub(super) agent: Arc<str>,
    pub(super) context_id: Arc<str>,
    pub(super) state: String,
}

impl IndexedTask {
    /// Returns the known data of a task whose latest append cannot be read.
    pub(super) fn damaged_append(self, task: &str) -> LatestAppend {
        let head = Head {
            task: task.into(),
            owner: Caller::new(self.owner),
            agent: self.agent,
            context_id: self.context_id,
            client_id: None,
            seq: 0,
            state: self.state.as_str().into(),
            status_time: Timestamp::from_millisecond(self.millis).unwrap_or_default(),
            last_turn: 0,
            turns: Vec::new(),
            traceparent: None,
        };
        LatestAppend {
            head: Arc::new(head),
            offset: self.offset,
            number: 0,
            bytes: self.bytes,
            state: DataState::Damaged,
        }
    }

    pub(super) fn of(latest: &LatestAppend) -> Self {
        let head = &latest.head;
        Self {
            offset: latest.offset,
            bytes: latest.bytes,
            millis: head.status_time.as_millisecond(),
            owner: head.owner.id.clone(),
            agent: head.agent.clone(),
            context_id: head.context_id.clone(),
            state: head.state.as_str().into(),
        }
    }
}

/// Serializes a value. This cannot fail for the values of the index.
pub(super) fn write(value: &impl Serialize) -> Vec<u8> {
    postcard::to_allocvec(value).unwrap_or_default()
}

pub(super) fn read<T: DeserializeOwned>(bytes: &[u8]) -> Result<T> {
    postcard::from_bytes(bytes).map_err(|error| StoreError::corrupt("the index", &error))
}

/// Deserializes a count; it is zero if there is no entry.
pub(super) fn count(bytes: Option<&[u8]>) -> i64 {
    let number = bytes.and_then(|bytes| bytes.try_into().ok());
    number.map_or(0, i64::from_be_bytes)
}

/// Returns whether the entry is only looked up by its whole key, so that the order does not matter.
pub(super) fn is_single(key: &[u8]) -> bool {
    matches!(key.first(), Some(&(MESSAGE | CLIENT_TASK)))
}

/// Returns the part of a key that is added to filters: the whole key, or the prefix of its list. Returns `None` for an
/// incomplete prefix.
pub(super) fn filter_key(key: &[u8]) -> Option<&[u8]> {
    let names = match *key.first()? {
        TURN | OPEN | ENDED_COUNT | ENDED_BYTES | OPEN_BYTES | RECORD_BYTES => 0,
        WAITING | ENDED | APPEND => 1,
        COUNT => 2,
        STATE_LIST | CONTEXT_COUNT | RECORD => 3,
        CONTEXT => 4,
        _ => return Some(key),
    };
    let mut length = 1;
    for _ in 0..names {
        let name = key.get(length..)?.first_chunk()?;
        length += 4 + u32::from_be_bytes(*name) as usize;
    }
    key.get(..length)
}

/// Returns the rest of a list's key after the prefix: the id of a task, or a time and the id.
fn tail(key: &[u8]) -> Option<&[u8]> {
    key.get(filter_key(key)?.len()..)
}

/// The order of a list by the times of its tasks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Order {
    NewestFirst,
    OldestFirst,
}

/// Returns the order of the list of a key; `None` if the list is not ordered by time.
fn order(key: &[u8]) -> Option<Order> {
    match *key.first()? {
        STATE_LIST | CONTEXT => Some(Order::NewestFirst),
        WAITING | ENDED => Some(Order::OldestFirst),
        _ => None,
    }
}

/// Returns the order of the list with this prefix; `None` also if the prefix is that of several lists.
pub(super) fn order_of_list(prefix: &[u8]) -> Option<Order> {
    order(prefix).filter(|_| filter_key(prefix) == Some(prefix))
}

/// Returns the time in a key of a list that is ordered by time, in milliseconds.
pub(super) fn time(key: &[u8]) -> Option<i64> {
    let order = order(key)?;
    let number = u64::from_be_bytes(*tail(key)?.first_chunk()?);
    Some(match order {
        Order::NewestFirst => time_of(number),
        Order::OldestFirst => time_of(!number),
    })
}

/// Returns the smallest possible key of this time in a list.
pub(super) fn start_of_time(list: &[u8], order: Order, millis: i64) -> Key {
    ordered_key(list.to_vec(), order, &ListPosition { millis, task: String::new() })
}

/// Returns the text at the end of a list's key: the id of a task or of a small record.
pub(super) fn last_name(key: &[u8]) -> Result<String> {
    let behind = match *key.first().unwrap_or(&0) {
        STATE_LIST | CONTEXT | WAITING | ENDED => 8,
        _ => 0,
    };
    let text = tail(key).and_then(|tail| str::from_utf8(tail.get(behind..)?).ok());
    text.map(str::to_owned).ok_or_else(corrupt)
}

/// Returns the agent in the key of a count.
pub(super) fn agent(key: &[u8]) -> Result<String> {
    let name = key.get(5..).and_then(|name| str::from_utf8(name).ok());
    name.map(str::to_owned).ok_or_else(corrupt)
}

pub(super) fn head(task: &str) -> Key {
    [&[HEAD], task.as_bytes()].concat()
}

/// Returns the prefix of the offsets of a task's appends.
pub(super) fn appends(task: &str) -> Key {
    prefix(APPEND, &[task])
}

pub(super) fn append(task: &str, last: Seq) -> Key {
    let mut key = appends(task);
    key.extend(last.to_be_bytes());
    key
}

pub(super) fn message(caller: &Caller, agent: &str, id: &str) -> Key {
    hashed_key(MESSAGE, &[agent, &caller.id, id])
}

pub(super) fn client_task(caller: &Caller, agent: &str, id: &str) -> Key {
    hashed_key(CLIENT_TASK, &[agent, &caller.id, id])
}

/// Returns the key of the count of a caller's tasks in one state, or the prefix of those of all states; in one context or in
/// all.
pub(super) fn states(
    caller: &Caller,
    agent: &str,
    context: Option<&str>,
    state: Option<&str>,
) -> Key {
    let kind = context.map_or(COUNT, |_| CONTEXT_COUNT);
    let names = [&*caller.id, agent].into_iter();
    prefix(kind, &Vec::from_iter(names.chain(context).chain(state)))
}

/// Returns the counts that include the task, and its contribution to each.
pub(super) fn counts(latest: &LatestAppend) -> Vec<(Key, i64)> {
    let (head, bytes) = (&latest.head, latest.bytes.cast_signed());
    let state = Some(head.state.as_str());
    let in_state = |context| states(&head.owner, &head.agent, context, state);
    let mut counts = vec![(in_state(None), 1), (in_state(Some(&head.context_id)), 1)];
    let mut add = |kind, more| counts.push((prefix(kind, &[&head.agent]), more));
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

/// Returns the prefix of the list of the tasks that this key of a count counts.
pub(super) fn counted_list(count: &Key) -> Key {
    let list = match count.first() {
        Some(&CONTEXT_COUNT) => CONTEXT,
        Some(_) | None => STATE_LIST,
    };
    [&[list], &count[1..]].concat()
}

/// Returns the prefix of an agent's idle tasks of a kind.
pub(super) fn idle(kind: Idle, agent: &str) -> Key {
    let list = match kind {
        Idle::Waiting => WAITING,
        Idle::Ended => ENDED,
    };
    prefix(list, &[agent])
}

/// Returns the keys of a task in all lists.
pub(super) fn list_keys(latest: &LatestAppend) -> Vec<Key> {
    let head = &*latest.head;
    let position = ListPosition::of(head);
    let in_state = |context| {
        let count = states(&head.owner, &head.agent, context, Some(head.state.as_str()));
        ordered_key(counted_list(&count), Order::NewestFirst, &position)
    };
    let mut list_keys = vec![in_state(None), in_state(Some(&head.context_id))];
    let kinds = [Idle::Waiting, Idle::Ended].into_iter().filter(|kind| kind.has(head));
    let key = |kind| ordered_key(idle(kind, &head.agent), Order::OldestFirst, &position);
    list_keys.extend(kinds.map(key));
    if !head.turns.is_empty() {
        list_keys.push(turn(&head.task));
    }
    list_keys
}

pub(super) fn ordered_key(mut list: Key, order: Order, position: &ListPosition) -> Key {
    let newest_first = newest_first(position.millis);
    let time = match order {
        Order::NewestFirst => newest_first,
        Order::OldestFirst => !newest_first,
    };
    list.extend(time.to_be_bytes());
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

/// Parses the key of a small record: the owner's id and the record's key.
pub(super) fn record_names(key: &[u8]) -> Result<(String, RecordKey)> {
    let mut rest = key.get(1..).unwrap_or_default();
    let mut names = [const { String::new() }; 3];
    for name in &mut names {
        let (length, behind) = rest.split_first_chunk().ok_or_else(corrupt)?;
        let length = u32::from_be_bytes(*length) as usize;
        let (text, behind) = behind.split_at_checked(length).ok_or_else(corrupt)?;
        *name = str::from_utf8(text).map_err(|_| corrupt())?.to_owned();
        rest = behind;
    }
    let [owner, kind, scope] = names;
    let id = str::from_utf8(rest).map_err(|_| corrupt())?.to_owned();
    Ok((owner, RecordKey { kind, scope, id }))
}

pub(super) fn records(caller: &Caller, kind: &str, scope: &str) -> Key {
    prefix(RECORD, &[&caller.id, kind, scope])
}

/// Returns the position of a key in a state list.
pub(super) fn position(key: &[u8]) -> Result<ListPosition> {
    let (millis, task) = (time(key).ok_or_else(corrupt)?, last_name(key)?);
    Ok(ListPosition { millis, task })
}

/// Converts a time to a number that is smaller for later times. The sign bit is flipped so that negative times come last.
fn newest_first(millis: i64) -> u64 {
    !(millis.cast_unsigned() ^ (1 << 63))
}

fn time_of(number: u64) -> i64 {
    (!number ^ (1 << 63)).cast_signed()
}

fn prefix(kind: u8, names: &[&str]) -> Key {
    let length: usize = names.iter().map(|name| 4 + name.len()).sum();
    let mut key = Key::with_capacity(1 + length + USUAL_TAIL);
    key.push(kind);
    for name in names {
        key.extend((name.len() as u32).to_be_bytes());
        key.extend(name.as_bytes());
    }
    key
}

/// Returns a key of fixed length: clients choose these ids, which can have any length.
fn hashed_key(kind: u8, names: &[&str]) -> Key {
    let mut key = vec![kind];
    key.extend(Sha256::digest(prefix(kind, names)));
    key
}

fn corrupt() -> StoreError {
    StoreError::corrupt("the index", "a key is broken")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn position(millis: i64, task: &str) -> ListPosition {
        ListPosition { millis, task: task.into() }
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
        let list = counted_list(&states(&Caller::new("a"), "b", None, Some("s")));
        let keys = ordered.clone().map(|one| ordered_key(list.clone(), Order::NewestFirst, &one));
        assert!(ordered.is_sorted() && keys.is_sorted());
        for (key, one) in keys.iter().zip(&ordered) {
            assert_eq!(super::position(key).as_ref().unwrap(), one);
        }
        let times = ordered.map(|one| {
            ordered_key(idle(Idle::Waiting, "b"), Order::OldestFirst, &position(one.millis, ""))
        });
        assert!(times.iter().rev().is_sorted());
        for list in [list, idle(Idle::Waiting, "b"), idle(Idle::Ended, "b")] {
            let order = order_of_list(&list).unwrap();
            for millis in [i64::MIN, -1, 0, 7, i64::MAX] {
                assert_eq!(time(&start_of_time(&list, order, millis)), Some(millis));
            }
            assert_eq!(order_of_list(&list[..1]), None);
        }
    }

    #[test]
    fn the_key_of_a_record_is_parsed() {
        let key = RecordKey { kind: "push".to_owned(), scope: "t".to_owned(), id: "a".to_owned() };
        let found = record_names(&record(&Caller::new("me"), &key)).unwrap();
        assert_eq!(found, ("me".to_owned(), key));
        assert!(record_names(&[RECORD, 0, 0, 0, 9]).is_err());
    }

    #[test]
    fn names_in_keys_do_not_run_into_each_other() {
        let caller = Caller::new("a");
        assert!(!states(&caller, "bc", None, None).starts_with(&states(&caller, "b", None, None)));
        let list = |agent, state| counted_list(&states(&caller, agent, None, Some(state)));
        assert!(!list("bc", "s").starts_with(&list("b", "c")));
        let (one, other) = (("ab", "c"), ("a", "bc"));
        let key = |(agent, id)| message(&caller, agent, id);
        assert_ne!(key(one), key(other));
    }

    #[test]
    fn filters_contain_keys_or_prefixes_of_lists() {
        let caller = Caller::new("a");
        for context in [None, Some("c")] {
            let count = states(&caller, "b", context, Some("s"));
            let counts = states(&caller, "b", context, None);
            assert_eq!(filter_key(&count), Some(&*counts));
            let list = counted_list(&count);
            let place = ordered_key(list.clone(), Order::NewestFirst, &position(-7, "t"));
            assert_eq!((filter_key(&place), time(&place)), (Some(&*list), Some(-7)));
            assert_eq!(last_name(&place).unwrap(), "t");
            assert_eq!((filter_key(&list), filter_key(&list[..1])), (Some(&*list), None));
        }
        let appends = appends("t");
        assert_eq!(filter_key(&append("t", 9)), Some(&*appends));
        let head = head("t");
        assert_eq!(filter_key(&head), Some(&*head));
        let waits = ordered_key(idle(Idle::Waiting, "b"), Order::OldestFirst, &position(7, "t"));
        assert_eq!(
            (filter_key(&waits), last_name(&waits).unwrap().as_str()),
            (Some(&*idle(Idle::Waiting, "b")), "t")
        );
        assert_eq!(filter_key(&turn("t")), Some(&[TURN][..]));
        assert_eq!(agent(&prefix(OPEN, &["b"])).unwrap(), "b");
    }
}
