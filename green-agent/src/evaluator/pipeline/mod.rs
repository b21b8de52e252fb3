//! The evaluator `pipeline`: agents who are found by skill work one after the other, and side by side where
//! neither needs the other.
//!
//! Nobody's address stands in a pipeline. Before every step it is looked for who has the skill: among the
//! scenario's participants, at other addresses, or in a registry.
//!
//! - [`PipelineEvaluator`]: an [`Evaluator`], in the runner and as an agent
//! - [`router`](fn@router): that agent, at one address
//! - `schedule`, `document`: which step may begin, and with what
//! - `run`, `step`: the steps in that order, each as often as it may be tried
//! - `crew`: the seam to the agents; behind it `directory`, which finds them, and `agent`, one at work
//! - `asked`: what a message asks for
//! - `result`, `error`: what came of it, and why not more

mod agent;
mod asked;
mod crew;
mod directory;
mod document;
mod error;
#[cfg(test)]
mod fixture;
mod result;
mod router;
mod run;
mod schedule;
mod step;

use std::time::Duration;

use async_trait::async_trait;
use bridge_client::Limits;
use bridge_protocol::a2a::{AgentCard, Message};
use serde_json::Value;
use url::Url;

use self::{
    agent::Goodbyes,
    directory::{Directory, Listed},
    run::Course,
};
use super::{
    own::{AssessError, Evaluator, Verdict},
    request::AssessmentRequest,
    voice::Voice,
};
use crate::scenario::pipeline::{Pipeline, Place, REQUIREMENTS};
pub use router::router;

/// What may be left to do once a pipeline's own time is over.
const LAST_WORDS: Duration = Duration::from_secs(10);

/// Leads agents through a pipeline, each time it is asked.
#[derive(Clone, Debug)]
pub struct PipelineEvaluator {
    pipeline: Pipeline,
    limits: Limits,
}

impl PipelineEvaluator {
    /// An evaluator with these limits of a call to an agent; the pipeline's own are tighter.
    pub fn new(pipeline: Pipeline, limits: Limits) -> Self {
        Self { pipeline, limits }
    }

    /// The longest that an evaluation takes.
    pub fn longest(&self) -> Duration {
        self.pipeline.timeout + LAST_WORDS
    }

    async fn lead(
        &self,
        requirements: Value,
        participants: &[(String, Url)],
        voice: &Voice,
    ) -> Result<Verdict, AssessError> {
        let goodbyes = Goodbyes::default();
        let listed = self.listed(participants)?;
        let directory = Directory::new(listed, self.limits, goodbyes.clone());
        let course = Course {
            pipeline: &self.pipeline,
            crew: &directory,
            voice,
        };
        let played = course.run(requirements).await?;
        goodbyes.said().await;
        played.verdict()
    }

    /// Where agents are looked for: where the file says, and else among the participants.
    fn listed(&self, participants: &[(String, Url)]) -> Result<Vec<Listed>, AssessError> {
        let listed = |role: &String, url: &Url| Listed {
            name: role.clone(),
            url: url.clone(),
        };
        if self.pipeline.agents.is_empty() {
            return Ok(participants
                .iter()
                .map(|(role, url)| listed(role, url))
                .collect());
        }
        let place = |place: &Place| match place {
            Place::Url(url) => Ok(listed(&url.to_string(), url)),
            Place::Role(role) => {
                let named = participants.iter().find(|(name, _)| name == role);
                let missing = || format!("participants: expected {role:?}, where agents are found");
                let (role, url) = named.ok_or_else(|| AssessError::Rejected(missing()))?;
                Ok(listed(role, url))
            }
        };
        self.pipeline.agents.listed.iter().map(place).collect()
    }
}

#[async_trait]
impl Evaluator for PipelineEvaluator {
    fn card(&self, card: AgentCard) -> AgentCard {
        asked::card(&self.pipeline, card)
    }

    /// The request's `config.requirements` goes before the file's.
    async fn assess(
        &self,
        request: &AssessmentRequest,
        voice: &Voice,
    ) -> Result<Verdict, AssessError> {
        let asked = request.config.get(REQUIREMENTS);
        let requirements = asked.or(self.pipeline.requirements.as_ref());
        let requirements = requirements.cloned().unwrap_or_default();
        self.lead(requirements, &request.participants, voice).await
    }

    async fn welcome(&self, message: &Message, voice: &Voice) -> Result<Verdict, AssessError> {
        let requirements = asked::requirements(message)?;
        self.lead(requirements, &[], voice).await
    }
}
