//! What came of a pipeline, as the artifact `Result` says it.

use std::fmt;

use serde_json::{Value, json};

use super::{
    error::{Failure, StepFailure},
    run::PipelineProgress,
};
use crate::{
    evaluator::custom::{AssessError, Verdict},
    scenario::pipeline::Step,
};

/// How it stands with a step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum State {
    /// What it needs is not there.
    NotBegun,
    /// It runs.
    Working,
    /// It was done.
    Completed {
        /// Who did it.
        agent: String,
        /// At which attempt.
        attempts: u32,
    },
    /// It was not done.
    Failed(StepFailure),
    /// It was stopped because another one failed, or the time was over.
    Canceled,
}

impl State {
    fn name(&self) -> &'static str {
        match self {
            Self::NotBegun => "not-begun",
            Self::Working => "working",
            Self::Completed { .. } => "completed",
            Self::Failed(_) => "failed",
            Self::Canceled => "canceled",
        }
    }
}

/// How it stands with each step, in the file's order.
#[derive(Debug)]
pub(super) struct States<'a>(Vec<(&'a Step, State)>);

impl<'a> States<'a> {
    /// Nothing has begun yet.
    pub(super) fn new(steps: &'a [Step]) -> Self {
        Self(steps.iter().map(|step| (step, State::NotBegun)).collect())
    }

    /// A step has come so far.
    pub(super) fn set(&mut self, id: &str, state: State) {
        if let Some((_, known)) = self.0.iter_mut().find(|(step, _)| step.id == id) {
            *known = state;
        }
    }

    /// A step has failed.
    pub(super) fn failed(&mut self, failure: &StepFailure) {
        self.set(&failure.step, State::Failed(failure.clone()));
    }

    /// What still runs has been stopped.
    pub(super) fn canceled(&mut self) {
        for (_, state) in &mut self.0 {
            if *state == State::Working {
                *state = State::Canceled;
            }
        }
    }

    /// The ids of the steps that run.
    pub(super) fn working(&self) -> Vec<String> {
        let working = self.0.iter().filter(|(_, state)| *state == State::Working);
        working.map(|(step, _)| step.id.clone()).collect()
    }

    /// Which part of the steps was done, from 0 to 1.
    fn score(&self) -> f64 {
        let done = |(_, state): &&(&Step, State)| matches!(state, State::Completed { .. });
        self.0.iter().filter(done).count() as f64 / self.0.len().max(1) as f64
    }

    fn to_json(&self) -> Value {
        self.0
            .iter()
            .map(|(step, state)| entry(step, state))
            .collect()
    }
}

fn entry(step: &Step, state: &State) -> Value {
    let mut entry = json!({"id": step.id, "skill": step.skill, "state": state.name()});
    match state {
        State::NotBegun | State::Working | State::Canceled => {}
        State::Completed { agent, attempts } => {
            entry["agent"] = Value::from(agent.as_str());
            entry["attempts"] = Value::from(*attempts);
        }
        State::Failed(failure) => {
            if let Some(agent) = &failure.agent {
                entry["agent"] = Value::from(agent.as_str());
            }
            entry["attempts"] = Value::from(failure.attempts);
            entry["error"] = Value::from(failure.fault.to_string());
        }
    }
    entry
}

impl PipelineProgress<'_> {
    /// The verdict: the file's result with `score` and `steps`.
    ///
    /// # Errors
    /// If it failed because somebody was out of reach, which says nothing about the agents.
    pub(super) fn verdict(&self) -> Result<Verdict, AssessError> {
        if let Some(Failure::Step(failure)) = &self.failure
            && failure.fault.is_infrastructure()
        {
            return Err(AssessError::OutOfReach(self.told(failure)));
        }
        let mut result = self.result.clone();
        result.insert("score".to_owned(), Value::from(self.states.score()));
        result.insert("steps".to_owned(), self.states.to_json());
        Ok(Verdict {
            result: Value::Object(result),
            failure: self.failure.as_ref().map(|failure| self.told(failure)),
        })
    }

    /// Why it failed, and what may still be going on because of it.
    fn told(&self, failure: &impl fmt::Display) -> String {
        let told = [failure.to_string()];
        let all: Vec<&str> = told
            .iter()
            .chain(&self.untold)
            .map(String::as_str)
            .collect();
        all.join("; ")
    }
}
