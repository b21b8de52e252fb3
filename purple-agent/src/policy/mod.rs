//! Policies, which choose an agent's actions.
//!
//! - [`Policy`]: the trait to implement for a policy of your own
//! - [`Observation`] and [`Action`]: the input and output of a policy
//! - [`builtin`]: the policies of this crate, by name
//!
//! A policy only chooses. The agent (module `agent`) receives messages, calls tools and enforces limits, so a
//! policy that misbehaves is stopped like any other.

mod error;
mod faulty;
pub mod llm;
mod observation;
mod personal;
mod scripted;
mod settings;
mod sum_and_shop;

use std::sync::Arc;

use async_trait::async_trait;
use serde_json::Value;

pub use error::{PolicyError, SettingsError};
pub use observation::{Action, CompletedCall, Observation, Step, ToolCall};

/// Chooses the next action. A policy is created for each conversation and may keep state.
#[async_trait]
pub trait Policy: Send + 'static {
    /// Returns the policy's name in reports.
    fn name(&self) -> &str;

    /// Returns the next action in this observation. It is called again when that action is done: after calls, their
    /// results are the last of [`Observation::steps`]; after [`Action::Wait`], a message has arrived since the last calls were
    /// chosen.
    ///
    /// The future is dropped when the agent is stopped or its time is over.
    async fn next(&mut self, observation: &Observation<'_>) -> Result<Action, PolicyError>;
}

/// Creates a policy for each conversation.
pub type NewPolicy = Arc<dyn Fn() -> Box<dyn Policy> + Send + Sync>;

/// The policies of this crate, each with its description.
pub const BUILTINS: [(&str, &str); 8] = [
    (
        "sum-and-shop",
        "solves the built-in environments sum and shop, which it recognises by their tools' names, and no others",
    ),
    ("scripted", "calls the tools that its settings list"),
    ("llm", "asks a language model, over OpenAI's, Anthropic's or Gemini's protocol"),
    ("personal", "helps a user: finds other agents on the web and calls their skills"),
    ("never-connects", "faulty: waits and never connects"),
    ("wrong-token", "faulty: connects with a changed token"),
    ("lies", "faulty: claims success and does nothing"),
    ("never-stops", "faulty: calls tools until it is stopped"),
];

/// Returns the current name of a built-in policy, given its current or former name.
pub fn builtin_name(name: &str) -> Option<&'static str> {
    let name = match name {
        "heuristic" => "sum-and-shop",
        name => name,
    };
    let mut names = BUILTINS.iter().map(|(builtin, _)| *builtin);
    names.find(|builtin| *builtin == name)
}

/// Returns the default policy: `llm` if the settings name a model, else `sum-and-shop`, which needs no model.
pub fn default_name(settings: &Value) -> &'static str {
    match settings.get("model") {
        Some(model) if !model.is_null() => "llm",
        Some(_) | None => BUILTINS[0].0,
    }
}

/// Creates the policy of this name with these settings: an object, or null for none. The README lists the settings
/// of each policy.
///
/// # Errors
/// If there is no such policy, or a setting is invalid.
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

    #[test]
    fn the_reference_page_describes_each_policy() {
        let page = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/reference/policies.md");
        let page = std::fs::read_to_string(page).unwrap();
        let headings: Vec<&str> = page.lines().filter(|line| line.starts_with("## ")).collect();
        for (name, _) in BUILTINS {
            let is_named = |line: &&str| line.contains(name);
            assert!(headings.iter().any(is_named), "{name} is missing");
        }
    }
}
