//! The evaluator `pipeline`: runs a [pipeline](bridge_orchestration::pipeline) of agents that are found by skill.
//!
//! - [`PipelineEvaluator`]: an [`Evaluator`], in the runner and as an agent
//! - [`router`](fn@router): that agent, at one address
//! - `request`: the requirements in a message

mod request;
mod router;

use std::time::Duration;

use async_trait::async_trait;
use bridge_client::Limits;
pub use bridge_orchestration::pipeline::{AgentMeter, Key, Keyring, KeyringError};
use bridge_orchestration::pipeline::{Engine, Pipeline, PipelineError, Progress, REQUIREMENTS};
use bridge_protocol::a2a::{AgentCard, Message, Part};
use serde_json::Value;
use url::Url;

use super::{
    assess_error::AssessError,
    custom::{EvaluationResult, Evaluator},
    reporter::Reporter,
    request::AssessmentRequest,
};
pub use router::router;

/// Runs agents through a pipeline, once for each request.
#[derive(Debug)]
pub struct PipelineEvaluator(Engine);

impl PipelineEvaluator {
    /// Returns an evaluator with these limits for a call to an agent; the pipeline's own limits apply too.
    pub fn new(pipeline: Pipeline, limits: Limits) -> Self {
        Self(Engine::new(pipeline, limits))
    }

    /// Sets the credentials for agents and the registry. Each is sent to its own address only.
    #[must_use]
    pub fn with_keys(self, keys: Vec<Key>) -> Self {
        Self(self.0.with_keys(keys))
    }

    /// Sets the function that counts what agents send over gRPC.
    #[must_use]
    pub fn with_meter(self, meter: AgentMeter) -> Self {
        Self(self.0.with_meter(meter))
    }

    /// Returns the time limit of an evaluation.
    pub fn longest(&self) -> Duration {
        self.0.longest()
    }

    async fn run(
        &self,
        requirements: Value,
        participants: &[(String, Url)],
        reporter: &Reporter,
    ) -> Result<EvaluationResult, AssessError> {
        let result = self.0.run(requirements, participants, reporter).await?;
        Ok(EvaluationResult { result: Value::Object(result.members), failure: result.failure })
    }
}

impl Progress for Reporter {
    type Error = AssessError;

    async fn send(&self, parts: Vec<Part>) -> Result<(), AssessError> {
        Self::send(self, parts).await.map(|_| ())
    }

    async fn show(&self, name: &str, parts: Vec<Part>) -> Result<(), AssessError> {
        Self::show(self, name, parts).await
    }
}

impl From<PipelineError<Self>> for AssessError {
    fn from(error: PipelineError<Self>) -> Self {
        match error {
            PipelineError::Rejected(why) => Self::Rejected(why),
            PipelineError::OutOfReach(why) => Self::OutOfReach(why),
            PipelineError::Abandoned(error) => error,
        }
    }
}

#[async_trait]
impl Evaluator for PipelineEvaluator {
    fn card(&self, card: AgentCard) -> AgentCard {
        request::card(self.0.pipeline(), card)
    }

    /// Runs the pipeline. The request's `config.requirements` replaces the file's.
    async fn assess(
        &self,
        request: &AssessmentRequest,
        reporter: &Reporter,
    ) -> Result<EvaluationResult, AssessError> {
        let given = request.config.get(REQUIREMENTS);
        let requirements = given.or(self.0.pipeline().requirements.as_ref());
        let requirements = requirements.cloned().unwrap_or_default();
        self.run(requirements, &request.participants, reporter).await
    }

    async fn welcome(
        &self,
        message: &Message,
        reporter: &Reporter,
    ) -> Result<EvaluationResult, AssessError> {
        let requirements = request::requirements(message)?;
        self.run(requirements, &[], reporter).await
    }
}
