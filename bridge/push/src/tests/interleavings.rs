//! The slots of deliveries in the orders in which their threads may run.
//!
//! The module is compiled here a second time, with shuttle's lock in place of the standard library's.

mod workers;

use futures_util::FutureExt as _;
use shuttle::{future::block_on, sync, sync::Arc, thread};

use crate::fair_queue::{self, DeliveryLimits, SlotRequest};

#[expect(
    clippy::duplicate_mod,
    dead_code,
    reason = "compiled with another lock, and time does not pass here"
)]
#[path = "../delivery_slots.rs"]
mod delivery_slots;

use delivery_slots::DeliverySlots;

/// In so many orders.
const ORDERS: usize = 3_000;

/// Whether shuttle finds an order in which this fails.
fn is_found_out(tried: fn()) -> bool {
    std::panic::catch_unwind(tried).is_err()
}

fn to(host: &str) -> SlotRequest {
    SlotRequest {
        caller: "me".into(),
        host: host.into(),
        is_again: false,
    }
}

/// Everybody who waits for a slot gets one, and afterwards all are free: also when somebody leaves while being granted one.
#[test]
fn no_slot_is_lost_and_nobody_is_forgotten() {
    let deliver = || {
        let slots = Arc::new(DeliverySlots::new(DeliveryLimits {
            at_once: 2,
            per_host: 1,
            per_caller: 2,
        }));
        let mut deliveries = Vec::new();
        for host in ["a", "a", "b"] {
            let slots = Arc::clone(&slots);
            deliveries.push(thread::spawn(move || {
                drop(block_on(slots.take(&to(host))));
            }));
        }
        for host in ["a", "b"] {
            let slots = Arc::clone(&slots);
            deliveries.push(thread::spawn(move || {
                let request = to(host);
                let mut taking = Box::pin(slots.take(&request));
                // It waits or is granted a slot, and leaves.
                let _ = taking.as_mut().now_or_never();
                thread::yield_now();
            }));
        }
        for delivery in deliveries {
            delivery.join().unwrap();
        }
        let held = ["a", "b"].map(|host| slots.try_take(&to(host)));
        assert!(held.iter().all(Option::is_some));
    };
    shuttle::check_random(deliver, ORDERS);
    shuttle::check_pct(deliver, ORDERS, 3);
}
