//! The evaluator `pipeline`: runs a [pipeline](bridge_orchestration::pipeline) of agents that are found by skill.
//!
//! - [`PipelineEvaluator`]: an [`Evaluator`], in the runner and as an agent
//! - [`router`](fn@router): that agent, at one address
//! - `request`: the requirements in a message

mod request;

use std::sync::Arc;

use async_trait::async_trait;
use axum::Router;
pub use bridge_orchestration::pipeline::{AgentMeter, Engine, Key, Keyring, KeyringError};
use bridge_orchestration::pipeline::{PipelineError, Progress, REQUIREMENTS};
use bridge_protocol::a2a::{AgentCard, Message, Part};
use bridge_server::host::{Host, HostError};
use bridge_store::MemoryStore;
use serde_json::Value;
use url::Url;

use super::{
    agent,
    assess_error::AssessError,
    custom::{EvaluationResult, Evaluator},
    reporter::Reporter,
    request::AssessmentRequest,
};

/// Runs agents through a pipeline, once for each request.
#[derive(Debug)]
pub struct PipelineEvaluator(pub Engine);

impl PipelineEvaluator {
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

/// Returns the routes of a pipeline that is reached at `public_url`. Its tasks are kept in memory.
///
/// # Errors
/// If the agent cannot be hosted.
pub async fn router(evaluator: PipelineEvaluator, public_url: &Url) -> Result<Router, HostError> {
    let limit = evaluator.0.longest();
    let pipeline = agent("pipeline", Arc::new(evaluator), limit);
    let host = Host::new(Arc::new(MemoryStore::new()), [pipeline]);
    host.router(public_url.as_str()).await
}
