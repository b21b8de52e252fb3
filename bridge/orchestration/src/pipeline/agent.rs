//! Calls a skill of an agent that was found. Input and output are checked against the card, and the task is canceled
//! when the call is dropped. Agents that cannot be stopped are reported.

use std::{
    sync::{Arc, Mutex},
    time::Duration,
};

use async_trait::async_trait;
use bridge_client::{
    ClientError, Fault, Options,
    discovery::{Discovered, Skill},
    invocation::{Invocation, InvocationError, Invoker, Outcome, State},
    new_message_id,
};
use bridge_program::lock;
use bridge_protocol::a2a::ErrorKind;
use serde_json::{Map, Value};
use tokio::{runtime::Handle, task::JoinHandle, time::timeout};

use super::{directory::SkillAgent, error::AttemptError};

/// The time limit for canceling a task.
const CANCEL_LIMIT: Duration = Duration::from_secs(5);

/// The cancelations that are being sent, and the agents that could not be stopped.
#[derive(Clone, Debug, Default)]
pub(super) struct PendingCancellations(Arc<Mutex<CancellationTasks>>);

#[derive(Debug, Default)]
struct CancellationTasks {
    /// The running cancelations. Each returns the reason why its agent may still be working, if it may.
    tasks: Vec<JoinHandle<Option<String>>>,
    still_working: Vec<String>,
}

impl PendingCancellations {
    /// Waits until all cancelations have ended or timed out. Returns the agents that may still be working, with the
    /// reasons.
    pub(super) async fn finish(&self) -> Vec<String> {
        let CancellationTasks { tasks, mut still_working } = std::mem::take(&mut *lock(&self.0));
        for one in tasks {
            // A cancellation that panicked is in the log already.
            still_working.extend(one.await.ok().flatten());
        }
        still_working
    }

    fn cannot_tell(&self, why: String) {
        tracing::warn!("{why}");
        lock(&self.0).still_working.push(why);
    }
}

/// An agent and the skill for which it was found.
pub(super) struct Agent {
    pub(super) found: Arc<Discovered>,
    pub(super) skill: Skill,
    pub(super) options: Options,
    pub(super) cancellations: PendingCancellations,
}

#[async_trait]
impl SkillAgent for Agent {
    fn name(&self) -> &str {
        &self.found.card.name
    }

    async fn work(&self, input: &Map<String, Value>) -> Result<Value, AttemptError> {
        let invoker = Invoker::new(&self.found, &self.options).map_err(fault)?;
        let mut task =
            OpenTask { agent: self, has_tasks: invoker.has_tasks(), is_open: true, id: None };
        let invocation = self.invocation(input);
        let followed = invoker.follow(&invocation, |id| task.id = Some(id.to_owned()));
        let followed = followed.await;
        task.is_open = match &followed {
            // A pipeline cannot answer, so nobody continues the task.
            Ok(Outcome { state: State::InputRequired | State::AuthRequired, .. }) => {
                task.id.is_some()
            }
            Ok(_) => false,
            Err(error) => may_continue(error),
        };
        self.output(followed.map_err(fault)?)
    }
}

impl Agent {
    fn invocation(&self, input: &Map<String, Value>) -> Invocation {
        Invocation::new(new_message_id(), &self.skill.id, input.clone()).saying(as_text(input))
    }

    /// Returns the output of a call, checked against the schema on the skill's card.
    fn output(&self, outcome: Outcome) -> Result<Value, AttemptError> {
        let Outcome { state, result_data, text, .. } = outcome;
        match state {
            State::Completed => {
                let output = result_data.unwrap_or(Value::String(text));
                let checked = self.skill.check_output(&output);
                let wrong = |error| AttemptError::Output(format!("{error}"));
                checked.map_err(wrong).map(|()| output)
            }
            State::InputRequired | State::AuthRequired => Err(AttemptError::InputRequired(text)),
            State::Failed | State::Rejected | State::Canceled | State::Working => {
                let why = match text.is_empty() {
                    true => format!("the agent's task ended as {}", state.as_str()),
                    false => text,
                };
                Err(AttemptError::Failed(why))
            }
        }
    }
}

/// Returns the input as text: the only parameter if it is one text, otherwise all parameters as JSON.
fn as_text(input: &Map<String, Value>) -> String {
    let mut values = input.values();
    match (values.next(), values.next()) {
        (Some(Value::String(text)), None) => text.clone(),
        _ => Value::Object(input.clone()).to_string(),
    }
}

