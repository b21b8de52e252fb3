//! The traits by which a pipeline finds and calls agents.

use async_trait::async_trait;
use serde_json::{Map, Value};

use super::error::AttemptError;

/// A directory in which agents are found by skill.
#[async_trait]
pub(super) trait AgentDirectory: Send + Sync {
    /// Returns the best agent for a skill. `anew` ignores earlier lookups, so that an agent that was replaced
    /// after a failure is found.
    async fn find(&self, skill: &str, anew: bool) -> Result<Box<dyn SkillAgent>, AttemptError>;
}

/// An agent that has the skill for which it was found.
#[async_trait]
pub(super) trait SkillAgent: Send + Sync {
    fn name(&self) -> &str;

    /// Calls the skill. Dropping the future cancels the call at the agent, if that supports it.
    async fn work(&self, input: &Map<String, Value>) -> Result<Value, AttemptError>;
}
