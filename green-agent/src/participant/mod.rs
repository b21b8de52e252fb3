//! Agents as processes of this machine: started, watched, heard, and ended without a trace.
//!
//! It does not know scenarios or runs; it is told what to start and says how that went.
//!
//! - [`environment`]: `.env` and `${NAME}`, and which values are secrets
//! - [`ports`]: free ports that parallel runs do not share
//! - [`launch`]: what is started and how
//! - [`process`]: one agent, from its start to its end
//! - [`ready`]: waiting for an agent's card
//! - [`local_server`]: a built-in bot, hosted in this process
//! - [`output`]: what agents print
//!
//! Between the runner and an agent stands a [`Keeper`], which outlives the runner.

pub mod env_vars;
pub mod launch;
pub mod local_server;
pub mod output;
pub mod ports;
pub mod process;
pub mod ready;

pub use bridge_program::keeper::{Keeper, ProcessExit as AgentExit};
pub use launch::{Launch, StartError};
pub use local_server::LocalServer;
pub use output::{ActivityListener, AgentLine, Mask};
pub use process::AgentProcess;
