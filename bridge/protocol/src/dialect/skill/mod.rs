//! Calls of skills with parameters, and their results as data.
//!
//! A call is a message with one data part, `{"skill_id", "parameters"}`, in every version. Cards have the schemas of
//! parameters and result.
//!
//! - [`call`]: a call of a skill in a message
//! - [`result`]: data and text of an answer
//! - [`schema`]: finds the schemas of a skill; `bridge-verify` checks values against them

pub mod call;
pub mod result;
pub mod schema;

pub use call::SkillCall;

/// The binding of agents that call each skill as a method, in cards of 1.0, which require a URI for bindings
/// outside the specification (4.4.6).
pub const EXECUTE_BINDING: &str = "urn:a2a-evaluation:execute:v1";
