//! The seam between a pipeline and the agents who work in it.

use async_trait::async_trait;
use serde_json::{Map, Value};

use super::error::Fault;

/// Those among whom agents are found, by skill.
#[async_trait]
pub(super) trait AgentDirectory: Send + Sync {
    /// Who is best at a skill; `anew` if what was found before has failed, so that an agent that was replaced
    /// meanwhile is found.
    async fn find(&self, skill: &str, anew: bool) -> Result<Box<dyn SkillAgent>, Fault>;
}

/// An agent that has the skill that was looked for.
#[async_trait]
pub(super) trait SkillAgent: Send + Sync {
    /// What it calls itself.
    fn name(&self) -> &str;

    /// Has it apply its skill. Dropping the future tells it to stop, where it can be told.
    async fn work(&self, input: &Map<String, Value>) -> Result<Value, Fault>;
}
