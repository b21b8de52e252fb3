//! Runs agents as processes of this machine: starts them, reads their output, waits until they are ready, and
//! ends them with all their child processes.
//!
//! It knows of scenarios only what agents inherit and require, and nothing of runs.
//!
//! - [`install`]: installs what agents require
//! - [`env_vars`]: environment variables from `.env` and `${NAME}`, and which of them are secrets
//! - [`ports`]: free ports that parallel runs do not share
//! - [`launch`]: the description of a process, and its start
//! - [`process`]: one agent, from its start to its end
//! - [`ready`]: waits for an agent's card
//! - [`local_server`]: an agent hosted in this process
//! - [`output`]: the agents' output
//!
//! Between the runner and an agent there is a supervisor process, [`Supervisor`], which outlives the runner. It is the same
//! program, whose `main` passes its work to [`supervisor::main`].

pub mod env_vars;
pub mod install;
pub mod launch;
pub mod local_server;
pub mod output;
pub mod ports;
pub mod process;
pub mod ready;

pub use bridge_program::supervisor::{self, ProcessExit as AgentExit, Supervisor};
pub use launch::{Launch, StartError};
pub use local_server::LocalServer;
pub use output::{ActivityListener, AgentLine, Mask};
pub use process::AgentProcess;
