//! Runs a policy: executes its choices until it waits or ends, or a limit is reached.

use std::time::Duration;

use futures_util::{Stream, StreamExt as _, stream};
use mcp_tools::context::AgentContext;
use serde_json::Value;
use tokio::time::{Instant, timeout};

use super::{Limits, Listener, Notice};
use crate::{
    policy::{Action, CompletedCall, Observation, Policy, PolicyError, Step, ToolCall},
    toolbox::Toolbox,
};

/// The work of a policy.
pub(crate) struct Work {
    policy: Box<dyn Policy>,
    context: AgentContext,
    toolbox: Toolbox,
    limits: Limits,
    steps: Vec<Step>,
    worked: Duration,
    listener: Listener,
}

/// The state of the work.
#[derive(Debug)]
pub(crate) enum Progress {
    /// The policy waits for a message with a greater number than `seen`.
    Waits { missing: String, seen: u64 },
    /// The work has ended.
    Ended(Outcome),
}

/// The outcome of an agent's work.
#[derive(Debug)]
pub struct Outcome {
    /// The reason for the end.
    pub ended: StopReason,
    /// The policy's final text; empty if a limit ended the work.
    pub text: String,
    /// The policy's answer as data.
    pub data: Option<Value>,
    /// The number of steps taken.
    pub steps: usize,
}

/// The reason why an agent's work ended.
#[derive(Debug, thiserror::Error)]
#[expect(missing_docs, reason = "the messages say what the fields are")]
pub enum StopReason {
    /// The policy finished.
    #[error("finished")]
    Finished,
    /// The policy reached its limit of steps.
    #[error("stopped at the limit of {0} steps (--steps, or limits.steps in a scenario)")]
    StepLimit(u32),
    /// The policy reached its time limit.
    #[error("stopped at the time limit of {0:?} (--time, or limits.time in a scenario)")]
    TimeLimit(Duration),
    /// An expected message did not arrive.
    #[error("the message that it waited for did not arrive: {0}")]
    MessageMissing(String),
    /// The evaluator ended the evaluation while the agent was working.
    #[error("stopped because the evaluation is over")]
    EvaluationOver,
    /// The policy failed.
    #[error("policy {policy} cannot go on: {error}")]
    Policy { policy: String, error: PolicyError },
}

impl StopReason {
    /// Returns whether a language model's service failed, which says nothing about the agent.
    pub fn is_model_fault(&self) -> bool {
        matches!(self, Self::Policy { error: PolicyError::Model(error), .. } if !error.is_the_agents())
    }
}

impl Work {
    pub(crate) fn new(
        policy: Box<dyn Policy>,
        context: AgentContext,
        toolbox: Toolbox,
        limits: Limits,
        listener: Listener,
    ) -> Self {
        Self {
            policy,
            context,
            toolbox,
            limits,
            steps: Vec::new(),
            worked: Duration::ZERO,
            listener,
        }
    }

    /// Works until the policy waits or ends, or a limit is reached.
    pub(crate) async fn advance(&mut self) -> Progress {
        let left = self.limits.time.saturating_sub(self.worked);
        let begun = Instant::now();
        let progress = timeout(left, self.go_on()).await;
        self.worked += begun.elapsed();
        let limit = self.limits.time;
        progress.unwrap_or_else(|_| self.ended(StopReason::TimeLimit(limit)))
    }

    async fn go_on(&mut self) -> Progress {
        let newest = |work: &Self| work.context.incoming_messages().newest();
        // The last message that could have an effect on what was called.
        let mut seen = newest(self);
        loop {
            let before = newest(self);
            match self.choose().await {
                Err(ended) => return self.ended(ended),
                Ok(Action::Call(calls)) => {
                    seen = before;
                    self.call(calls).await;
                }
                // A message that arrived during the last calls, or while the policy was choosing, may be the missing one.
                Ok(Action::Wait { .. }) if newest(self) > seen => seen = newest(self),
                Ok(Action::Wait { missing }) => {
                    (self.listener)(&Notice::Waits { missing: missing.clone() });
                    return Progress::Waits { missing, seen };
                }
                Ok(Action::Finish { text, data }) => {
                    let outcome = self.stopped(StopReason::Finished);
                    return Progress::Ended(Outcome { text, data, ..outcome });
                }
            }
        }
    }

    async fn choose(&mut self) -> Result<Action, StopReason> {
        let limit = self.limits.steps;
        let taken = u32::try_from(self.steps.len()).unwrap_or(u32::MAX);
        let tools = self.toolbox.offered(&self.context).await;
        let observation = Observation {
            context: &self.context,
            tools: &tools,
            steps: &self.steps,
            steps_left: limit.saturating_sub(taken),
        };
        let action = self.policy.next(&observation).await;
        match action {
            Ok(Action::Call(_)) if taken >= limit => Err(StopReason::StepLimit(limit)),
            Ok(action) => Ok(action),
            Err(error) => Err(StopReason::Policy { policy: self.policy.name().to_owned(), error }),
        }
    }

    /// Executes the calls of one choice, and keeps their results in the chosen order. A call that changes
    /// something begins after all earlier calls have ended, and ends before later ones begin.
    async fn call(&mut self, calls: Vec<ToolCall>) {
        let mut called = Vec::with_capacity(calls.len());
        let mut calls = calls.into_iter().peekable();
        while let Some(call) = calls.next() {
            let may_join = !self.toolbox.keeps_order(&call.name);
            let mut together = vec![call];
            while let Some(next) =
                calls.next_if(|next| may_join && !self.toolbox.keeps_order(&next.name))
            {
                together.push(next);
            }
            let done = at_once(&self.toolbox, &self.context, together, self.limits.parallel);
            let listener = &self.listener;
            let done = done.inspect(|done| listener(&notice(done)));
            called.extend(done.collect::<Vec<_>>().await);
        }
        self.steps.push(Step { called });
    }

    fn ended(&self, ended: StopReason) -> Progress {
        Progress::Ended(self.stopped(ended))
    }

    /// Returns the outcome of work that ended for this reason, without a final text.
    pub(crate) fn stopped(&self, ended: StopReason) -> Outcome {
        Outcome { ended, text: String::new(), data: None, steps: self.steps.len() }
    }
}

/// Runs at most `parallel` of these calls at the same time, and returns their results in order.
fn at_once(
    toolbox: &Toolbox,
    context: &AgentContext,
    calls: Vec<ToolCall>,
    parallel: u32,
) -> impl Stream<Item = CompletedCall> + Send {
    let done = stream::iter(calls).map(move |call| async move {
        let arguments = call.arguments.clone();
        let result = toolbox.call(context, &call.name, arguments).await;
        CompletedCall { call, result }
    });
    done.buffered(usize::try_from(parallel).unwrap_or(usize::MAX).max(1))
}

fn notice(called: &CompletedCall) -> Notice {
    Notice::CompletedCall {
        tool: called.call.name.clone(),
        failed: called.failed().then(|| called.text()),
    }
}

#[cfg(test)]
mod tests;
