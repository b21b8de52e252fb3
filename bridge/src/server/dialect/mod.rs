//! Repairs for clients of older dialects of A2A.
//!
//! - [`client_task_id`]: tasks under the ids that clients of A2A 0.1 chose
//! - [`execute`]: skills as methods, `POST {base}/execute`
//! - [`flat_task_result`]: the wrapped task with a flat state that the smallest clients of 0.3 read
//! - [`python_a2a`]: A2A 0.1 as python-a2a speaks it

pub(super) mod client_task_id;
pub(super) mod execute;
pub(super) mod flat_task_result;
pub(super) mod python_a2a;
