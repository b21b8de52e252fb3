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
pub mod llm;
mod personal;
mod scripted;
mod settings;
mod situation;
mod sum_and_shop;

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
        "sum-and-shop",
        "solves the built-in environments sum and shop, which it knows by their tools' names, and no others",
    ),
    ("scripted", "calls the tools that its settings list"),
    (
        "llm",
        "asks a language model, over OpenAI's, Anthropic's or Gemini's protocol",
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

/// The name of a built-in policy, which may be given by the one that it had before.
pub fn builtin_name(name: &str) -> Option<&'static str> {
    let name = match name {
        "heuristic" => "sum-and-shop",
        name => name,
    };
    let mut names = BUILTINS.iter().map(|(builtin, _)| *builtin);
    names.find(|builtin| *builtin == name)
}

/// The policy that is meant where none is named: `llm` where its settings name a model, else the one that needs
/// none.
pub fn default_name(settings: &Value) -> &'static str {
    match settings.get("model") {
        Some(model) if !model.is_null() => "llm",
        Some(_) | None => BUILTINS[0].0,
    }
}

/// The policy of this name, with these settings: an object, or null for none. The README lists the
/// settings of each.
///
/// # Errors
/// If there is no such policy, or a setting is not as it should be.
pub fn builtin(name: &str, settings: &Value) -> Result<NewPolicy, SettingsError> {
    match builtin_name(name).unwrap_or(name) {
        "sum-and-shop" => sum_and_shop::new_policy(settings),
        "scripted" => scripted::new_policy(settings),
        "llm" => llm::new_policy(settings),
        "personal" => personal::new_policy(settings),
        name => faulty::new_policy(name, settings),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_former_name_is_still_read_and_a_model_is_asked_where_one_is_set() {
        assert_eq!(builtin_name("heuristic"), Some("sum-and-shop"));
        assert_eq!(builtin_name("oracle"), None);
        let policy = builtin("heuristic", &Value::Null).unwrap()();
        assert_eq!(policy.name(), "sum-and-shop");
        assert_eq!(default_name(&json!({"model": "m"})), "llm");
        assert_eq!(default_name(&Value::Null), "sum-and-shop");
    }
}
