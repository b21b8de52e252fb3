//! An agent under evaluation: it collects the messages that an evaluator sends over A2A, and acts through its own
//! tools and those of the MCP server that the messages name.
//!
//! The crate does not evaluate and contains nothing about the environments, except for the policy `sum-and-shop`:
//! a [`policy::Policy`] chooses each action.
//!
//! Modules, from the lowest:
//! - [`toolbox`]: the tools that can be called
//! - [`policy`]: the choice of the next action
//! - [`agent`]: a policy with its tools and limits, and its work from the first message to the end
//! - [`hosted`]: the agent as an A2A server, which evaluators call
//! - [`a2a_client`]: the agent as an A2A client, which requests an evaluation
//! - [`mod@run`]: one evaluation as a client, from the request to the result
//! - [`cli`]: the program
//!
//! The agent as a server is mounted like any agent of the bridge:
//!
//! ```no_run
//! # async fn serve() -> Result<(), Box<dyn std::error::Error>> {
//! use bridge::{host::Host, store::MemoryStore};
//! use purple_agent::{agent::{AgentSettings, PurpleAgent}, policy};
//!
//! let policy = policy::builtin("sum-and-shop", &serde_json::Value::Null)?;
//! let agent = PurpleAgent::new(policy, AgentSettings::default()).into_agent("purple");
//! let host = Host::new(std::sync::Arc::new(MemoryStore::new()), [agent]);
//! let app = host.router("http://127.0.0.1:9019").await?;
//! # drop(app);
//! # Ok(())
//! # }
//! ```

// All output goes through `bridge_program::terminal`, because much of it comes from untrusted peers.
#![warn(clippy::print_stdout, clippy::print_stderr)]

pub mod a2a_client;
pub mod agent;
pub mod cli;
pub mod hosted;
pub mod policy;
pub mod run;
pub mod toolbox;

pub use agent::PurpleAgent;
// Users implement `Policy` with this attribute.
pub use async_trait::async_trait;
pub use run::run;
