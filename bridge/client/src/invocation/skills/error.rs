//! The errors of invocations.

use std::time::Duration;

use bridge_verify::schema::SchemaError;

use crate::{ClientError, Fault};

/// The result of an invocation.
pub type Result<T, E = InvocationError> = std::result::Result<T, E>;

/// The reason why a call of a skill failed.
#[derive(Debug, thiserror::Error)]
#[expect(missing_docs, reason = "the messages say what the fields are")]
pub enum InvocationError {
    /// The agent has no such skill, by its card or its answer.
    #[error("{agent} has no skill {skill:?}: {}", listed(.known))]
    UnknownSkill {
        agent: String,
        skill: String,
        /// The ids of the skills in its card.
        known: Vec<String>,
    },
    /// The parameters do not match the skill's schema; nothing was sent.
    #[error("invalid parameters for {skill} of {agent}: {why}")]
    Parameters { agent: String, skill: String, why: SchemaError },
    /// The agent rejected the parameters.
    #[error("{agent} refused the parameters for {skill}: {why}")]
    Refused { agent: String, skill: String, why: String },
    /// The agent has no tasks to wait for, continue or cancel.
    #[error("{0} takes each skill as a method and has no tasks: call the skill again instead")]
    NoTasks(String),
    /// The task has neither ended nor asked for input within the limit.
    #[error("{agent} is still working on task {task} after {limit:?}: wait for it, or cancel it")]
    StillWorking { agent: String, task: String, limit: Duration },
    /// The call itself failed.
    #[error(transparent)]
    Agent(#[from] ClientError),
}

impl InvocationError {
    /// Returns whether the agent requires credentials that were not given, or rejected those that were.
    pub fn wants_credentials(&self) -> bool {
        matches!(self, Self::Agent(error) if matches!(
            error.fault,
            Fault::Unauthenticated { .. } | Fault::NoCredentials { .. }
        ))
    }
}

fn listed(skills: &[String]) -> String {
    match skills.is_empty() {
        true => "its card lists none".to_owned(),
        false => format!("expected one of {}", skills.join(", ")),
    }
}
