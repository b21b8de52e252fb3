//! Tests of the slots.

use std::sync::Arc;

use crate::{delivery_slots::*, fair_queue::*};
use futures_util::FutureExt as _;

fn slots() -> Arc<DeliverySlots> {
    Arc::new(DeliverySlots::new(DeliveryLimits { at_once: 3, per_host: 2, per_caller: 3 }))
}

fn to(host: &str) -> SlotRequest {
    SlotRequest { caller: "me".into(), host: host.into(), is_again: false }
}

#[tokio::test]
async fn a_freed_slot_goes_to_a_waiting_request_and_not_to_a_canceled_one() {
    let slots = slots();
    let held = [slots.take(&to("slow")).await, slots.take(&to("slow")).await];
    let (one, other) = (to("slow"), to("slow"));
    let mut left = Box::pin(slots.take(&one));
    let mut stays = Box::pin(slots.take(&other));
    assert!(left.as_mut().now_or_never().is_none());
    assert!(stays.as_mut().now_or_never().is_none());
    drop(left);
    let [first, second] = held;
    drop(first);
    let got = stays.now_or_never().expect("a place");
    drop((second, got));
    assert!(slots.try_take(&to("slow")).is_some());
}

#[tokio::test]
async fn a_slot_granted_to_a_request_that_is_dropped_is_granted_to_the_next() {
    let slots = slots();
    let held = [slots.take(&to("slow")).await, slots.take(&to("slow")).await];
    let request = to("slow");
    let mut leaves = Box::pin(slots.take(&request));
    assert!(leaves.as_mut().now_or_never().is_none());
    drop(held);
    drop(leaves);
    let all = [slots.try_take(&to("slow")), slots.try_take(&to("slow"))];
    assert!(all.iter().all(Option::is_some));
}

/// One of them waits for the host of the freed slot, and the other one for its caller.
#[tokio::test]
async fn a_freed_slot_can_make_room_for_two_requests() {
    let limits = DeliveryLimits { at_once: 3, per_host: 1, per_caller: 1 };
    let slots = Arc::new(DeliverySlots::new(limits));
    let of = |caller: &str, host: &str| SlotRequest { caller: caller.into(), ..to(host) };
    let held = slots.take(&of("me", "one")).await;
    let (by_host, by_caller) = (of("you", "one"), of("me", "two"));
    let mut waiting = [&by_host, &by_caller].map(|request| Box::pin(slots.take(request)));
    assert!(waiting.iter_mut().all(|one| one.as_mut().now_or_never().is_none()));
    drop(held);
    let granted = waiting.map(|one| one.now_or_never());
    assert!(granted.iter().all(Option::is_some));
}

#[tokio::test(start_paused = true)]
async fn a_slot_is_not_yielded_to_a_request_that_has_left() {
    let slots = slots();
    let held = [slots.take(&to("slow")).await, slots.take(&to("slow")).await];
    let request = to("slow");
    let mut leaves = Box::pin(slots.take(&request));
    assert!(leaves.as_mut().now_or_never().is_none());
    drop(leaves);
    let preempted = tokio::time::timeout(10 * PATIENCE, held[0].preempted()).await;
    preempted.unwrap_err();
}

#[tokio::test(start_paused = true)]
async fn a_slot_is_preempted_after_a_while() {
    let slots = slots();
    let held = [slots.take(&to("slow")).await, slots.take(&to("slow")).await];
    let begun = tokio::time::Instant::now();
    let waiting = tokio::spawn({
        let slots = slots.clone();
        async move { slots.take(&to("slow")).await }
    });
    let [first, _second] = held;
    first.preempted().await;
    assert_eq!(begun.elapsed(), PATIENCE);
    drop(first);
    waiting.await.unwrap();
}
