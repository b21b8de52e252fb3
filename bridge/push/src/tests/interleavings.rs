//! Tests the slots of deliveries with different orders of their threads.
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

/// The number of orders.
const ORDERS: usize = 3_000;

/// Returns whether shuttle finds an order in which this fails.
fn is_found_out(tried: fn()) -> bool {
    std::panic::catch_unwind(tried).is_err()
}

fn to(host: &str) -> SlotRequest {
    SlotRequest { caller: "me".into(), host: host.into(), is_again: false }
}

/// Every waiting request gets a slot, and afterwards all are free, even if a request leaves while it is granted one.
#[test]
fn no_slot_is_lost_and_no_delivery_is_forgotten() {
    let deliver = || {
        let slots =
            Arc::new(DeliverySlots::new(DeliveryLimits { at_once: 2, per_host: 1, per_caller: 2 }));
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
                // The request waits or is granted a slot, and leaves.
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
