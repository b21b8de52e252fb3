//! The test suite for store backends.
//!
//! A backend implements [`Backend`] in its tests and passes it to [`store_tests!`](crate::store_tests), which makes a
//! test function of each test. A test panics if the store breaks a guarantee of [`Store`]. [`FailingStore`] is a store
//! whose operations fail, for tests of its users.

#![expect(
    clippy::unwrap_used,
    reason = "a test that cannot go on should say where"
)]

mod deletion;
mod failing_store;
mod feed;
mod ids;
mod list;
mod log;
mod record;
mod restart;
mod sample;

use std::sync::Arc;

pub use deletion::{
    a_deleted_task_is_nowhere, deletion_is_refused_to_others_and_for_open_tasks,
    deletions_survive_reopening, ended_tasks_are_found_by_time,
    ids_of_deleted_tasks_can_be_used_again,
};
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
pub use sample::{artifact, status};

use super::Store;

/// A backend under test.
pub trait Backend {
    /// Opens the store. Each call on the same value opens the same store; the suite drops the store before it
    /// opens it again.
    fn open(&self) -> Arc<dyn Store>;

    /// Whether appended events are still there when the store is opened again.
    fn is_durable(&self) -> bool;
}

/// Makes a `#[tokio::test]` of each test of the suite, with the backend that the expression returns.
///
/// A backend in another crate needs the dependency tokio (`macros`, `rt-multi-thread`).
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
            a_deleted_task_is_nowhere,
            deletion_is_refused_to_others_and_for_open_tasks,
            ids_of_deleted_tasks_can_be_used_again,
            ended_tasks_are_found_by_time,
            deletions_survive_reopening,
        );
    };
    (@each $backend:expr; $($test:ident,)*) => {
        $(
            #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn $test() {
                $crate::testing::$test(&$backend).await;
            }
        )*
    };
}
