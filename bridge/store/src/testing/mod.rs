//! The test suite for store backends.
//!
//! A backend implements [`Backend`] in its tests and passes it to [`store_tests!`](crate::store_tests), which defines a
//! test function for each test. A test panics if the store breaks a guarantee of [`Store`]. [`FailingStore`] is a store
//! whose operations fail, for tests of code that uses a store.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on should say where")]

mod deletion;
mod failing_store;
mod feed;
mod ids;
mod list;
mod log;
mod record;
mod restart;
mod sample;

use std::{sync::Arc, time::Duration};

pub use deletion::{
    a_deleted_task_is_not_found, deletion_is_refused_for_open_tasks_and_other_callers,
    deletions_survive_reopening, ended_tasks_are_listed_by_time,
    ids_of_deleted_tasks_can_be_used_again,
};
pub use failing_store::FailingStore;
pub use feed::{listeners_are_notified_of_all_tasks, watchers_miss_no_event};
pub use ids::{client_tasks_are_found, messages_are_stored_once};
pub use list::{
    contexts_are_listed_while_they_grow_and_shrink, filters_narrow_the_list,
    page_tokens_are_valid_for_one_list, pages_are_limited_in_bytes, pages_are_stable_under_updates,
};
pub use log::{
    callers_are_separated, conflicts_report_the_last_event, ended_tasks_accept_no_events,
    events_are_read_as_they_were_appended, events_are_read_in_order, invalid_events_are_refused,
    large_parts_are_read_back, tasks_are_their_events_applied,
};
pub use record::small_records_are_read_back;
pub use restart::{
    everything_survives_reopening, open_turns_are_listed, waiting_tasks_are_listed_by_time,
};
pub use sample::Sample;
pub use sample::{artifact, status};

use super::Store;

/// The time after which a store that does not notify a reader has failed.
const LIMIT: Duration = Duration::from_secs(60);

/// A backend under test.
pub trait Backend {
    /// Opens the store. Each call on the same value opens the same store. The suite drops the store before it opens it
    /// again.
    fn open(&self) -> Arc<dyn Store>;

    /// Returns whether the store has its events after it was opened again.
    fn is_durable(&self) -> bool;
}

/// Defines a `#[tokio::test]` for each test of the suite, with the backend that the expression returns.
///
/// A backend in another crate needs the dependency tokio (`macros`, `rt-multi-thread`).
#[macro_export]
macro_rules! store_tests {
    ($backend:expr) => {
        $crate::store_tests!(@each $backend;
            events_are_read_in_order,
            events_are_read_as_they_were_appended,
            tasks_are_their_events_applied,
            conflicts_report_the_last_event,
            callers_are_separated,
            ended_tasks_accept_no_events,
            invalid_events_are_refused,
            large_parts_are_read_back,
            messages_are_stored_once,
            client_tasks_are_found,
            filters_narrow_the_list,
            contexts_are_listed_while_they_grow_and_shrink,
            page_tokens_are_valid_for_one_list,
            pages_are_stable_under_updates,
            pages_are_limited_in_bytes,
            watchers_miss_no_event,
            listeners_are_notified_of_all_tasks,
            small_records_are_read_back,
            open_turns_are_listed,
            waiting_tasks_are_listed_by_time,
            everything_survives_reopening,
            a_deleted_task_is_not_found,
            deletion_is_refused_for_open_tasks_and_other_callers,
            ids_of_deleted_tasks_can_be_used_again,
            ended_tasks_are_listed_by_time,
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
