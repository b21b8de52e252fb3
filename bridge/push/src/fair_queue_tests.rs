//! Tests of the queue for slots.

use super::*;

fn request(caller: &str, host: &str) -> SlotRequest {
    SlotRequest { caller: caller.into(), host: host.into(), is_again: false }
}

fn again(caller: &str, host: &str) -> SlotRequest {
    SlotRequest { is_again: true, ..request(caller, host) }
}

fn queue() -> FairQueue<&'static str> {
    FairQueue::new(DeliveryLimits { at_once: 6, per_host: 4, per_caller: 5 })
}

#[test]
fn no_limit_is_exceeded() {
    let mut queue = queue();
    for _ in 0..4 {
        assert!(queue.take(&request("a", "slow")).is_some());
    }
    assert!(queue.take(&request("b", "slow")).is_none(), "the host's");
    assert!(queue.take(&request("a", "other")).is_some());
    assert!(queue.take(&request("a", "third")).is_none(), "the caller's");
    assert!(queue.take(&request("b", "third")).is_some());
    assert!(queue.take(&request("c", "fourth")).is_none(), "all");
}

#[test]
fn retries_get_half_of_each_limit() {
    let mut queue = queue();
    assert!(queue.take(&again("a", "slow")).is_some());
    assert!(queue.take(&again("b", "slow")).is_some());
    assert!(queue.take(&again("c", "slow")).is_none(), "the host's half");
    assert!(queue.take(&again("a", "other")).is_some());
    assert!(queue.take(&again("d", "third")).is_none(), "half of all");
    assert!(queue.take(&request("d", "slow")).is_some());
}

#[test]
fn the_smallest_share_is_served_first_and_then_the_oldest_request() {
    let mut queue = queue();
    let held: Vec<_> = (0..4).map(|_| queue.take(&request("a", "one")).unwrap()).collect();
    let other = queue.take(&request("b", "two")).unwrap();
    let last = queue.take(&request("b", "three")).unwrap();
    for (caller, host, grant) in [
        ("a", "one", "a again"),
        ("b", "two", "b at two"),
        ("b", "four", "b at four"),
        ("c", "five", "c"),
        ("c", "six", "c later"),
    ] {
        queue.wait(&request(caller, host), grant);
    }
    let mut next = |freed| {
        queue.release(freed);
        queue.next().map(|(_, grant)| grant)
    };
    assert_eq!(next(held[0]), Some("c"));
    assert_eq!(next(held[1]), Some("c later"));
    assert_eq!(next(other), Some("b at two"));
    assert_eq!(next(last), Some("b at four"));
    assert_eq!(next(held[2]), Some("a again"));
    assert_eq!(next(held[3]), None);
}

#[test]
fn the_share_of_the_caller_counts_more_than_that_of_the_host() {
    let mut queue = queue();
    let held = queue.take(&request("a", "one")).unwrap();
    for host in ["one", "two", "two", "two"] {
        queue.take(&request("a", host)).unwrap();
    }
    queue.take(&request("b", "three")).unwrap();
    queue.wait(&request("b", "four"), "b");
    queue.wait(&request("c", "two"), "c");
    queue.release(held);
    assert_eq!(queue.next().unwrap().1, "c");
}

#[test]
fn one_slow_delivery_yields_for_one_waiting_request() {
    let mut queue = queue();
    let late: Vec<_> = (0..4).map(|_| queue.take(&request("a", "slow")).unwrap()).collect();
    let quick = queue.take(&request("b", "quick")).unwrap();
    assert!(!queue.must_yield(late[0]), "nobody waits");
    let waiter = queue.wait(&request("b", "slow"), "b");
    assert!(!queue.must_yield(quick), "it is at another host");
    let yielding: Vec<_> = late.iter().map(|one| queue.must_yield(*one)).collect();
    assert_eq!(yielding, [true, false, false, false]);
    queue.release(late[0]);
    assert_eq!(queue.next(), Some((waiter, "b")));
}

