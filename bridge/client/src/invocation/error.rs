//! Why nothing came of a call.

use std::time::Duration;

use bridge_protocol::dialect::execute::SchemaError;

use crate::ClientError;

/// Why nothing came of a call.
#[derive(Debug, thiserror::Error)]
pub enum InvocationError {
    /// The agent has no such skill, by its card or by its own word.
    #[error("{agent} has no skill {skill:?}: {}", listed(.known))]
    UnknownSkill {
        /// The agent's name.
        agent: String,
        /// What was asked for.
        skill: String,
        /// The ids of those that its card has.
        known: Vec<String>,
    },
    /// The parameters do not fit the skill's schema; nothing was sent.
    #[error("invalid parameters for {skill} of {agent}: {why}")]
    Parameters {
        /// The agent's name.
        agent: String,
        /// The skill's id.
        skill: String,
        /// Which fields are wrong.
        why: SchemaError,
    },
    /// The agent does not take the parameters.
    #[error("{agent} refused the parameters for {skill}: {why}")]
    Refused {
        /// The agent's name.
        agent: String,
        /// The skill's id.
        skill: String,
        /// What it says.
        why: String,
    },
    /// The agent has no tasks that could be waited for, gone on with or canceled.
    #[error("{agent} takes each skill as a method and has no tasks: call the skill again instead")]
    NoTasks {
        /// The agent's name.
        agent: String,
    },
    /// The task has neither ended nor asked for anything.
    #[error("{agent} is still working on task {task} after {limit:?}: wait for it, or cancel it")]
    StillWorking {
        /// The agent's name.
        agent: String,
        /// The task's id.
        task: String,
        /// How long was waited.
        limit: Duration,
    },
    /// The way to the agent and back.
    #[error(transparent)]
    Agent(#[from] ClientError),
}

impl InvocationError {
    /// Whether the agent asks for a credential that was not given, or does not accept the one that was.
    pub fn wants_credentials(&self) -> bool {
        match self {
            Self::Agent(error) => error.fault.wants_credentials(),
            Self::UnknownSkill { .. }
            | Self::Parameters { .. }
            | Self::Refused { .. }
            | Self::NoTasks { .. }
            | Self::StillWorking { .. } => false,
        }
    }
}

fn listed(skills: &[String]) -> String {
    match skills.is_empty() {
        true => "its card lists none".to_owned(),
        false => format!("expected one of {}", skills.join(", ")),
    }
}
