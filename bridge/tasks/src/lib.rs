//! Runs the turns of agents on tasks that a store keeps.
//!
//! It contains no transport and no kind of agent: a server submits messages and follows tasks, and a host of agents
//! implements [`executor::Executor`].
//!
//! Modules, from the lowest up:
//! - [`metrics`]: metrics for operators
//! - [`executor`], [`agent`]: the interface to agents, and the settings of a hosted one
//! - [`trace`]: the spans of turns
//! - [`LogReader`]: reads the events of a task
//! - [`turns`]: runs the turns of agents
//! - [`run_to_completion`]: completes operations whose client disconnects in the meantime

pub mod agent;
mod completion;
pub mod executor;
mod log_reader;
mod metered;
pub mod metrics;
pub mod trace;
pub mod turns;
mod write_refusals;

pub use completion::run_to_completion;
pub use log_reader::LogReader;

use bridge_program::clock;
use bridge_store::{self as store, caller};
