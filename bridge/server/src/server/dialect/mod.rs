//! Adapts requests and responses for clients of older dialects of A2A.
//!
//! - [`client_task_id`]: replaces task ids by those that clients of A2A 0.1 chose
//! - [`flat_task_result`]: returns wrapped tasks with a flat state to minimal clients of 0.3

pub(super) mod client_task_id;
pub(super) mod flat_task_result;
