//! Who chooses what is done next.
//!
//! - [`Policy`]: the trait, for whoever writes one of their own
//! - [`Situation`] and [`Action`]: what it sees and what it answers
//! - [`builtin`]: the policies of this crate, by name
//!
//! A policy only chooses. Messages are received, tools called and limits kept by the agent
//! (the room `agent`), so a policy that misbehaves is ended like any other.

mod error;
mod faulty;
mod heuristic;
pub mod llm;
mod personal;
mod scripted;
mod settings;
mod situation;

use std::sync::Arc;

use async_trait::async_trait;
use serde_json::Value;

pub use error::{PolicyError, SettingsError};
pub use situation::{Action, Called, Situation, Step, ToolCall};

/// Chooses what is done next. A policy is made anew for each conversation and may remember things.
#[async_trait]
pub trait Policy: Send + 'static {
    /// What it is called in reports.
    fn name(&self) -> &str;

    /// What is to be done in this situation. It is asked again when that is done: after calls with their
    /// results as the last of [`Situation::steps`], after [`Action::Wait`] when another message is there.
    ///
    /// The future is dropped when the agent is stopped or its time is up.
    async fn next(&mut self, situation: &Situation<'_>) -> Result<Action, PolicyError>;
}

/// Makes a policy for each conversation.
pub type NewPolicy = Arc<dyn Fn() -> Box<dyn Policy> + Send + Sync>;

/// The policies of this crate, each with what it does.
pub const BUILTINS: [(&str, &str); 8] = [
    (
        "heuristic",
        "solves the built-in environments from what it observes",
    ),
    ("scripted", "calls the tools that its settings list"),
    (
        "llm",
        "asks a language model, over OpenAI's or Anthropic's protocol",
    ),
    (
        "personal",
        "helps a user: finds other agents on the web and has them answer",
    ),
    ("never-connects", "faulty: waits and never connects"),
    ("wrong-token", "faulty: connects with a changed token"),
    ("lies", "faulty: claims success and does nothing"),
    ("never-stops", "faulty: calls tools until it is stopped"),
];

/// The policy of this name, with these settings: an object, or null for none. The README lists the
/// settings of each.
///
/// # Errors
/// If there is no such policy, or a setting is not as it should be.
pub fn builtin(name: &str, settings: &Value) -> Result<NewPolicy, SettingsError> {
    match name {
        "heuristic" => heuristic::new_policy(settings),
        "scripted" => scripted::new_policy(settings),
        "llm" => llm::new_policy(settings),
        "personal" => personal::new_policy(settings),
        name => faulty::new_policy(name, settings),
    }
}
