//! Adapts requests and responses for clients of older dialects of A2A.
//!
//! - [`client_task_id`]: replaces task ids by those that clients of A2A 0.1 chose
//! - [`execute`]: serves skills as methods at `POST {base}/execute`
//! - [`flat_task_result`]: returns wrapped tasks with a flat state to minimal clients of 0.3
//! - [`python_a2a`]: serves A2A 0.1 as python-a2a uses it

pub(super) mod client_task_id;
pub(super) mod execute;
pub(super) mod flat_task_result;
pub(super) mod python_a2a;
