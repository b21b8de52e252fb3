//! The places of an agent, and the memory of running turns.

use std::{mem, pin::Pin};

use futures_util::FutureExt as _;
use shuttle::{
    future::block_on,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    thread,
};

use super::{
    TurnLimits, agent_places::AgentPlaces, check, is_found_out, lock, memory_budget::MemoryBudget,
    sync::Mutex,
};
use crate::caller::Caller;

type Waiting<'a, T> = Pin<Box<dyn Future<Output = Option<T>> + Send + 'a>>;

/// Requests a resource, and leaves before or after it is granted.
fn leave<T>(mut waiting: Waiting<'_, T>) {
    let granted = waiting.as_mut().now_or_never();
    thread::yield_now();
    drop((granted, waiting));
}

/// Leaves without releasing: the place in the queue, or the granted resource, is lost.
fn forget<T>(mut waiting: Waiting<'_, T>) {
    let granted = waiting.as_mut().now_or_never();
    thread::yield_now();
    mem::forget((granted, waiting));
}

/// Counts the concurrent users of a resource.
#[derive(Default)]
struct Usage(AtomicUsize);

impl Usage {
    fn during(&self, units: usize, limit: usize) {
        let used = self.0.fetch_add(units, Ordering::SeqCst) + units;
        assert!(used <= limit, "{used} of {limit} are used");
        self.0.fetch_sub(units, Ordering::SeqCst);
    }
}

fn limits() -> TurnLimits {
    TurnLimits { at_once: 2, waiting: 1, waiting_bytes: 20, ..TurnLimits::default() }
}

/// Checks that two turns run at the same time, that every waiting turn gets a place in the end, and that all places are
/// free afterwards.
fn run_turns(leaving: fn(Waiting<'_, super::agent_places::RunPermit>)) {
    let (places, usage) = (Arc::new(AgentPlaces::new(limits())), Arc::new(Usage::default()));
    let mut turns = Vec::new();
    for _ in 0..3 {
        let (places, usage) = (Arc::clone(&places), Arc::clone(&usage));
        turns.push(thread::spawn(move || {
            let _permit = block_on(places.run("agent")).unwrap();
            usage.during(1, 2);
        }));
    }
    for _ in 0..2 {
        let places = Arc::clone(&places);
        turns.push(thread::spawn(move || {
            leaving(Box::pin(places.run("agent")));
        }));
    }
    turns.into_iter().for_each(|turn| turn.join().unwrap());
    let free: Vec<_> = (0..3).map_while(|_| places.try_run("agent")).collect();
    assert_eq!(free.len(), 2);
}

#[test]
fn no_place_is_lost_and_no_turn_is_forgotten() {
    check(|| run_turns(leave));
}

#[test]
fn a_dropped_turn_that_keeps_its_slot_is_detected() {
    assert!(is_found_out(|| run_turns(forget)));
}

/// Several messages arrive at once, and exactly as many are accepted as there is room for.
#[test]
fn messages_that_come_at_once_are_taken_while_there_is_room() {
    for (bytes, taken) in [(1, 3), (10, 2)] {
        check(move || {
            let places = Arc::new(AgentPlaces::new(limits()));
            let entered = Arc::new(Mutex::new(Vec::new()));
            let messages = [(); 4].map(|()| {
                let (places, entered) = (Arc::clone(&places), Arc::clone(&entered));
                thread::spawn(move || {
                    if let Ok(unended) = places.enter("agent", bytes) {
                        lock(&entered).push(unended);
                    }
                })
            });
            messages.into_iter().for_each(|one| one.join().unwrap());
            assert_eq!(mem::take(&mut *lock(&entered)).len(), taken);
            assert!(places.enter("agent", 1_000).is_ok(), "all bytes are free");
        });
    }
}

#[test]
fn the_messages_and_bytes_of_an_agent_are_limited() {
    let counted = || {
        let places = AgentPlaces::new(limits());
        let first = places.enter("slow", 1_000).unwrap();
        assert_eq!(places.enter("slow", 1).unwrap_err(), 1, "its bytes are used up");
        drop(first);
        let taken: Vec<_> = (0..3).map(|_| places.enter("slow", 5).unwrap()).collect();
        assert_eq!(places.enter("slow", 5).unwrap_err(), 3);
        assert!(places.enter("other", 5).is_ok());
        drop(taken);
        assert!(places.enter("slow", 5).is_ok());
        let running = [(); 2].map(|()| places.try_run("slow").unwrap());
        assert!(places.try_run("slow").is_none() && places.try_run("other").is_some());
        drop(running);
        assert!(places.try_run("slow").is_some());
    };
    // There is only one thread, but these locks are shuttle's.
    shuttle::check_random(counted, 1);
}

/// Small turns have four units of this memory, and one caller may use at most two of them.
const MEMORY: usize = 16 << 10;
const UNIT: usize = 1 << 10;

/// Checks that no caller gets more than a share, that every waiting turn gets memory in the end, and that all is free
/// afterwards.
fn use_memory(leaving: fn(Waiting<'_, super::memory_budget::BudgetReservation>)) {
    let budget = Arc::new(MemoryBudget::new(MEMORY));
    let all = Arc::new(Usage::default());
    let mut turns = Vec::new();
    for (name, units) in [("a", &[2, 1][..]), ("b", &[2]), ("c", &[1])] {
        let own = Arc::new(Usage::default());
        for &units in units {
            let (budget, all, own) = (Arc::clone(&budget), Arc::clone(&all), Arc::clone(&own));
            turns.push(thread::spawn(move || {
                let caller = Caller::new(name);
                let _reservation = block_on(budget.reserve(&caller, units * UNIT)).unwrap();
                own.during(units, 2);
                all.during(units, 4);
            }));
        }
    }
    for name in ["a", "b"] {
        let budget = Arc::clone(&budget);
        turns.push(thread::spawn(move || {
            leaving(Box::pin(budget.reserve(&Caller::new(name), 2 * UNIT)));
        }));
    }
    turns.into_iter().for_each(|turn| turn.join().unwrap());
    let free = ["a", "b"].map(|name| budget.try_reserve(&Caller::new(name), 2 * UNIT));
    assert!(free.iter().all(Option::is_some));
    assert!(budget.try_reserve(&Caller::new("c"), UNIT).is_none());
}

#[test]
fn no_memory_is_lost_and_no_turn_is_forgotten() {
    check(|| use_memory(leave));
}

#[test]
fn a_dropped_turn_that_keeps_its_memory_is_detected() {
    assert!(is_found_out(|| use_memory(forget)));
}

/// A caller whose share is used up holds nothing while it waits.
#[test]
fn waiting_for_a_limit_takes_nothing_from_others() {
    check(|| {
        let budget = Arc::new(MemoryBudget::new(MEMORY));
        let (one, other) = (Caller::new("a"), Caller::new("b"));
        let first = budget.try_reserve(&one, 2 * UNIT).unwrap();
        let waiting = {
            let budget = Arc::clone(&budget);
            thread::spawn(move || drop(block_on(budget.reserve(&one, 2 * UNIT))))
        };
        assert!(budget.try_reserve(&other, 2 * UNIT).is_some());
        drop(first);
        waiting.join().unwrap();
    });
}
