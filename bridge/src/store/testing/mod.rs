//! The suite that every store backend passes.
//!
//! A backend implements [`Backend`] in its tests and names it in [`store_tests!`](crate::store_tests):
//! each test then is a test of its own. They panic where a store is not as [`Store`] says. [`FailingStore`] is a store
//! that fails, for tests of those who use one.

#![expect(
    clippy::unwrap_used,
    reason = "a test that cannot go on should say where"
)]

mod failing_store;
mod feed;
mod ids;
mod list;
mod log;
mod record;
mod restart;
mod sample;

use std::sync::Arc;

pub use failing_store::FailingStore;
pub use feed::{listening_tells_of_all_tasks, watching_loses_nothing};
pub use ids::{client_tasks_are_found, messages_are_stored_once};
pub use list::{
    filters_narrow_the_list, page_tokens_are_of_one_list, pages_are_stable_under_updates,
    pages_have_a_bound_in_bytes,
};
pub use log::{
    callers_do_not_see_each_other, conflicts_tell_the_number, ended_tasks_take_nothing,
    events_come_back_in_order, large_parts_come_back, senseless_events_are_refused,
    tasks_are_their_events_applied,
};
pub use record::small_records_come_back;
pub use restart::{
    everything_survives_reopening, open_turns_are_those_to_take_up,
    tasks_that_wait_are_found_by_time,
};
pub use sample::Sample;
#[cfg(test)]
pub(super) use sample::status;

use super::Store;

/// A kind of store, seen from its tests.
pub trait Backend {
    /// A store. Each call on the same value opens the same store; the suite has dropped the last one
    /// before it opens it again.
    fn open(&self) -> Arc<dyn Store>;

    /// Whether what was appended is there when the store is opened again.
    fn is_durable(&self) -> bool;
}

/// Makes a `#[tokio::test]` of each test of the suite, on the backend that the expression gives.
///
/// The modules of a backend outside of this crate need its dependencies tokio (`macros`, `rt-multi-thread`).
#[macro_export]
macro_rules! store_tests {
    ($backend:expr) => {
        $crate::store_tests!(@each $backend;
            events_come_back_in_order,
            tasks_are_their_events_applied,
            conflicts_tell_the_number,
            callers_do_not_see_each_other,
            ended_tasks_take_nothing,
            senseless_events_are_refused,
            large_parts_come_back,
            messages_are_stored_once,
            client_tasks_are_found,
            filters_narrow_the_list,
            page_tokens_are_of_one_list,
            pages_are_stable_under_updates,
            pages_have_a_bound_in_bytes,
            watching_loses_nothing,
            listening_tells_of_all_tasks,
            small_records_come_back,
            open_turns_are_those_to_take_up,
            tasks_that_wait_are_found_by_time,
            everything_survives_reopening,
        );
    };
    (@each $backend:expr; $($test:ident,)*) => {
        $(
            #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn $test() {
                $crate::store::testing::$test(&$backend).await;
            }
        )*
    };
}
