//! What an agent is evaluated in: a small world with a goal, reached through MCP tools.
//!
//! - [`Environment`]: one such world, in the state that an agent has brought it to
//! - [`TaskInfo`]: what the agent is told of it
//! - [`Score`]: what its state is worth, which the agent is never told
//! - [`EnvironmentError`]: the environment broke, which is never the agent's fault
//! - [`Arguments`]: how a tool reads what it was called with
//! - [`BUILTINS`]: the worlds that come with the crate: [`sum`], [`shop`]

mod rng;
pub mod shop;
pub mod sum;

pub(crate) use crate::arguments::changing;
pub use crate::arguments::{Arguments, refused, tool};

use async_trait::async_trait;
use rmcp::model::{CallToolResult, JsonObject, Tool};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// A world that an agent works in. It is made anew for each episode, from a seed: the same seed gives the
/// same world.
///
/// Tokens, limits of steps and time, the tool `submit` and what follows a submission are the episode's
/// own; an environment only knows its own state.
#[async_trait]
pub trait Environment: Send + 'static {
    /// What the agent is told.
    fn task(&self) -> TaskInfo;

    /// The tools that change or show the state, `submit` not among them.
    fn tools(&self) -> Vec<Tool>;

    /// Does what a tool does. A wrong argument or an impossible step is a result with `is_error`, which
    /// says what was expected and changes nothing. Nothing in a result tells the score.
    ///
    /// It is only called for one of [`Environment::tools`].
    async fn call(&mut self, tool: &str, arguments: JsonObject) -> CallToolResult;

    /// Takes the agent's answer, for tasks that ask for one. It is called once, at the end.
    ///
    /// # Errors
    /// If the environment itself broke. A wrong answer is no error.
    async fn submit(&mut self, answer: Option<&Value>) -> Result<(), EnvironmentError> {
        let _ = answer;
        Ok(())
    }

    /// What the state is worth now. It is called once, when the episode has ended.
    ///
    /// # Errors
    /// If the environment itself broke: then nobody knows what the agent reached.
    async fn score(&mut self) -> Result<Score, EnvironmentError>;
}

/// The environment itself broke; says what happened. The agent is not at fault.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct EnvironmentError(pub String);

/// What an agent is told of its task.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TaskInfo {
    /// Names the task within its benchmark, such as `shop.buy-one`.
    pub task_id: String,
    /// The collection of tasks that it belongs to.
    pub benchmark: String,
    /// What is to be reached, in words.
    pub goal: String,
}

/// What an environment's state is worth.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Score {
    /// From 0 (nothing was reached) to 1 (all of it).
    pub reward: f64,
    /// Whether the goal was reached.
    pub success: bool,
    /// What the reward was given or withheld for, for the evaluator's report.
    pub details: Map<String, Value>,
}

impl Score {
    /// What an episode is worth that nothing was reached in.
    pub fn nothing() -> Self {
        Self {
            reward: 0.0,
            success: false,
            details: Map::new(),
        }
    }
}

/// The names of the built-in environments, each with its purpose.
pub const BUILTINS: [(&str, &str); 2] = [
    ("sum", "one step: submit the sum of some numbers"),
    (
        "shop",
        "several steps: search, fill a cart, confirm the order",
    ),
];

/// The built-in environment of this name, made from a seed; `None` if there is none of this name.
pub fn builtin(name: &str, seed: u64) -> Option<Box<dyn Environment>> {
    match name {
        "sum" => Some(Box::new(sum::Sum::new(seed))),
        "shop" => Some(Box::new(shop::Shop::new(seed))),
        _ => None,
    }
}

#[cfg(test)]
mod tests;
