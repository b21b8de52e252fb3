//! Hosts bot-style agents behind A2A, every task kept.
//!
//! - [`caller`]: who asks
//! - [`store`]: the task log, and what is computed from it

pub mod caller;
pub mod store;
