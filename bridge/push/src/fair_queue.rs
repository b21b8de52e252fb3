//! Decides which delivery gets the next free slot. It uses no clock and no locks.
//!
//! - A free slot goes to the caller that has the fewest slots, then to the host that has the fewest, then to the
//!   request that has waited longest. So no caller gets more slots by asking for more.
//! - Retries get at most half of each limit. So failing webhooks, however many there are, leave slots to first
//!   attempts.
//! - A first attempt that takes long yields its slot to another first attempt that waits for exactly that slot.

use std::collections::{BTreeMap, VecDeque};

/// The number of hosts whose requests of one caller, first attempts and retries separately, are considered for a slot at the same
/// time. Each of them is looked at for every slot that becomes free, and a caller can name hosts without a limit.
const HOSTS: usize = 1_024;

/// The numbers of deliveries that may run at the same time.
#[derive(Clone, Copy, Debug)]
pub(super) struct DeliveryLimits {
    /// The number in total.
    pub(super) at_once: usize,
    /// The number to one host.
    pub(super) per_host: usize,
    /// The number for one caller.
    pub(super) per_caller: usize,
}

/// A delivery's request for a slot.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct SlotRequest {
    /// The caller that owns the task.
    pub(super) caller: String,
    /// The webhook's host, as `HOST:PORT`.
    pub(super) host: String,
    /// Whether the delivery was tried before.
    pub(super) is_again: bool,
}

/// The deliveries that hold a slot, and the requests that wait for one. `G` is the value by which a waiting request is
/// granted.
#[derive(Debug)]
pub(super) struct FairQueue<G> {
    limits: DeliveryLimits,
    arrival: u64,
    all: SlotCounts,
    hosts: BTreeMap<String, SlotCounts>,
    callers: BTreeMap<String, SlotCounts>,
    held: BTreeMap<u64, SlotHolder>,
    /// The waiting requests, equal ones in the order of their arrival.
    waiting: BTreeMap<SlotRequest, VecDeque<(u64, G)>>,
    /// The further requests of callers that wait for many hosts, in the order of their arrival: by caller, and whether they are
    /// retries.
    further: BTreeMap<(String, bool), Line<G>>,
}

/// Requests in the order of their arrival, each with its number and its grant.
type Line<G> = VecDeque<(u64, SlotRequest, G)>;

/// The number of slots in use.
#[derive(Clone, Copy, Debug, Default)]
struct SlotCounts {
    all: usize,
    again: usize,
}

#[derive(Debug)]
struct SlotHolder {
    request: SlotRequest,
    /// Whether the delivery has taken so long that it may have to yield its slot.
    is_late: bool,
    is_yielding: bool,
}

/// The limit that a request waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum LimitKind {
    Host,
    Caller,
    All,
}

impl<G> FairQueue<G> {
    pub(super) fn new(limits: DeliveryLimits) -> Self {
        Self {
            limits: DeliveryLimits {
                at_once: limits.at_once.max(1),
                per_host: limits.per_host.max(1),
                per_caller: limits.per_caller.max(1),
            },
            arrival: 0,
            all: SlotCounts::default(),
            hosts: BTreeMap::new(),
            callers: BTreeMap::new(),
            held: BTreeMap::new(),
            waiting: BTreeMap::new(),
            further: BTreeMap::new(),
        }
    }

    /// Takes a slot if one is free and no equal request waits; returns the slot's number.
    pub(super) fn take(&mut self, request: &SlotRequest) -> Option<u64> {
        let is_free = !self.waiting.contains_key(request) && self.full(request).is_none();
        is_free.then(|| {
            self.arrival += 1;
            self.hold(self.arrival, request.clone());
            self.arrival
        })
    }

    /// Enters a request behind all equal ones; returns its number, which becomes that of its slot.
    pub(super) fn wait(&mut self, request: &SlotRequest, grant: G) -> u64 {
        self.arrival += 1;
        if self.waits_for_many_hosts(request) {
            let further = self.further.entry(request.line()).or_default();
            further.push_back((self.arrival, request.clone(), grant));
        } else {
            let queue = self.waiting.entry(request.clone()).or_default();
            queue.push_back((self.arrival, grant));
        }
        self.arrival
    }

    /// Returns whether the caller of a request waits for as many other hosts as are considered.
    fn waits_for_many_hosts(&self, request: &SlotRequest) -> bool {
        let (caller, host) = (request.caller.clone(), String::new());
        let from = SlotRequest { caller, host, is_again: false };
        let own = self.waiting.range(from..).take_while(|(one, _)| one.caller == request.caller);
        let equal = own.filter(|(one, _)| one.is_again == request.is_again);
        !self.waiting.contains_key(request) && equal.count() >= HOSTS
    }

    /// Removes a waiting request.
    pub(super) fn cancel(&mut self, request: &SlotRequest, number: u64) {
        if let Some(queue) = self.waiting.get_mut(request) {
            queue.retain(|(one, _)| *one != number);
            if queue.is_empty() {
                self.replace(request);
            }
        }
        let line = request.line();
        if let Some(further) = self.further.get_mut(&line)
            && let Ok(place) = further.binary_search_by_key(&number, |(one, ..)| *one)
        {
            further.remove(place);
            if further.is_empty() {
                self.further.remove(&line);
            }
        }
    }

