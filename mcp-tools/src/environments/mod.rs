//! Environments for evaluations: small worlds with a goal, which an agent reaches through MCP tools.
//!
//! - [`Environment`]: one such world with its current state
//! - [`TaskInfo`]: the task description that the agent gets
//! - [`Score`]: the score of the state, which the agent never sees
//! - [`EnvironmentError`]: a failure of the environment, which is never the agent's fault
//! - [`Arguments`]: reads the arguments of a tool call
//! - [`BUILTINS`]: the worlds in this crate: [`sum`], [`shop`]

mod rng;
pub mod shop;
pub mod sum;

pub(crate) use crate::arguments::changing;
pub use crate::arguments::{Arguments, refused, tool};

use async_trait::async_trait;
use clap::builder::PossibleValue;
use rmcp::model::{CallToolResult, JsonObject, Tool};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// A world that an agent acts in. Each episode creates a new one from a seed: the same seed creates the same
/// world.
///
/// The episode handles tokens, limits of steps and time, the tool `submit` and calls after a submission; an
/// environment only handles its own state.
#[async_trait]
pub trait Environment: Send + 'static {
    /// Returns the task description for the agent.
    fn task(&self) -> TaskInfo;

    /// Returns the tools that change or show the state, without `submit`.
    fn tools(&self) -> Vec<Tool>;

    /// Executes a tool. A wrong argument or an impossible step is a result with `is_error`, which says what was
    /// expected and changes nothing. Results must not reveal the score.
    ///
    /// It is only called for tools in [`Environment::tools`].
    async fn call(&mut self, tool: &str, arguments: JsonObject) -> CallToolResult;

    /// Takes the agent's answer, for tasks that ask for one. It is called once, at the end.
    ///
    /// # Errors
    /// If the environment itself failed. A wrong answer is not an error.
    async fn submit(&mut self, answer: Option<&Value>) -> Result<(), EnvironmentError> {
        let _ = answer;
        Ok(())
    }

    /// Scores the current state. It is called once, when the episode has ended.
    ///
    /// # Errors
    /// If the environment itself failed, so that no score is known.
    async fn score(&mut self) -> Result<Score, EnvironmentError>;
}

/// A failure of the environment itself, with its description. It is not the agent's fault.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct EnvironmentError(pub String);

/// The task description that the agent gets.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TaskInfo {
    /// The task's name within its benchmark, such as `shop.buy-one`.
    pub task_id: String,
    /// The name of the collection that the task belongs to.
    pub benchmark: String,
    /// The goal, in words.
    pub goal: String,
}

/// The score of an environment's state.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Score {
    /// The reward, from 0 (nothing was reached) to 1 (the goal was reached). Any other one counts as a failure of the
    /// environment.
    pub reward: f64,
    /// Whether the goal was reached.
    pub success: bool,
    /// The reasons for the reward, for the evaluator's report.
    pub details: Map<String, Value>,
}

impl Score {
    /// Returns the score of a state in which nothing was reached.
    pub fn nothing() -> Self {
        Self { reward: 0.0, success: false, details: Map::new() }
    }
}

/// The names of the built-in environments, each with its purpose.
pub const BUILTINS: [(&str, &str); 2] = [
    ("sum", "one step: submit the sum of some numbers"),
    ("shop", "several steps: search, fill a cart, confirm the order"),
];

/// Returns the built-in environments as the values of a flag.
pub fn flag_values() -> Vec<PossibleValue> {
    BUILTINS.into_iter().map(|(name, purpose)| PossibleValue::new(name).help(purpose)).collect()
}

/// Creates the built-in environment of this name from a seed; returns `None` if there is none of this name.
pub fn builtin(name: &str, seed: u64) -> Option<Box<dyn Environment>> {
    match name {
        "sum" => Some(Box::new(sum::Sum::new(seed))),
        "shop" => Some(Box::new(shop::Shop::new(seed))),
        _ => None,
    }
}

#[cfg(test)]
mod tests;
