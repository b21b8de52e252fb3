//! Who has a place and who waits for one: the rules, without clock and locks.
//!
//! - A place that becomes free goes to the caller that has the fewest, then to the host that has the fewest,
//!   then to who came first. So nobody gets more by asking for more.
//! - Deliveries that are tried again have at most half of each limit. So webhooks that fail, however many,
//!   leave places to those that are asked for the first time.
//! - A first attempt that takes long makes room for another first attempt that waits for just that place.

use std::collections::{BTreeMap, VecDeque};

/// How many deliveries there may be.
#[derive(Clone, Copy, Debug)]
pub(super) struct Limits {
    /// In all.
    pub(super) at_once: usize,
    /// To one host.
    pub(super) per_host: usize,
    /// For one caller.
    pub(super) per_caller: usize,
}

/// Who wants a place.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Wanted {
    /// Whose task it is.
    pub(super) caller: String,
    /// Where it goes, as `HOST:PORT`.
    pub(super) host: String,
    /// It was tried before.
    pub(super) is_again: bool,
}

/// Who has a place, and who waits with what it is told by.
#[derive(Debug)]
pub(super) struct Places<G> {
    limits: Limits,
    came: u64,
    all: Taken,
    hosts: BTreeMap<String, Taken>,
    callers: BTreeMap<String, Taken>,
    held: BTreeMap<u64, Held>,
    /// Those who wait for the same, in the order in which they came.
    waiting: BTreeMap<Wanted, VecDeque<(u64, G)>>,
}

/// How many places are taken.
#[derive(Clone, Copy, Debug, Default)]
struct Taken {
    all: usize,
    again: usize,
}

#[derive(Debug)]
struct Held {
    wanted: Wanted,
    /// It has it for so long that it may have to leave.
    is_late: bool,
    is_leaving: bool,
}

/// The limit that somebody waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Limit {
    Host,
    Caller,
    All,
}

impl<G> Places<G> {
    pub(super) fn new(limits: Limits) -> Self {
        Self {
            limits: Limits {
                at_once: limits.at_once.max(1),
                per_host: limits.per_host.max(1),
                per_caller: limits.per_caller.max(1),
            },
            came: 0,
            all: Taken::default(),
            hosts: BTreeMap::new(),
            callers: BTreeMap::new(),
            held: BTreeMap::new(),
            waiting: BTreeMap::new(),
        }
    }

    /// Takes a place if there is one, and nobody waits for the same; tells its number.
    pub(super) fn take(&mut self, wanted: &Wanted) -> Option<u64> {
        let is_free = !self.waiting.contains_key(wanted) && self.full(wanted).is_none();
        is_free.then(|| {
            self.came += 1;
            self.hold(self.came, wanted.clone());
            self.came
        })
    }

    /// Waits behind all others who want the same; tells its number.
    pub(super) fn wait(&mut self, wanted: &Wanted, grant: G) -> u64 {
        self.came += 1;
        let queue = self.waiting.entry(wanted.clone()).or_default();
        queue.push_back((self.came, grant));
        self.came
    }

    /// Waits no longer.
    pub(super) fn leave(&mut self, wanted: &Wanted, number: u64) {
        if let Some(queue) = self.waiting.get_mut(wanted) {
            queue.retain(|(one, _)| *one != number);
            if queue.is_empty() {
                self.waiting.remove(wanted);
            }
        }
    }

    /// Gives a place back.
    pub(super) fn release(&mut self, number: u64) {
        let Some(Held { wanted, .. }) = self.held.remove(&number) else {
            return;
        };
        self.all.remove(wanted.is_again);
        for (counts, name) in [
            (&mut self.hosts, &wanted.host),
            (&mut self.callers, &wanted.caller),
        ] {
            if let Some(taken) = counts.get_mut(name) {
                taken.remove(wanted.is_again);
                if taken.all == 0 {
                    counts.remove(name);
                }
            }
        }
    }

    /// Gives a free place to the next who waits, if there is one for somebody.
    pub(super) fn next(&mut self) -> Option<(u64, G)> {
        let waiting = self.waiting.iter();
        let served = waiting.filter(|(wanted, _)| self.full(wanted).is_none());
        let next = served.min_by_key(|(wanted, queue)| {
            let came = queue.front().map(|(number, _)| *number);
            (self.share(wanted), came)
        });
        let wanted = next?.0.clone();
        let queue = self.waiting.get_mut(&wanted)?;
        let (number, grant) = queue.pop_front()?;
        if queue.is_empty() {
            self.waiting.remove(&wanted);
        }
        self.hold(number, wanted);
        Some((number, grant))
    }

