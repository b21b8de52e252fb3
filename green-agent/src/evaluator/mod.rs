//! Evaluators: the built-in ones, Green agents that are called over A2A, and those of other crates.
//!
//! - [`Evaluation`]: what the runner has carried out, whoever does it
//! - [`Evaluator`]: the trait, for whoever writes one; [`agent()`] serves it over A2A
//! - [`AssessmentRequest`], [`Reporter`], [`Verdict`]: what it is asked, how it speaks, what it answers
//! - [`episode`]: the one that has participants work in an environment
//! - [`pipeline`]: the one that has agents, found by skill, work one after the other
//! - `conversation`, `external`, `recorded`: scripted turns; a Green agent that is called; one that was only
//!   listened to

mod collect;
mod conversation;
mod custom;
pub mod episode;
mod external;
pub mod pipeline;
mod recorded;
mod reporter;
mod request;
mod served;

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use bridge_client::{ClientError, Limits};
use serde_json::{Map, Value};
use url::Url;

/// For implementations of [`Evaluator`].
pub use async_trait::async_trait;
pub use custom::{AssessError, Evaluator, Verdict};
pub use reporter::Reporter;
pub use request::AssessmentRequest;
pub use served::agent;

use self::{
    collect::assessment_of,
    episode::EpisodeEvaluator,
    pipeline::{Keyring, PipelineEvaluator},
};
use crate::{
    assessment::Assessment,
    scenario::model::{self, Green},
    transcript::Entry,
};

/// What an evaluation is about, and the addresses to use for it: the recorder's.
#[derive(Clone, Debug)]
pub struct Evaluation<'a> {
    /// Who evaluates.
    pub green: &'a Green,
    /// The evaluator of an episode, where that is who evaluates.
    pub episode: Option<Arc<EpisodeEvaluator>>,
    /// Where the green agent is, unless it is a built-in evaluator that nobody calls.
    pub green_url: Option<Url>,
    /// Where the participants are, by role, in the scenario's order.
    pub participants: Vec<(String, Url)>,
    /// What a pipeline's agents are shown.
    pub keyring: &'a Keyring,
    /// The scenario's `[config]`.
    pub config: &'a Map<String, Value>,
    /// The longest that a single call may take; the runner's own limits are tighter.
    pub limit: Duration,
}

/// Why an evaluation came to no assessment.
#[derive(Debug, thiserror::Error)]
pub enum EvaluationError {
    /// The green agent could not be spoken to, or does not speak A2A.
    #[error("green: {0}")]
    Green(#[source] ClientError),
    /// A participant could not be spoken to by the built-in evaluator.
    #[error("{role}: {source}")]
    Participant {
        /// Whose fault it is.
        role: String,
        /// What happened.
        #[source]
        source: ClientError,
    },
    /// A participant that calls the green agent did not ask it for an evaluation.
    #[error("{role} asked for no evaluation: {how}")]
    NotAsked {
        /// Whose fault it is.
        role: String,
        /// How it ended.
        how: String,
    },
    /// Somebody whom the built-in evaluator needs, such as a registry, could not be reached.
    #[error("{0}")]
    OutOfReach(String),
    /// The environment broke.
    #[error("the environment broke: {0}")]
    Environment(String),
    /// A participant's language model could not be asked.
    #[error("{0}")]
    Model(String),
    /// The built-in evaluator could not do its work.
    #[error("the evaluator could not do its work: {0}")]
    Evaluator(String),
    /// A role that the scenario does not have; parsing rules it out.
    #[error("there is no participant {0:?}")]
    NoSuchRole(String),
}

/// Hears what the evaluator says while it works.
pub type Listener = Arc<dyn Fn(&str) + Send + Sync>;

impl Evaluation<'_> {
    /// Evaluates.
    ///
    /// # Errors
    /// If there is no assessment; a failed or rejected evaluation is one.
    pub async fn assess(&self, listener: &Listener) -> Result<Assessment, EvaluationError> {
        match (self.green, &self.green_url, &self.episode) {
            (Green::Builtin(model::Evaluator::Conversation(turns)), _, _) => {
                conversation::assess(self, turns, listener).await
            }
            (Green::Builtin(model::Evaluator::Episode(_)), _, Some(evaluator)) => {
                self.assess_own(&**evaluator, listener).await
            }
            (Green::Builtin(model::Evaluator::Pipeline(pipeline)), _, _) => {
                let keys = self.keyring.keys(&self.participants);
                let keys = keys.map_err(|error| EvaluationError::Evaluator(error.to_string()))?;
                let evaluator = PipelineEvaluator::new(pipeline.clone(), self.limits());
                let evaluator = evaluator.with_keys(keys);
                self.assess_own(&evaluator, listener).await
            }
            (Green::Builtin(model::Evaluator::Episode(episode)), _, None) => {
                let environment = &episode.environment;
                let why = format!("nobody serves the environment {environment}");
                Err(EvaluationError::Evaluator(why))
            }
            (Green::Agent(_), Some(url), _) => external::assess(self, url, listener).await,
            (Green::Agent(agent), None, _) => Err(EvaluationError::NoSuchRole(agent.role.clone())),
        }
    }

    async fn assess_own(
        &self,
        evaluator: &dyn Evaluator,
        listener: &Listener,
    ) -> Result<Assessment, EvaluationError> {
        let reporter = Reporter::to(listener.clone());
        let request = self.request(Map::new());
        match evaluator.assess(&request, &reporter).await {
            Ok(verdict) => Ok(assessment_of(reporter.said(), verdict)),
            Err(AssessError::Participant { role, source }) => {
                let source = *source;
                Err(EvaluationError::Participant { role, source })
            }
            Err(AssessError::OutOfReach(why)) => Err(EvaluationError::OutOfReach(why)),
            Err(AssessError::Environment(why)) => Err(EvaluationError::Environment(why)),
            Err(AssessError::Model(why)) => Err(EvaluationError::Model(why)),
            Err(
                error @ (AssessError::Rejected(_)
                | AssessError::Failed(_)
                | AssessError::Unheard(_)),
            ) => Err(EvaluationError::Evaluator(error.to_string())),
        }
    }

    /// What was heard of an evaluation that the participant in this role asked for itself; `how` it ended.
    /// If the evaluation goes on without it, its end is waited for.
    ///
    /// # Errors
    /// If it asked for none, or the green agent does not say what came of it.
    pub async fn recorded(
        &self,
        role: &str,
        how: &str,
        entries: &[Entry],
    ) -> Result<Assessment, EvaluationError> {
        recorded::assess(self, role, how, entries).await
    }

    fn request(&self, config: Map<String, Value>) -> AssessmentRequest {
        AssessmentRequest {
            participants: self.participants.clone(),
            config,
        }
    }

    fn limits(&self) -> Limits {
        Limits {
            reply: self.limit,
            idle: self.limit,
            ..Limits::default()
        }
    }
}

/// The metrics of an evaluation: the numbers that results carry at their top, and truth values as 1 and 0.
fn metrics(results: &[Value]) -> BTreeMap<String, f64> {
    let members = results.iter().filter_map(Value::as_object).flatten();
    let number = |value: &Value| {
        let truth = value.as_bool().map(|truth| f64::from(u8::from(truth)));
        truth.or_else(|| value.as_f64())
    };
    members
        .filter_map(|(name, value)| Some((name.clone(), number(value)?)))
        .collect()
}
