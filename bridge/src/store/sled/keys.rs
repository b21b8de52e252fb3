//! Where what stands in the index: every key, and what its value is.
//!
//! | key | value |
//! |-|-|
//! | `h` task | a card: the place in the log of its newest append, and what lists must know of it |
//! | `e` (task) last | the place of every 32nd append of a task; `last` is the number of its last event |
//! | `m` hash of (agent) (caller) (message id) | number of the event, task |
//! | `i` hash of (agent) (caller) (client's task id) | task |
//! | `o` task | nothing: the task is open, see [`Head::is_open`] |
//! | `u` task | nothing: a turn of the task has not ended; each part has all of them |
//! | `t` (caller) (agent) (state) newest task | nothing: every task, where lists find it; its card says whether it is still there |
//! | `c` (caller) (agent) (context) task | nothing: the tasks of a context, in no order that matters |
//! | `n` (caller) (agent) | how many tasks there are in each state |
//! | `r` (caller) (kind) (scope) id | the place of a small record |
//!
//! A task whose turn is over before its part is sealed costs it four entries: `h`, `m`, `t` and `c`.
//!
//! A name in brackets has its length before it, so no name can reach into the next. Numbers are big
//! endian, so their order is the order of the keys; `newest` is a time turned round.

use sha2::{Digest as _, Sha256};

use super::codec::read_name;
use crate::{
    caller::Caller,
    store::{Head, RecordKey, Seq, list::Position},
};

pub(super) type Key = Vec<u8>;

/// Room for what mostly follows the names of a key: a time and a task's id.
const TAIL: usize = 8 + 36;

/// Open tasks begin with this.
pub(super) const OPEN: &[u8] = b"o";

/// Whether entries that begin with this follow from how tasks stand.
pub(super) fn follows_tasks(prefix: &[u8]) -> bool {
    matches!(prefix.first(), Some(b'h' | b'o' | b't' | b'c'))
}

/// Whether it is a key of a kind that is only looked for whole, so that the order does not matter.
pub(super) fn is_whole(key: &[u8]) -> bool {
    matches!(key.first(), Some(b'h' | b'm' | b'i'))
}

/// Whether it begins a lane.
pub(super) fn is_lane(prefix: &[u8]) -> bool {
    prefix.first() == Some(&b't')
}

/// What readers ask for to get the entry: the key, or all names of a list; `None` if all parts are asked.
pub(super) fn asked(key: &[u8]) -> Option<&[u8]> {
    let names = match key.first()? {
        b'o' | b'u' => return None,
        b't' | b'c' | b'r' => 3,
        b'e' => 1,
        _ => return Some(key),
    };
    let mut length = 1;
    for _ in 0..names {
        let name = key.get(length..)?.first_chunk()?;
        length += 4 + u32::from_be_bytes(*name) as usize;
    }
    key.get(..length)
}

/// The time in a key of a lane, in milliseconds.
pub(super) fn time(key: &[u8]) -> Option<i64> {
    let rest = key.get(asked(key)?.len()..)?;
    Some(newest_first_back(u64::from_be_bytes(*rest.first_chunk()?)))
}

pub(super) fn open(task: &str) -> Key {
    [OPEN, task.as_bytes()].concat()
}

/// Tasks with turns that have not ended begin with this.
pub(super) const TURNS: &[u8] = b"u";

/// Tasks begin with this.
pub(super) const HEAD: &[u8] = b"h";

/// Small records begin with this.
pub(super) const RECORD: &[u8] = b"r";

pub(super) fn head(task: &str) -> Key {
    [HEAD, task.as_bytes()].concat()
}

/// The appends of a task that can be found by number begin with this.
pub(super) fn appends(task: &str) -> Key {
    named(b'e', &[task])
}

pub(super) fn append(task: &str, last: Seq) -> Key {
    let mut key = appends(task);
    key.extend(last.to_be_bytes());
    key
}

pub(super) fn message(caller: &Caller, agent: &str, id: &str) -> Key {
    hashed(b'm', &[agent, &caller.id, id])
}

pub(super) fn client_task(caller: &Caller, agent: &str, id: &str) -> Key {
    hashed(b'i', &[agent, &caller.id, id])
}