fn fault(error: InvocationError) -> AttemptError {
    match error {
        InvocationError::UnknownSkill { .. } => AttemptError::Unknown(error.to_string()),
        InvocationError::Parameters { why, .. } => AttemptError::Parameters(why.to_string()),
        InvocationError::Refused { why, .. } => AttemptError::Parameters(why),
        InvocationError::StillWorking { .. } | InvocationError::NoTasks(_) => {
            AttemptError::Failed(error.to_string())
        }
        InvocationError::Agent(error) => at_the_agent(&error),
    }
}

/// Returns whether the agent may still be working although its call has ended.
fn may_continue(error: &InvocationError) -> bool {
    match error {
        InvocationError::StillWorking { .. } => true,
        InvocationError::Agent(error) => {
            matches!(&error.fault, Fault::Timeout(_) | Fault::StreamBroken(_))
        }
        InvocationError::UnknownSkill { .. }
        | InvocationError::Parameters { .. }
        | InvocationError::Refused { .. }
        | InvocationError::NoTasks(_) => false,
    }
}

/// Returns the error of a failed request to the agent. An agent that answers with an error is reachable, and
/// has failed.
fn at_the_agent(error: &ClientError) -> AttemptError {
    let why = error.to_string();
    match &error.fault {
        Fault::Rpc(_) | Fault::Timeout(_) | Fault::Asked(_) => AttemptError::Failed(why),
        Fault::Unauthenticated { .. } | Fault::Forbidden { .. } | Fault::NoCredentials { .. } => {
            AttemptError::Unauthorized(why)
        }
        Fault::Unconnected(_)
        | Fault::Unreachable(_)
        | Fault::Private { .. }
        | Fault::Certificate(_)
        | Fault::TooLarge(_)
        | Fault::Http { .. }
        | Fault::Invalid(_)
        | Fault::Untrusted(_)
        | Fault::StreamBroken(_)
        | Fault::NoInterface { .. }
        | Fault::Extensions(_)
        | Fault::Elsewhere(_)
        | Fault::NotInVersion(_) => AttemptError::Unreachable(why),
    }
}

/// A call in progress. If it is dropped before its end, its task is canceled at the agent.
struct OpenTask<'a> {
    agent: &'a Agent,
    has_tasks: bool,
    is_open: bool,
    id: Option<String>,
}

impl OpenTask<'_> {
    /// Returns the reason why the agent cannot be stopped.
    fn nothing_to_cancel(&self) -> String {
        let agent = &self.agent.found.card.name;
        match self.has_tasks {
            true => format!(
                "{agent} could not be stopped, because it had not named its task; it may still be working"
            ),
            false => format!(
                "{agent} could not be stopped, because it takes each skill as a method and has no tasks; it may \
                 still be working"
            ),
        }
    }
}

impl Drop for OpenTask<'_> {
    fn drop(&mut self) {
        let agent = self.agent;
        match (self.is_open, self.id.take(), Handle::try_current()) {
            (false, _, _) => {}
            (true, Some(id), Ok(runtime)) => {
                let (found, options) = (agent.found.clone(), agent.options.clone());
                let canceling =
                    runtime.spawn(async move { cancel_or_say_why(&found, &options, &id).await });
                lock(&agent.cancellations.0).tasks.push(canceling);
            }
            (true, None, _) => agent.cancellations.cannot_tell(self.nothing_to_cancel()),
            // Outside a runtime the program is exiting, and nothing can be sent or reported.
            (true, Some(_), Err(_)) => {}
        }
    }
}

/// Cancels a task; if that fails, returns the reason why the task may still be running.
async fn cancel_or_say_why(found: &Discovered, options: &Options, task: &str) -> Option<String> {
    let canceling = async { Invoker::new(found, options)?.cancel(task).await };
    let why = match timeout(CANCEL_LIMIT, canceling).await {
        Ok(Ok(outcome)) if outcome.state != State::Working => return None,
        Ok(Ok(_)) => "it answered that the task continues".to_owned(),
        Ok(Err(error)) if has_ended(&error) => return None,
        Ok(Err(error)) => error.to_string(),
        Err(_) => format!("no answer within {CANCEL_LIMIT:?}"),
    };
    let agent = &found.card.name;
    let warning =
        format!("{agent} was asked to cancel task {task} and may still be working: {why}");
    tracing::warn!("{warning}");
    Some(warning)
}

/// Returns whether canceling failed because the task had already ended.
fn has_ended(error: &InvocationError) -> bool {
    let InvocationError::Agent(ClientError { fault: Fault::Rpc(error), .. }) = error else {
        return false;
    };
    error.code == ErrorKind::TaskNotCancelable.code()
}

#[cfg(test)]
mod tests;
