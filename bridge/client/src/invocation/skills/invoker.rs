//! Calls the skills of one agent step by step.

use std::time::Duration;

use bridge_protocol::{
    a2a::{CancelTaskRequest, GetTaskRequest, Task},
    dialect::{Call, Version},
};

use super::{Invocation, InvocationError, Outcome, Result, State, legacy::LegacyTransport};
use crate::{
    Client, Options, Polls, Retries,
    discovery::{AgentEndpoint, Discovered},
};

/// Calls the skills of one agent.
#[derive(Debug)]
pub struct Invoker<'a> {
    pub(super) agent: &'a Discovered,
    pub(super) way: AgentTransport,
    limit: Duration,
    polls: Polls,
    retries: Retries,
}

/// The protocol by which the agent is called.
#[derive(Debug)]
pub(super) enum AgentTransport {
    Client(Box<Client>),
    Legacy(Box<LegacyTransport>),
}

impl<'a> Invoker<'a> {
    /// Prepares calls of this agent; nothing is sent yet. Private addresses are reached only if both the
    /// options and the agent's discovery allow them.
    ///
    /// # Errors
    /// [`InvocationError::Agent`] if the agent's address is private or not the one that the credentials are
    /// for, or if the agent does not support the requested version.
    pub fn new(agent: &'a Discovered, options: &Options) -> Result<Self> {
        let options = &Options {
            allow_private: options.allow_private && agent.allow_private,
            ..options.clone()
        };
        let way = match &agent.endpoint {
            AgentEndpoint::Interface { version, .. } => {
                let options = speaking(options, *version);
                let card = agent.card.clone();
                AgentTransport::Client(Box::new(Client::for_card(card, &agent.home(), &options)?))
            }
            AgentEndpoint::TasksSend { .. } | AgentEndpoint::Execute { .. } => {
                AgentTransport::Legacy(Box::new(LegacyTransport::new(agent, options)?))
            }
        };
        Ok(Self {
            agent,
            way,
            limit: options.limits.reply,
            polls: options.polls.unwrap_or_default(),
            retries: options.retries,
        })
    }

    /// Returns whether the agent has tasks, which can be waited for, continued and canceled. Agents that call skills as
    /// methods have none.
    pub fn has_tasks(&self) -> bool {
        match &self.way {
            AgentTransport::Client(_) => true,
            AgentTransport::Legacy(legacy) => legacy.has_tasks(),
        }
    }

    /// Calls a skill and waits for its outcome.
    ///
    /// # Errors
    /// [`InvocationError`]. A failed task is not an error but an [`Outcome`].
    pub async fn invoke(&self, invocation: &Invocation) -> Result<Outcome> {
        let outcome = self.send(invocation, false).await?;
        self.ended(outcome).await
    }

    /// Calls a skill without waiting for the end, if the agent supports this. The state is then
    /// [`State::Working`], and the task's id can be used to wait for it or cancel it. Agents that speak 0.1
    /// or call skills as methods answer when they are done.
    ///
    /// # Errors
    /// Returns the errors of [`invoke`](Self::invoke).
    pub async fn begin(&self, invocation: &Invocation) -> Result<Outcome> {
        self.send(invocation, true).await
    }

    /// Waits until a task has ended or asks for input.
    ///
    /// # Errors
    /// [`InvocationError::StillWorking`] when [`Limits::reply`](crate::Limits::reply) is over.
    pub async fn wait(&self, task_id: &str) -> Result<Outcome> {
        let polled = tokio::time::timeout(self.limit, self.poll(task_id)).await;
        polled.unwrap_or_else(|_| {
            Err(InvocationError::StillWorking {
                agent: self.agent.card.name.clone(),
                task: task_id.to_owned(),
                limit: self.limit,
            })
        })
    }

    /// Cancels a task and returns its state after that.
    ///
    /// # Errors
    /// [`InvocationError::Agent`] if the agent refuses, [`InvocationError::NoTasks`] if it has no tasks.
    pub async fn cancel(&self, task_id: &str) -> Result<Outcome> {
        self.task(Call::CancelTask(CancelTaskRequest::new(task_id))).await
    }

    async fn send(&self, invocation: &Invocation, at_once: bool) -> Result<Outcome> {
        self.check(invocation)?;
        match &self.way {
            AgentTransport::Client(client) => {
                let request = invocation.request(at_once);
                Ok(client.send_message(request).await?.into())
            }
            AgentTransport::Legacy(legacy) => legacy.send(self.agent, invocation).await,
        }
    }

    /// Checks skill and parameters against the card.
    pub(super) fn check(&self, invocation: &Invocation) -> Result<()> {
        let id = &invocation.skill_id;
        if id.is_empty() && invocation.parameters.is_none() && self.has_tasks() {
            return Ok(());
        }
        let skill = self.agent.skills.iter().find(|skill| skill.id == *id);
        let skill = skill.ok_or_else(|| self.agent.unknown(id))?;
        let Some(parameters) = &invocation.parameters else {
            return Ok(());
        };
        let checked = skill.check_parameters(parameters);
        checked.map_err(|why| InvocationError::Parameters {
            agent: self.agent.card.name.clone(),
            skill: id.clone(),
            why,
        })
    }

    /// Waits for the end, because agents may answer early although they were asked to wait.
    pub(super) async fn ended(&self, outcome: Outcome) -> Result<Outcome> {
        match &outcome.task_id {
            Some(task) if outcome.state == State::Working => self.wait(task).await,
            Some(_) | None => Ok(outcome),
        }
    }

    async fn poll(&self, task_id: &str) -> Result<Outcome> {
        let (mut pause, mut attempt) = (self.polls.first, 0);
        loop {
            match self.task(Call::GetTask(GetTaskRequest::new(task_id))).await {
                Ok(outcome) if outcome.state != State::Working => return Ok(outcome),
                Ok(_) => {
                    tokio::time::sleep(pause).await;
                    (pause, attempt) = (self.polls.after(pause), 0);
                }
                // The agent continues the task, whether or not it can be asked now.
                Err(InvocationError::Agent(error)) if error.fault.may_pass() => {
                    tokio::time::sleep(self.retries.pause(attempt).ok_or(error)?).await;
                    attempt += 1;
                }
                Err(error) => return Err(error),
            }
        }
    }

    /// Makes a call whose answer is a task.
    async fn task(&self, call: Call) -> Result<Outcome> {
        match &self.way {
            AgentTransport::Client(client) => Ok(client.call::<Task>(call).await?.into()),
            AgentTransport::Legacy(legacy) => legacy.task(self.agent, &call).await,
        }
    }
}

impl Discovered {
    /// Returns the error that the agent does not have this skill.
    pub(super) fn unknown(&self, skill: &str) -> InvocationError {
        InvocationError::UnknownSkill {
            agent: self.card.name.clone(),
            skill: skill.to_owned(),
            known: self.skills.iter().map(|skill| skill.id.clone()).collect(),
        }
    }
}

/// Returns the options with version 0.1 if that was discovered and no other is requested, because cards of 0.1 do not
/// name it. Otherwise each interface of the card names its own version.
fn speaking(options: &Options, version: Version) -> Options {
    let unnamed = (version == Version::V0_1).then_some(version);
    Options { version: options.version.or(unnamed), ..options.clone() }
}
