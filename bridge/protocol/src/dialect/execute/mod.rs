//! Agents that call each skill as a method: a card at `{base}/agent-card`, JSON-RPC at `{base}/execute`,
//! where `method` is a skill's id and `params` are its parameters.
//!
//! This protocol has no tasks, contexts or versions: the answer to a call is the result object or an error,
//! and the card has the schemas of both. The other crates treat such a call as a message with one data part,
//! `{"skill_id", "parameters"}`, and the answer as a completed task.
//!
//! - [`call`]: a call of a skill, as a request and as a message
//! - [`card`]: cards with `input_schema` and `output_schema`
//! - [`error`]: the three errors, with their codes and texts
//! - [`result`]: the result object in a task or message
//! - [`schema`]: finds the schemas of a skill; `bridge-verify` checks values against them

pub mod call;
pub mod card;
pub mod error;
pub mod result;
pub mod schema;

pub use call::SkillCall;
pub use error::ExecuteError;

/// The binding's name in cards of 1.0, which require a URI for bindings outside the specification (4.4.6).
pub const BINDING: &str = "urn:a2a-evaluation:execute:v1";

/// The path of the card below the agent's address.
pub const CARD_PATH: &str = "agent-card";

/// The path for calls below the agent's address.
pub const EXECUTE_PATH: &str = "execute";
