//! The states of steps, and the result of a pipeline.

use serde::Serialize;
use serde_json::{Map, Value, json};

use super::{
    error::{Failure, PipelineError, StepFailure},
    model::Step,
};

/// The result of a pipeline that was carried out, whether or not all its steps were done.
#[derive(Clone, Debug, PartialEq)]
pub struct PipelineResult {
    /// The members of the author's result, `score` (the fraction of steps that were done, from 0 to 1) and
    /// `steps`, which has each step's state, agent, attempts and error.
    pub members: Map<String, Value>,
    /// The reason why not all steps were done, if there is one.
    pub failure: Option<String>,
}

/// The state of a step.
#[derive(Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "state", rename_all = "kebab-case")]
pub(super) enum State {
    /// It waits for the outputs of other steps.
    NotBegun,
    /// It runs.
    Working,
    /// It was done.
    Completed {
        /// The agent that did it.
        agent: String,
        /// The number of the successful attempt.
        attempts: u32,
    },
    /// All attempts failed.
    Failed {
        /// The agent of the last attempt, if one was found.
        #[serde(skip_serializing_if = "Option::is_none")]
        agent: Option<String>,
        attempts: u32,
        /// The error of the last attempt.
        error: String,
    },
    /// It was stopped because another step failed, or because the time was over.
    Canceled,
}

/// A step with its state.
#[derive(Debug, Serialize)]
struct StepState<'a> {
    id: &'a str,
    skill: &'a str,
    #[serde(flatten)]
    state: State,
}

/// The states of all steps, in the file's order.
#[derive(Debug)]
pub(super) struct States<'a>(Vec<StepState<'a>>);

impl<'a> States<'a> {
    /// Returns the states before the first step.
    pub(super) fn new(steps: &'a [Step]) -> Self {
        let state =
            |step: &'a Step| StepState { id: &step.id, skill: &step.skill, state: State::NotBegun };
        Self(steps.iter().map(state).collect())
    }

    /// Sets the state of a step.
    pub(super) fn set(&mut self, id: &str, state: State) {
        if let Some(step) = self.0.iter_mut().find(|step| step.id == id) {
            step.state = state;
        }
    }

    /// Marks a step as failed.
    pub(super) fn failed(&mut self, failure: &StepFailure) {
        let StepFailure { agent, attempts, fault, .. } = failure.clone();
        self.set(&failure.step, State::Failed { agent, attempts, error: fault.to_string() });
    }

    /// Marks the steps that were running as canceled.
    pub(super) fn canceled(&mut self) {
        let working = self.0.iter_mut().filter(|step| step.state == State::Working);
        working.for_each(|step| step.state = State::Canceled);
    }

    /// Returns the ids of the running steps.
    pub(super) fn working(&self) -> Vec<String> {
        let working = self.0.iter().filter(|step| step.state == State::Working);
        working.map(|step| step.id.to_owned()).collect()
    }

    /// Returns the fraction of steps that were done, from 0 to 1.
    fn score(&self) -> f64 {
        let done = |step: &&StepState<'_>| matches!(step.state, State::Completed { .. });
        self.0.iter().filter(done).count() as f64 / self.0.len().max(1) as f64
    }
}

/// The state of a pipeline after its run.
#[derive(Debug)]
pub(super) struct PipelineProgress<'a> {
    /// The states of the steps.
    pub(super) states: States<'a>,
    /// The file's result, filled with the outputs.
    pub(super) result: Map<String, Value>,
    /// The failure that ended it, if one did.
    pub(super) failure: Option<Failure>,
}

impl PipelineProgress<'_> {
    /// Returns the result: the author's members with `score` and `steps`. A failure names the agents that may still
    /// be working.
    ///
    /// # Errors
    /// If the pipeline failed because a server could not be reached, which says nothing about the agents.
    pub(super) fn end<E>(
        self,
        still_working: &[String],
    ) -> Result<PipelineResult, PipelineError<E>> {
        let text = |failure: &Failure| [&[failure.to_string()], still_working].concat().join("; ");
        let failure = match &self.failure {
            Some(failure @ Failure::Step(step)) if step.fault.is_infrastructure() => {
                return Err(PipelineError::OutOfReach(text(failure)));
            }
            failure => failure.as_ref().map(text),
        };
        let mut members = self.result;
        members.insert("score".to_owned(), Value::from(self.states.score()));
        members.insert("steps".to_owned(), json!(self.states.0));
        Ok(PipelineResult { members, failure })
    }
}
