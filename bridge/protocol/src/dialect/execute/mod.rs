//! Agents that take each of their skills as a method: a card at `{base}/agent-card`, JSON-RPC at
//! `{base}/execute`, where `method` is a skill's id and `params` are its parameters.
//!
//! Nothing there has a task, a context or a version: a call is answered with the result object or an error,
//! and the schemas of the card say what goes in and out. To the rest of this project such a call is a
//! message with one data part, `{"skill_id", "parameters"}`, and its answer a task that ended.
//!
//! - [`call`]: a skill and its parameters, as a request and as a message
//! - [`card`]: cards with `input_schema` and `output_schema`
//! - [`error`]: the three errors that there are, with their codes and texts
//! - [`result`]: the result object that a task or message holds
//! - [`schema`]: the schemas of a skill, under every name that cards have for them, and what fits them

pub mod call;
pub mod card;
pub mod error;
pub mod result;
pub mod schema;

pub use call::SkillCall;
pub use error::ExecuteError;
pub use schema::SchemaError;

/// The binding's name in cards of 1.0, which want a URI for one that is not of the specification (4.4.6).
pub const BINDING: &str = "urn:a2a-evaluation:execute:v1";

/// Where the card is, below the agent's address.
pub const CARD_PATH: &str = "agent-card";

/// Where skills are called, below the agent's address.
pub const EXECUTE_PATH: &str = "execute";