#[test]
fn as_many_slow_deliveries_yield_as_equal_requests_wait() {
    let mut queue = queue();
    let late = [(); 4].map(|()| queue.take(&request("a", "slow")).unwrap());
    queue.wait(&request("b", "slow"), "b");
    queue.wait(&request("b", "slow"), "b");
    assert_eq!(late.map(|one| queue.must_yield(one)), [true, true, false, false]);
}

#[test]
fn a_delivery_does_not_yield_to_a_caller_with_more_of_them() {
    let mut queue = queue();
    let single = queue.take(&request("a", "one")).unwrap();
    for host in ["one", "one", "one", "two", "three"] {
        queue.take(&request("b", host)).unwrap();
    }
    queue.wait(&request("b", "one"), "b");
    assert!(!queue.must_yield(single));
}

#[test]
fn the_largest_share_yields_first() {
    let mut queue = queue();
    let single = queue.take(&request("b", "one")).unwrap();
    let many: Vec<_> =
        (0..5).map(|number| queue.take(&request("a", &number.to_string())).unwrap()).collect();
    assert!(!queue.must_yield(many[0]), "nobody waits");
    queue.wait(&request("c", "two"), "c");
    assert!(!queue.must_yield(single), "another has more");
    assert!(queue.must_yield(many[0]));
    assert!(!queue.must_yield(many[1]), "one is enough");
}

#[test]
fn only_late_first_attempts_can_yield_instead() {
    let mut queue = queue();
    let single = queue.take(&request("b", "one")).unwrap();
    let again = ["x", "y"].map(|host| queue.take(&again("a", host)).unwrap());
    let many = [(); 3].map(|()| queue.take(&request("a", "many")).unwrap());
    queue.wait(&request("c", "two"), "c");
    assert!(!queue.must_yield(again[0]), "a retry");
    assert!(queue.must_yield(single), "the others with more are retries or not late");
    assert!(!queue.must_yield(many[0]), "one is enough");
    queue.wait(&request("d", "two"), "d");
    assert!(queue.must_yield(many[0]), "for the other one");
}

#[test]
fn a_delivery_that_yields_already_is_not_waited_for() {
    let mut queue = queue();
    let single = queue.take(&request("b", "one")).unwrap();
    let many: Vec<_> =
        (0..5).map(|number| queue.take(&request("a", &number.to_string())).unwrap()).collect();
    queue.wait(&request("c", "two"), "c");
    queue.wait(&request("d", "two"), "d");
    assert!(queue.must_yield(many[0]));
    assert!(queue.must_yield(single));
}

#[test]
fn a_slot_is_yielded_only_to_a_request_that_waits_for_it() {
    let limits = DeliveryLimits { at_once: 8, per_host: 2, per_caller: 8 };
    let mut queue = FairQueue::new(limits);
    let mut two_to = |caller, host| [(); 2].map(|()| queue.take(&request(caller, host)).unwrap());
    let (one, other) = (two_to("a", "one"), two_to("b", "other"));
    let third = two_to("c", "third");
    queue.wait(&request("c", "one"), "c");
    assert!(!queue.must_yield(third[0]), "the host is full, not the caller");
    assert!(queue.must_yield(one[0]));
    queue.wait(&request("d", "other"), "d");
    assert!(queue.must_yield(other[0]), "whatever is yielded at another host");
}

#[test]
fn retries_neither_yield_nor_preempt() {
    let mut queue = FairQueue::new(DeliveryLimits { at_once: 2, per_host: 2, per_caller: 2 });
    let again_held = queue.take(&again("a", "one")).unwrap();
    let first = queue.take(&request("a", "one")).unwrap();
    queue.wait(&again("b", "two"), "again");
    assert!(!queue.must_yield(first));
    queue.wait(&request("b", "two"), "first");
    assert!(!queue.must_yield(again_held));
    assert!(queue.must_yield(first));
}

