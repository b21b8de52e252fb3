//! Tests the queues of turns and the limits of agents and memory with different orders of their threads.
//!
//! The modules are compiled here a second time, with shuttle's locks, atomics and semaphores in place of the standard
//! library's and tokio's.

mod async_sync;
mod conversations;
mod limits;

#[expect(clippy::duplicate_mod, reason = "compiled with other locks")]
#[path = "../agent_places.rs"]
mod agent_places;
#[expect(
    clippy::duplicate_mod,
    dead_code,
    unreachable_pub,
    reason = "compiled with other locks, and only parts of it are tried"
)]
#[path = "../../executor/cancel_signal.rs"]
mod cancel_signal;
#[expect(
    clippy::duplicate_mod,
    dead_code,
    reason = "compiled with other locks, and only parts of it are tried"
)]
#[path = "../memory_budget.rs"]
mod memory_budget;
#[expect(
    clippy::duplicate_mod,
    dead_code,
    reason = "compiled with other locks, and only parts of it are tried"
)]
#[path = "../queue.rs"]
mod queue;

use shuttle::sync;

use super::TurnLimits;
use cancel_signal::CancelSignal;

/// The number of orders, half of them random and half with priorities that change three times.
const ORDERS: usize = 2_000;
const CHANGES: usize = 3;

fn check(tried: impl Fn() + Copy + Send + Sync + 'static) {
    shuttle::check_random(tried, ORDERS);
    shuttle::check_pct(tried, ORDERS, CHANGES);
}

/// Returns whether shuttle finds an order in which this fails.
fn is_found_out(tried: impl Fn() + Copy + Send + Sync + 'static) -> bool {
    let checking = std::panic::AssertUnwindSafe(|| check(tried));
    std::panic::catch_unwind(checking).is_err()
}

fn lock<T>(mutex: &sync::Mutex<T>) -> sync::MutexGuard<'_, T> {
    mutex.lock().unwrap()
}
