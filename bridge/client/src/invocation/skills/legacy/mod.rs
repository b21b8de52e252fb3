//! Calls agents in the dialects before A2A 0.2 that have a path for each method.

mod execute;
mod post;
mod tasks_send;

use bridge_protocol::dialect::Call;

use self::post::JsonPoster;
use super::{Invocation, InvocationError, Outcome, Result};
use crate::{
    ClientError, Options,
    discovery::{AgentEndpoint, Discovered},
};

/// The dialect by which an agent is called.
#[derive(Debug)]
pub(super) enum LegacyTransport {
    TasksSend(JsonPoster),
    Execute(JsonPoster),
}

impl LegacyTransport {
    pub(super) fn new(agent: &Discovered, options: &Options) -> Result<Self, ClientError> {
        let poster = JsonPoster::new(agent, options)?;
        Ok(match agent.endpoint {
            AgentEndpoint::Execute { .. } => Self::Execute(poster),
            AgentEndpoint::TasksSend { .. } | AgentEndpoint::Interface { .. } => {
                Self::TasksSend(poster)
            }
        })
    }

    /// Returns whether the agent has tasks. Their ids are chosen by the client.
    pub(super) fn has_tasks(&self) -> bool {
        matches!(self, Self::TasksSend(_))
    }

    pub(super) async fn send(
        &self,
        agent: &Discovered,
        invocation: &Invocation,
    ) -> Result<Outcome> {
        match self {
            Self::TasksSend(poster) => {
                let request = invocation.request_by_path(&agent.card);
                Ok(tasks_send::send(poster, request).await?.into())
            }
            Self::Execute(_) if invocation.task_id.is_some() => Err(no_tasks(agent)),
            Self::Execute(poster) => execute::call(poster, agent, invocation).await,
        }
    }

    /// Makes a call whose answer is a task.
    pub(super) async fn task(&self, agent: &Discovered, call: &Call) -> Result<Outcome> {
        match self {
            Self::TasksSend(poster) => Ok(tasks_send::task(poster, call).await?.into()),
            Self::Execute(_) => Err(no_tasks(agent)),
        }
    }
}

fn no_tasks(agent: &Discovered) -> InvocationError {
    InvocationError::NoTasks(agent.card.name.clone())
}