#[test]
fn a_caller_that_waits_for_many_hosts_is_served_in_line() {
    let mut queue = FairQueue::new(DeliveryLimits { at_once: 1, per_host: 1, per_caller: 1 });
    let mut held = queue.take(&request("a", "first")).unwrap();
    let host = |index: usize| request("a", &format!("host-{index}"));
    let mut numbers: Vec<u64> = (0..HOSTS + 3).map(|index| queue.wait(&host(index), "")).collect();
    assert_eq!(queue.waiting.len(), HOSTS);
    let retry = queue.wait(&again("a", "retried"), "");
    assert!(queue.waiting.contains_key(&again("a", "retried")), "retries wait apart");
    queue.cancel(&again("a", "retried"), retry);
    queue.cancel(&host(HOSTS + 1), numbers.remove(HOSTS + 1));
    for number in numbers {
        queue.release(held);
        held = queue.next().unwrap().0;
        assert_eq!(held, number);
    }
    assert!(queue.waiting.is_empty() && queue.further.is_empty());
}

#[test]
fn a_caller_does_not_wait_in_line_because_of_another_one() {
    let mut queue = FairQueue::new(DeliveryLimits { at_once: 1, per_host: 1, per_caller: 1 });
    let held = queue.take(&request("b", "first")).unwrap();
    for index in 0..HOSTS {
        queue.wait(&request("b", &format!("host-{index}")), "b");
    }
    queue.wait(&request("a", "one"), "a");
    queue.release(held);
    let granted = std::iter::from_fn(|| {
        let (number, grant) = queue.next()?;
        queue.release(number);
        Some(grant)
    });
    assert_eq!(granted.filter(|grant| *grant == "a").count(), 1);
}

#[test]
fn a_canceled_request_makes_room_for_the_next_host_of_its_caller() {
    let mut queue = FairQueue::new(DeliveryLimits { at_once: 1, per_host: 1, per_caller: 1 });
    queue.take(&request("a", "first")).unwrap();
    let host = |index: usize| request("a", &format!("host-{index}"));
    let numbers: Vec<u64> = (0..HOSTS).map(|index| queue.wait(&host(index), "")).collect();
    let further = queue.wait(&request("a", "further"), "");
    queue.cancel(&request("a", "further"), further);
    assert!(queue.further.is_empty());
    for further in ["further", "further", "last"] {
        queue.wait(&request("a", further), "");
    }
    for (index, number) in numbers.into_iter().enumerate().take(2) {
        queue.cancel(&host(index), number);
        assert_eq!(queue.waiting.len(), HOSTS, "{index}");
    }
    assert!(queue.further.is_empty());
    assert_eq!(queue.waiting[&request("a", "further")].len(), 2);
}

#[test]
fn a_free_slot_is_for_the_request_that_waits_for_it() {
    let mut queue = FairQueue::new(DeliveryLimits { at_once: 1, per_host: 1, per_caller: 1 });
    let held = queue.take(&request("a", "one")).unwrap();
    queue.wait(&request("a", "one"), "waits");
    queue.release(held);
    assert!(queue.take(&request("a", "one")).is_none());
}

/// The half of such a limit is one, too: otherwise no failed delivery would ever be tried again.
#[test]
fn a_limit_is_at_least_one() {
    let mut queue = FairQueue::<()>::new(DeliveryLimits { at_once: 0, per_host: 0, per_caller: 0 });
    let held = queue.take(&again("a", "one")).unwrap();
    assert!(queue.take(&request("b", "two")).is_none());
    queue.release(held);
    assert!(queue.take(&request("b", "two")).is_some());
}

#[test]
fn a_canceled_request_leaves_nothing_behind() {
    let mut queue = queue();
    let held: Vec<_> = (0..4).map(|_| queue.take(&request("a", "one")).unwrap()).collect();
    let waiter = queue.wait(&request("a", "one"), "a");
    queue.cancel(&request("a", "one"), waiter);
    held.into_iter().for_each(|one| queue.release(one));
    assert!(queue.hosts.is_empty() && queue.callers.is_empty());
    assert!(queue.held.is_empty() && queue.waiting.is_empty());
    assert_eq!((queue.all.all, queue.all.again), (0, 0));
}