    /// Whether a delivery that takes long has to leave: first attempts wait for its place that have no more
    /// than it has, and there is nobody who has more and could leave in place of it.
    pub(super) fn must_leave(&mut self, number: u64) -> bool {
        let Some(own) = self.held.get_mut(&number) else {
            return false;
        };
        own.is_late = true;
        let own = own.wanted.clone();
        if own.is_again {
            return false;
        }
        let limits = [Limit::Host, Limit::Caller, Limit::All];
        let leaves = limits.into_iter().any(|limit| self.makes_room(&own, limit));
        if let Some(held) = self.held.get_mut(&number) {
            held.is_leaving = leaves;
        }
        leaves
    }

    fn makes_room(&self, own: &Wanted, limit: Limit) -> bool {
        let share = self.share(own);
        let waiting = self.waiting.iter().filter(|(wanted, _)| {
            let is_first = !wanted.is_again && self.full(wanted) == Some(limit);
            is_first && limit.joins(wanted, own) && self.share(wanted) <= share
        });
        let waiting: usize = waiting.map(|(_, queue)| queue.len()).sum();
        let beside = self.held.values();
        let mut beside = beside.filter(|held| limit.joins(&held.wanted, own));
        let leaving = beside.clone().filter(|held| held.is_leaving).count();
        let has_more = |held: &Held| {
            let may_leave = held.is_late && !held.is_leaving && !held.wanted.is_again;
            may_leave && self.share(&held.wanted) > share
        };
        leaving < waiting && !beside.any(has_more)
    }

    /// How many places its caller has, and its host.
    fn share(&self, wanted: &Wanted) -> (usize, usize) {
        let of = |counts: &BTreeMap<String, Taken>, name| counts.get(name).map_or(0, |one| one.all);
        (
            of(&self.callers, &wanted.caller),
            of(&self.hosts, &wanted.host),
        )
    }

    /// The first limit that is reached.
    fn full(&self, wanted: &Wanted) -> Option<Limit> {
        let of =
            |counts: &BTreeMap<String, Taken>, name| counts.get(name).copied().unwrap_or_default();
        let limits = [
            (
                Limit::Host,
                of(&self.hosts, &wanted.host),
                self.limits.per_host,
            ),
            (
                Limit::Caller,
                of(&self.callers, &wanted.caller),
                self.limits.per_caller,
            ),
            (Limit::All, self.all, self.limits.at_once),
        ];
        let reached = limits.into_iter().find(|(_, taken, limit)| {
            let half = (limit / 2).max(1);
            taken.all >= *limit || (wanted.is_again && taken.again >= half)
        });
        reached.map(|(limit, _, _)| limit)
    }

    fn hold(&mut self, number: u64, wanted: Wanted) {
        let is_again = wanted.is_again;
        self.all.add(is_again);
        let host = self.hosts.entry(wanted.host.clone()).or_default();
        host.add(is_again);
        let caller = self.callers.entry(wanted.caller.clone()).or_default();
        caller.add(is_again);
        let held = Held {
            wanted,
            is_late: false,
            is_leaving: false,
        };
        self.held.insert(number, held);
    }
}

impl Taken {
    fn add(&mut self, is_again: bool) {
        self.all += 1;
        self.again += usize::from(is_again);
    }

    fn remove(&mut self, is_again: bool) {
        self.all -= 1;
        self.again -= usize::from(is_again);
    }
}

