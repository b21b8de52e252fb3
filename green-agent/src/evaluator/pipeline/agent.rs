//! An agent that was found, at work: one call of a skill, checked on both sides, and canceled when nobody waits
//! for it any more.

use std::{
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use async_trait::async_trait;
use bridge_client::{
    ClientError, Options,
    discovery::{Discovered, Skill},
    invocation::{Invocation, InvocationError, Invoker, Outcome, State},
};
use serde_json::{Map, Value};
use tokio::{runtime::Handle, task::JoinHandle, time::timeout};
use uuid::Uuid;

use super::{crew::Colleague, error::Fault};

/// How long an agent may take to be told that nobody waits for it.
const GOODBYE: Duration = Duration::from_secs(5);

/// Cancellations that agents are still being told of.
#[derive(Clone, Debug, Default)]
pub(super) struct Goodbyes(Arc<Mutex<Vec<JoinHandle<()>>>>);

impl Goodbyes {
    /// Waits until all have been told, or their time is over.
    pub(super) async fn said(&self) {
        let all = std::mem::take(&mut *self.lock());
        for one in all {
            // A task of ours that broke down is in the log already.
            let _ = one.await;
        }
    }

    fn add(&self, goodbye: JoinHandle<()>) {
        self.lock().push(goodbye);
    }

    fn lock(&self) -> MutexGuard<'_, Vec<JoinHandle<()>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// An agent and the skill that it was found by.
pub(super) struct Agent {
    pub(super) found: Arc<Discovered>,
    pub(super) skill: Skill,
    pub(super) options: Options,
    pub(super) goodbyes: Goodbyes,
}

#[async_trait]
impl Colleague for Agent {
    fn name(&self) -> &str {
        &self.found.card.name
    }

    async fn work(&self, input: &Map<String, Value>) -> Result<Value, Fault> {
        let invoker = Invoker::new(&self.found, &self.options).map_err(fault)?;
        let mut task = OpenTask {
            agent: self,
            id: None,
        };
        let invocation = self.invocation(input);
        let followed = invoker.follow(&invocation, |id| task.id = Some(id.to_owned()));
        let outcome = followed.await.map_err(fault)?;
        task.id = None;
        self.output(outcome)
    }
}

impl Agent {
    fn invocation(&self, input: &Map<String, Value>) -> Invocation {
        #[expect(
            clippy::disallowed_methods,
            reason = "the evaluator drives the conversation"
        )]
        let id = Uuid::new_v4().to_string();
        Invocation::new(id, &self.skill.id, input.clone()).saying(in_words(input))
    }

    /// What came of the call, if that is what the skill's card promises.
    fn output(&self, outcome: Outcome) -> Result<Value, Fault> {
        let Outcome {
            state,
            result_data,
            text,
            ..
        } = outcome;
        match state {
            State::Completed => {
                let output = result_data.unwrap_or(Value::String(text));
                let checked = self.skill.check_output(&output);
                let wrong = |error| Fault::Output {
                    why: format!("{error}"),
                };
                checked.map_err(wrong).map(|()| output)
            }
            State::InputRequired | State::AuthRequired => Err(Fault::Asks { question: text }),
            State::Failed | State::Rejected | State::Canceled | State::Working => {
                let why = match text.is_empty() {
                    true => format!("the agent's task ended as {}", state.as_str()),
                    false => text,
                };
                Err(Fault::Failed { why })
            }
        }
    }
}

/// The input for those who read: the text of the only parameter, and else all of them as JSON.
fn in_words(input: &Map<String, Value>) -> String {
    let mut values = input.values();
    match (values.next(), values.next()) {
        (Some(Value::String(text)), None) => text.clone(),
        _ => Value::Object(input.clone()).to_string(),
    }
}

fn fault(error: InvocationError) -> Fault {
    match error {
        InvocationError::UnknownSkill { .. } => Fault::Unknown {
            why: error.to_string(),
        },
        InvocationError::Parameters { why, .. } => Fault::Parameters {
            why: why.to_string(),
        },
        InvocationError::Refused { why, .. } => Fault::Parameters { why },
        InvocationError::StillWorking { .. } | InvocationError::NoTasks { .. } => Fault::Failed {
            why: error.to_string(),
        },
        InvocationError::Agent(error) => at_the_agent(&error),
    }
}

/// An agent that answers with an error is there, and has failed.
fn at_the_agent(error: &ClientError) -> Fault {
    let why = error.to_string();
    match &error.fault {
        bridge_client::Fault::Rpc(_)
        | bridge_client::Fault::Timeout(_)
        | bridge_client::Fault::Asked(_) => Fault::Failed { why },
        bridge_client::Fault::Unreachable(_)
        | bridge_client::Fault::Private { .. }
        | bridge_client::Fault::Certificate(_)
        | bridge_client::Fault::TooLarge { .. }
        | bridge_client::Fault::Http { .. }
        | bridge_client::Fault::Invalid(_)
        | bridge_client::Fault::Unauthenticated { .. }
        | bridge_client::Fault::Forbidden { .. }
        | bridge_client::Fault::NoCredentials { .. }
        | bridge_client::Fault::Untrusted(_)
        | bridge_client::Fault::StreamBroken(_)
        | bridge_client::Fault::NoInterface { .. }
        | bridge_client::Fault::Elsewhere { .. }
        | bridge_client::Fault::NotInVersion(_) => Fault::Unreachable { why },
    }
}

/// A task that an agent works on. One that is dropped before its end is canceled at its agent.
struct OpenTask<'a> {
    agent: &'a Agent,
    id: Option<String>,
}

impl Drop for OpenTask<'_> {
    fn drop(&mut self) {
        let (Some(id), Ok(runtime)) = (self.id.take(), Handle::try_current()) else {
            return;
        };
        let (found, options) = (self.agent.found.clone(), self.agent.options.clone());
        let goodbye = runtime.spawn(async move {
            let told = timeout(GOODBYE, cancel(&found, &options, &id)).await;
            if !matches!(told, Ok(Ok(_))) {
                let agent = &found.card.name;
                tracing::debug!(%agent, task = %id, "an agent did not take the cancellation of its task");
            }
        });
        self.agent.goodbyes.add(goodbye);
    }
}

async fn cancel(
    found: &Discovered,
    options: &Options,
    task: &str,
) -> Result<Outcome, InvocationError> {
    Invoker::new(found, options)?.cancel(task).await
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn those_who_read_are_told_in_words() {
        for (input, expected) in [
            (json!({"plan": "p"}), "p"),
            (json!({"plan": ["p"]}), r#"{"plan":["p"]}"#),
            (json!({"a": "x", "b": "y"}), r#"{"a":"x","b":"y"}"#),
            (json!({}), "{}"),
        ] {
            assert_eq!(in_words(input.as_object().unwrap()), expected);
        }
    }
}