/// How many tasks there are.
pub(super) fn counts(caller: &Caller, agent: &str) -> Key {
    named(b'n', &[&caller.id, agent])
}

/// Counts begin with this.
pub(super) const COUNTS: &[u8] = b"n";

/// Whose tasks a key of counts counts, and at which agent.
pub(super) fn counted(key: &[u8]) -> Option<(String, String)> {
    let (caller, rest) = read_name(key.strip_prefix(COUNTS)?)?;
    Some((caller, read_name(rest)?.0))
}

/// The tasks of one state begin with this, in the order of lists.
pub(super) fn lane(caller: &Caller, agent: &str, state: &str) -> Key {
    named(b't', &[&caller.id, agent, state])
}

/// Where lists find the task.
pub(super) fn listed(head: &Head) -> Key {
    let lane = lane(&head.owner, &head.agent, head.state.as_str());
    at(lane, &Position::of(head))
}

/// The tasks of a context begin with this.
pub(super) fn context(caller: &Caller, agent: &str, context: &str) -> Key {
    named(b'c', &[&caller.id, agent, context])
}

/// Where its context has the task.
pub(super) fn in_context(head: &Head) -> Key {
    let mut key = context(&head.owner, &head.agent, &head.context_id);
    key.extend(head.task.as_bytes());
    key
}

/// A place in a lane.
pub(super) fn at(mut lane: Key, position: &Position) -> Key {
    lane.extend(newest_first(position.millis).to_be_bytes());
    lane.extend(position.task.as_bytes());
    lane
}

/// The place that stands behind the lane's `prefix`; `None` if it is none.
pub(super) fn position(key: &[u8], prefix: &[u8]) -> Option<Position> {
    let (time, task) = key.strip_prefix(prefix)?.split_first_chunk()?;
    Some(Position {
        millis: newest_first_back(u64::from_be_bytes(*time)),
        task: String::from_utf8(task.to_vec()).ok()?,
    })
}

pub(super) fn record(caller: &Caller, key: &RecordKey) -> Key {
    let mut start = records(caller, &key.kind, &key.scope);
    start.extend(key.id.as_bytes());
    start
}

pub(super) fn records(caller: &Caller, kind: &str, scope: &str) -> Key {
    named(b'r', &[&caller.id, kind, scope])
}

/// Later times are smaller numbers; the sign bit is turned so that negative times come last.
fn newest_first(millis: i64) -> u64 {
    !(millis.cast_unsigned() ^ (1 << 63))
}

fn newest_first_back(number: u64) -> i64 {
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

#[cfg(test)]
mod tests {
    use super::*;

    fn position(millis: i64, task: &str) -> Position {
        Position {
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
        let keys = ordered.clone().map(|one| at(b"lane".to_vec(), &one));
        assert!(ordered.is_sorted() && keys.is_sorted());
        for (key, one) in keys.iter().zip(&ordered) {
            assert_eq!(super::position(key, b"lane").as_ref(), Some(one));
        }
    }

    #[test]
    fn names_do_not_reach_into_each_other() {
        let caller = Caller::new("a");
        assert!(!counts(&caller, "bc").starts_with(&counts(&caller, "b")));
        assert!(!lane(&caller, "bc", "s").starts_with(&lane(&caller, "b", "c")));
        let (one, other) = (("ab", "c"), ("a", "bc"));
        let key = |(agent, id)| message(&caller, agent, id);
        assert_ne!(key(one), key(other));
    }

    #[test]
    fn what_is_asked_for_is_the_key_or_the_names_of_its_list() {
        let caller = Caller::new("a");
        let lane = lane(&caller, "b", "s");
        let place = at(lane.clone(), &position(-7, "t"));
        assert_eq!((asked(&place), time(&place)), (Some(&*lane), Some(-7)));
        assert_eq!(asked(&lane), Some(&*lane));
        let appends = appends("t");
        assert_eq!(asked(&append("t", 9)), Some(&*appends));
        let head = head("t");
        assert_eq!(asked(&head), Some(&*head));
        assert_eq!((asked(&open("t")), asked(b"t\0")), (None, None));
    }
}