impl Limit {
    /// Whether both count under this limit.
    fn joins(self, one: &Wanted, other: &Wanted) -> bool {
        match self {
            Self::Host => one.host == other.host,
            Self::Caller => one.caller == other.caller,
            Self::All => true,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wanted(caller: &str, host: &str) -> Wanted {
        Wanted {
            caller: caller.into(),
            host: host.into(),
            is_again: false,
        }
    }

    fn again(caller: &str, host: &str) -> Wanted {
        Wanted {
            is_again: true,
            ..wanted(caller, host)
        }
    }

    fn places() -> Places<&'static str> {
        Places::new(Limits {
            at_once: 6,
            per_host: 4,
            per_caller: 5,
        })
    }

    #[test]
    fn each_limit_is_kept() {
        let mut places = places();
        for _ in 0..4 {
            assert!(places.take(&wanted("a", "slow")).is_some());
        }
        assert!(places.take(&wanted("b", "slow")).is_none(), "the host's");
        assert!(places.take(&wanted("a", "other")).is_some());
        assert!(places.take(&wanted("a", "third")).is_none(), "the caller's");
        assert!(places.take(&wanted("b", "third")).is_some());
        assert!(places.take(&wanted("c", "fourth")).is_none(), "all");
    }

    #[test]
    fn what_is_tried_again_has_half_of_each() {
        let mut places = places();
        assert!(places.take(&again("a", "slow")).is_some());
        assert!(places.take(&again("b", "slow")).is_some());
        assert!(
            places.take(&again("c", "slow")).is_none(),
            "the host's half"
        );
        assert!(places.take(&again("a", "other")).is_some());
        assert!(places.take(&again("d", "third")).is_none(), "half of all");
        assert!(places.take(&wanted("d", "slow")).is_some());
    }

    #[test]
    fn who_has_least_comes_next_and_then_who_came_first() {
        let mut places = places();
        let held: Vec<_> = (0..4)
            .map(|_| places.take(&wanted("a", "one")).unwrap())
            .collect();
        let other = places.take(&wanted("b", "two")).unwrap();
        let last = places.take(&wanted("b", "three")).unwrap();
        for (caller, host, grant) in [
            ("a", "one", "a again"),
            ("b", "two", "b at two"),
            ("b", "four", "b at four"),
            ("c", "five", "c"),
            ("c", "six", "c later"),
        ] {
            places.wait(&wanted(caller, host), grant);
        }
        let mut next = |freed| {
            places.release(freed);
            places.next().map(|(_, grant)| grant)
        };
        assert_eq!(next(held[0]), Some("c"));
        assert_eq!(next(held[1]), Some("c later"));
        assert_eq!(next(other), Some("b at two"));
        assert_eq!(next(last), Some("b at four"));
        assert_eq!(next(held[2]), Some("a again"));
        assert_eq!(next(held[3]), None);
    }

    #[test]
    fn one_that_takes_long_leaves_for_one_that_waits_and_no_others_do() {
        let mut places = places();
        let late: Vec<_> = (0..4)
            .map(|_| places.take(&wanted("a", "slow")).unwrap())
            .collect();
        let quick = places.take(&wanted("b", "quick")).unwrap();
        assert!(!places.must_leave(late[0]), "nobody waits");
        let waiter = places.wait(&wanted("b", "slow"), "b");
        assert!(!places.must_leave(quick), "it is at another host");
        let leaving: Vec<_> = late.iter().map(|one| places.must_leave(*one)).collect();
        assert_eq!(leaving, [true, false, false, false]);
        places.release(late[0]);
        assert_eq!(places.next(), Some((waiter, "b")));
    }

    #[test]
    fn who_has_most_leaves_first() {
        let mut places = places();
        let single = places.take(&wanted("b", "one")).unwrap();
        let many: Vec<_> = (0..5)
            .map(|number| places.take(&wanted("a", &number.to_string())).unwrap())
            .collect();
        assert!(!places.must_leave(many[0]), "nobody waits");
        places.wait(&wanted("c", "two"), "c");
        assert!(!places.must_leave(single), "another has more");
        assert!(places.must_leave(many[0]));
        assert!(!places.must_leave(many[1]), "one is enough");
    }

    #[test]
    fn what_is_tried_again_leaves_for_nobody_and_has_nobody_leave() {
        let mut places = Places::new(Limits {
            at_once: 2,
            per_host: 2,
            per_caller: 2,
        });
        let again_held = places.take(&again("a", "one")).unwrap();
        let first = places.take(&wanted("a", "one")).unwrap();
        places.wait(&again("b", "two"), "again");
        assert!(!places.must_leave(first));
        places.wait(&wanted("b", "two"), "first");
        assert!(!places.must_leave(again_held));
        assert!(places.must_leave(first));
    }

    #[test]
    fn nothing_is_left_of_who_has_left() {
        let mut places = places();
        let held: Vec<_> = (0..4)
            .map(|_| places.take(&wanted("a", "one")).unwrap())
            .collect();
        let waiter = places.wait(&wanted("a", "one"), "a");
        places.leave(&wanted("a", "one"), waiter);
        held.into_iter().for_each(|one| places.release(one));
        assert!(places.hosts.is_empty() && places.callers.is_empty());
        assert!(places.held.is_empty() && places.waiting.is_empty());
        assert_eq!((places.all.all, places.all.again), (0, 0));
    }
}
