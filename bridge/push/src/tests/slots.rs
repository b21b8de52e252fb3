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