    /// Removes a host for which no request of the caller waits any more, and considers its next one.
    fn replace(&mut self, served: &SlotRequest) {
        self.waiting.remove(served);
        let line = served.line();
        let Some(further) = self.further.get_mut(&line) else {
            return;
        };
        while let Some((number, request, grant)) = further.pop_front() {
            let is_new = !self.waiting.contains_key(&request);
            self.waiting.entry(request).or_default().push_back((number, grant));
            if is_new {
                break;
            }
        }
        if further.is_empty() {
            self.further.remove(&line);
        }
    }

    /// Frees a slot.
    pub(super) fn release(&mut self, number: u64) {
        let Some(SlotHolder { request, .. }) = self.held.remove(&number) else {
            return;
        };
        self.all.remove(request.is_again);
        for (counts, name) in
            [(&mut self.hosts, &request.host), (&mut self.callers, &request.caller)]
        {
            if let Some(taken) = counts.get_mut(name) {
                taken.remove(request.is_again);
                if taken.all == 0 {
                    counts.remove(name);
                }
            }
        }
    }

    /// Gives a free slot to the next waiting request, if any request can be granted.
    pub(super) fn next(&mut self) -> Option<(u64, G)> {
        let waiting = self.waiting.iter();
        let served = waiting.filter(|(request, _)| self.full(request).is_none());
        let next = served.min_by_key(|(request, queue)| {
            let arrival = queue.front().map(|(number, _)| *number);
            (self.share(request), arrival)
        });
        let request = next?.0.clone();
        let queue = self.waiting.get_mut(&request)?;
        let (number, grant) = queue.pop_front()?;
        if queue.is_empty() {
            self.replace(&request);
        }
        self.hold(number, request);
        Some((number, grant))
    }

    /// Returns whether a delivery that takes long must yield its slot: first attempts wait for the slot whose caller
    /// and host have no more slots than its own, and no other delivery with more slots could yield instead.
    pub(super) fn must_yield(&mut self, number: u64) -> bool {
        let Some(own) = self.held.get_mut(&number) else {
            return false;
        };
        own.is_late = true;
        let own = own.request.clone();
        if own.is_again {
            return false;
        }
        let limits = [LimitKind::Host, LimitKind::Caller, LimitKind::All];
        let yields = limits.into_iter().any(|limit| self.is_needed_for(&own, limit));
        if let Some(held) = self.held.get_mut(&number) {
            held.is_yielding = yields;
        }
        yields
    }

    fn is_needed_for(&self, own: &SlotRequest, limit: LimitKind) -> bool {
        let share = self.share(own);
        let waiting = self.waiting.iter().filter(|(request, _)| {
            let is_first = !request.is_again && limit.is_shared_by(request, own);
            is_first && self.full(request) == Some(limit) && self.share(request) <= share
        });
        let waiting: usize = waiting.map(|(_, queue)| queue.len()).sum();
        let beside = self.held.values();
        let mut beside = beside.filter(|held| limit.is_shared_by(&held.request, own));
        let yielding = beside.clone().filter(|held| held.is_yielding).count();
        let has_more = |held: &SlotHolder| {
            let may_yield = held.is_late && !held.is_yielding && !held.request.is_again;
            may_yield && self.share(&held.request) > share
        };
        yielding < waiting && !beside.any(has_more)
    }

    /// Returns the number of slots that the request's caller has, and that its host has.
    fn share(&self, request: &SlotRequest) -> (usize, usize) {
        let of =
            |counts: &BTreeMap<String, SlotCounts>, name| counts.get(name).map_or(0, |one| one.all);
        (of(&self.callers, &request.caller), of(&self.hosts, &request.host))
    }

    /// Returns the first limit that is reached for a request.
    fn full(&self, request: &SlotRequest) -> Option<LimitKind> {
        let of = |counts: &BTreeMap<String, SlotCounts>, name| {
            counts.get(name).copied().unwrap_or_default()
        };
        let limits = [
            (LimitKind::Host, of(&self.hosts, &request.host), self.limits.per_host),
            (LimitKind::Caller, of(&self.callers, &request.caller), self.limits.per_caller),
            (LimitKind::All, self.all, self.limits.at_once),
        ];
        let reached = limits.into_iter().find(|(_, taken, limit)| {
            let half = (limit / 2).max(1);
            taken.all >= *limit || (request.is_again && taken.again >= half)
        });
        reached.map(|(limit, _, _)| limit)
    }

    fn hold(&mut self, number: u64, request: SlotRequest) {
        let is_again = request.is_again;
        self.all.add(is_again);
        self.hosts.entry(request.host.clone()).or_default().add(is_again);
        self.callers.entry(request.caller.clone()).or_default().add(is_again);
        let held = SlotHolder { request, is_late: false, is_yielding: false };
        self.held.insert(number, held);
    }
}

impl SlotRequest {
    /// Returns the key of the further requests to which this one belongs.
    fn line(&self) -> (String, bool) {
        (self.caller.clone(), self.is_again)
    }
}

impl SlotCounts {
    fn add(&mut self, is_again: bool) {
        self.all += 1;
        self.again += usize::from(is_again);
    }

    fn remove(&mut self, is_again: bool) {
        self.all -= 1;
        self.again -= usize::from(is_again);
    }
}

impl LimitKind {
    /// Returns whether both requests count towards the same instance of this limit.
    fn is_shared_by(self, one: &SlotRequest, other: &SlotRequest) -> bool {
        match self {
            Self::Host => one.host == other.host,
            Self::Caller => one.caller == other.caller,
            Self::All => true,
        }
    }
}

#[cfg(test)]
#[path = "fair_queue_tests.rs"]
mod tests;
