//! Agents as processes of this machine: started, watched, heard, and ended without a trace.
//!
//! It does not know scenarios or runs; it is told what to start and says how that went.
//!
//! - [`environment`]: `.env` and `${NAME}`, and which values are secrets
//! - [`ports`]: free ports that parallel runs do not share
//! - [`launch`]: what is started and how
//! - [`process`]: one agent, from its start to its end
//! - [`ready`]: waiting for an agent's card
//! - [`keeper`]: the supervisor between the runner and an agent, which outlives the runner
//! - [`booth`]: a built-in bot, hosted in this process
//! - [`exit`], [`output`], [`path`], [`tree`]: what those are made of

pub mod booth;
pub mod environment;
pub mod exit;
pub mod keeper;
pub mod launch;
pub mod output;
pub mod path;
pub mod ports;
pub mod process;
pub mod ready;
pub mod tree;

pub use booth::Booth;
pub use exit::AgentExit;
pub use keeper::Keeper;
pub use launch::{Launch, StartError};
pub use output::{AgentLine, Alive, Mask};
pub use process::AgentProcess;
