//! Agents that call each skill as a method: a card at `{base}/agent-card`, JSON-RPC at `{base}/execute`,
//! where `method` is a skill's id and `params` are its parameters.
//!
//! This protocol has no tasks, contexts or versions: the answer to a call is the result object or an error,
//! and the card has the schemas of both. The other crates treat such a call as a message with a
//! [`SkillCall`](super::skill::SkillCall), and the answer as a completed task.
//!
//! - `call`: a call of a skill as a request
//! - [`card`]: cards with `input_schema` and `output_schema`
//! - [`error`]: the three errors, with their codes and texts
//! - [`result`]: the result object in a task or message

mod call;
pub mod card;
pub mod error;
pub mod result;

pub use error::ExecuteError;

/// The path for calls below the agent's address.
pub const EXECUTE_PATH: &str = "execute";
