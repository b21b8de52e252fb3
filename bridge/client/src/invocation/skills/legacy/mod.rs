//! Calls agents in the dialects before A2A 0.2 that have a path for each method.

mod execute;
mod post;
mod tasks_send;

use bridge_protocol::a2a::{CancelTaskRequest, GetTaskRequest};
use url::Url;

use self::post::JsonPoster;
use super::{Invocation, InvocationError, Outcome, Result};
use crate::{ClientError, Options, discovery::Discovered};

/// The dialect by which an agent is called.
#[derive(Debug)]
pub(super) enum LegacyTransport {
    TasksSend(JsonPoster),
    Execute(JsonPoster),
}

impl LegacyTransport {
    pub(super) fn tasks_send(
        base: &Url,
        agent: &Discovered,
        options: &Options,
    ) -> Result<Self, ClientError> {
        let poster = JsonPoster::new(base, &agent.card, &agent.home(), options)?;
        Ok(Self::TasksSend(poster))
    }

    pub(super) fn execute(
        base: &Url,
        agent: &Discovered,
        options: &Options,
    ) -> Result<Self, ClientError> {
        let poster = JsonPoster::new(base, &agent.card, &agent.home(), options)?;
        Ok(Self::Execute(poster))
    }

    /// Returns whether the agent has tasks. Their ids are chosen by the client.
    pub(super) fn has_tasks(&self) -> bool {
        match self {
            Self::TasksSend(_) => true,
            Self::Execute(_) => false,
        }
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
            Self::Execute(_) if invocation.task_id.is_some() => Err(agent.no_tasks()),
            Self::Execute(poster) => execute::call(poster, agent, invocation).await,
        }
    }

    pub(super) async fn get(&self, agent: &Discovered, request: GetTaskRequest) -> Result<Outcome> {
        match self {
            Self::TasksSend(poster) => Ok(tasks_send::get(poster, request).await?.into()),
            Self::Execute(_) => Err(agent.no_tasks()),
        }
    }

    pub(super) async fn cancel(
        &self,
        agent: &Discovered,
        request: CancelTaskRequest,
    ) -> Result<Outcome> {
        match self {
            Self::TasksSend(poster) => Ok(tasks_send::cancel(poster, request).await?.into()),
            Self::Execute(_) => Err(agent.no_tasks()),
        }
    }
}

impl Discovered {
    fn no_tasks(&self) -> InvocationError {
        let agent = self.card.name.clone();
        InvocationError::NoTasks(agent)
    }
}
