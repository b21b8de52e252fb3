//! Evaluators: the built-in ones, green agents that are called over A2A, and those of other crates.
//!
//! - [`Evaluation`]: the inputs of any evaluator that the runner starts
//! - [`Evaluator`]: the trait for a custom evaluator; [`agent()`] serves it over A2A
//! - [`AssessmentRequest`], [`Reporter`], [`EvaluationResult`]: its request, its output while it works, its result
//! - [`episode`]: has participants work in an environment
//! - [`pipeline`]: has agents, found by skill, work one after the other
//! - `conversation`: sends scripted turns
//! - `green`: calls a green agent, or reads the evaluation that a participant asked for itself

mod admission;
mod assess_error;
mod collect;
mod conversation;
mod custom;
pub mod episode;
mod evaluator_agent;
mod green;
pub mod pipeline;
mod reporter;
mod request;

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
    time::Duration,
};

use bridge_client::{ClientError, Credentials, Fault, GrpcMeter, Limits};
use serde_json::{Map, Value};
use url::Url;

pub use assess_error::AssessError;
/// Re-exported for implementations of [`Evaluator`].
pub use async_trait::async_trait;
pub use conversation::TurnsError;
pub use custom::{EvaluationResult, Evaluator};
pub use evaluator_agent::agent;
pub use reporter::Reporter;
pub use request::AssessmentRequest;

use self::{
    collect::assessment_of,
    episode::EpisodeEvaluator,
    pipeline::{AgentMeter, Engine, Key, Keyring, PipelineEvaluator},
};
use crate::{
    assessment::Assessment,
    expect,
    problem::is_worth,
    scenario::model::{self, Green},
    transcript::{Entry, Transcript},
};

/// The inputs of an evaluation. All addresses in it are the recorder's.
#[derive(Clone, Debug)]
pub struct Evaluation<'a> {
    /// The evaluator that the scenario names.
    pub green: &'a Green,
    /// The evaluator of an episode, if the scenario has one.
    pub episode: Option<Arc<EpisodeEvaluator>>,
    /// The address of the green agent; `None` for a built-in evaluator that is not called.
    pub green_url: Option<Url>,
    /// The addresses of the participants, by role, in the scenario's order.
    pub participants: Vec<(String, Url)>,
    /// The roles that are believed if they report that their language model could not be used, or refuse their task for want
    /// of credentials.
    pub believed: BTreeSet<String>,
    /// The credentials that the agents are sent.
    pub keyring: &'a Keyring,
    /// The scenario's `[config]`.
    pub config: &'a Map<String, Value>,
    /// The time limit of a single call; the runner's own limits are tighter.
    pub limit: Duration,
    /// The transcript, which counts what does not pass the recorder.
    pub transcript: &'a Transcript,
}

/// The member of a result that says which numbers are metrics, and that with the seed of the trial.
const METRICS: &str = "metrics";
const SEED: &str = "seed";

/// The advice for an agent that requires credentials.
const CREDENTIAL: &str = "[[config.credential]] says which secret it is sent: with header in any case, with scheme only if its card \
                          requires that scheme";

/// The reason why there is no assessment.
#[derive(Debug, thiserror::Error)]
#[expect(missing_docs, reason = "the messages say what the fields are")]
pub enum EvaluationError {
    /// The green agent could not be reached, or does not speak A2A.
    #[error("green: {0}")]
    Green(ClientError),
    /// The built-in evaluator could not communicate with a participant.
    #[error("{role}: {error}")]
    Participant { role: String, error: ClientError },
    /// A participant requires credentials, and has refused before it was told its task.
    #[error("{role}: {error}; {CREDENTIAL}")]
    NotLetIn { role: String, error: ClientError },
    /// A participant refused the message with its task for want of credentials, which counts as its answer.
    #[error(
        "{role}: {error}. It was let in before it was told its task, or its card requires no credentials; \
         {CREDENTIAL}. If the agent is your own, trusted = true leaves such a trial without a score"
    )]
    Refused { role: String, error: ClientError },
    /// A participant that calls the green agent did not ask it for an evaluation.
    #[error("{role} did not ask for an evaluation: {how}")]
    NotAsked { role: String, how: String },
    /// A server that the built-in evaluator needs, such as a registry, could not be reached.
    #[error("{0}")]
    OutOfReach(String),
    /// The environment broke.
    #[error("the environment failed: {0}")]
    Environment(String),
    /// A participant's language model could not be used.
    #[error("{0}")]
    Model(String),
    /// The built-in evaluator could not do its work.
    #[error("the evaluator failed: {0}")]
    Evaluator(String),
    /// A role that the scenario does not have. The scenario's parser excludes this.
    #[error("there is no participant {0:?}")]
    NoSuchRole(String),
}

impl EvaluationError {
    fn of_participant(role: String, error: ClientError) -> Self {
        match admission::is_refusal(&error) {
            true => Self::NotLetIn { role, error },
            false => Self::Participant { role, error },
        }
    }

    /// Returns the role of the agent whose output may say more about this error: the evaluator, which refused the request, or an
    /// agent that broke off. What stands behind a server error is told with its answer.
    pub(crate) fn unexplained_by(&self) -> Option<&str> {
        let (role, fault) = self.failed_call()?;
        let is_told = match fault {
            Fault::Rpc(_) => role != "green",
            // For an agent that broke off, the recorder answers 502.
            Fault::Http { status, .. } => *status >= 500 && *status != 502,
            _ => false,
        };
        (!is_told).then_some(role)
    }

    /// Returns the role of the agent that gave no answer to a call, or none of A2A, if there is no assessment for that reason.
    pub(crate) fn without_answer(&self) -> Option<&str> {
        let (role, fault) = self.failed_call()?;
        (!matches!(fault, Fault::Rpc(_))).then_some(role)
    }

    /// Returns the call that failed, by the role of the called agent.
    fn failed_call(&self) -> Option<(&str, &Fault)> {
        match self {
            Self::Green(error) => Some(("green", &error.fault)),
            Self::Participant { role, error } => Some((role, &error.fault)),
            Self::NotLetIn { .. }
            | Self::Refused { .. }
            | Self::NotAsked { .. }
            | Self::OutOfReach(_)
            | Self::Environment(_)
            | Self::Model(_)
            | Self::Evaluator(_)
            | Self::NoSuchRole(_) => None,
        }
    }

    /// Returns the error of a participant that has been told its task.
    fn of_told(role: String, error: ClientError) -> Self {
        match admission::is_refusal(&error) {
            true => Self::Refused { role, error },
            false => Self::Participant { role, error },
        }
    }
}

/// Returns the credentials for a participant: those for its role, which is reached at its recorded address.
fn credentials(keys: &[Key], url: &Url) -> Credentials {
    let mut own = keys.iter().filter(|key| key.url == *url);
    // The lookup has checked that each credential can be sent.
    let all = own.try_fold(Credentials::default(), |all, key| key.add_to(all));
    all.unwrap_or_default().meant_for(url)
}

/// Receives each text that the evaluator sends while it works.
pub type Listener = Arc<dyn Fn(&str) + Send + Sync>;

impl Evaluation<'_> {
    /// Runs the evaluation.
    ///
    /// # Errors
    /// If there is no assessment. A failed or rejected evaluation has one.
    pub async fn assess(&self, listener: &Listener) -> Result<Assessment, EvaluationError> {
        let assessment = match (self.green, &self.green_url, &self.episode) {
            (Green::Builtin(model::Evaluator::Conversation(conversation)), _, _) => {
                let keys = self.keys().map_err(EvaluationError::Evaluator)?;
                conversation::assess(self, &conversation.turns, keys, listener).await
            }
            (Green::Builtin(model::Evaluator::Episode(_)), _, Some(evaluator)) => {
                self.assess_own(&**evaluator, listener).await
            }
            (Green::Builtin(model::Evaluator::Pipeline(pipeline)), _, _) => {
                let engine = Engine::new(pipeline.clone(), self.limits());
                let keys = self.keys().map_err(EvaluationError::Evaluator)?;
                let engine = engine.with_keys(keys).with_meter(self.agent_meter());
                self.assess_own(&PipelineEvaluator(engine), listener).await
            }
            (Green::Builtin(model::Evaluator::Episode(episode)), _, None) => {
                let environment = &episode.environment;
                let why = format!("no process serves the environment {environment}");
                Err(EvaluationError::Evaluator(why))
            }
            (Green::Agent(agent), Some(url), _) => {
                let assessment = green::assess(self, &agent.role, url, listener).await;
                assessment.map_err(EvaluationError::Green)
            }
            (Green::Agent(agent), None, _) => Err(EvaluationError::NoSuchRole(agent.role.clone())),
        };
        Ok(without_echoes(assessment?, self.config))
    }

    fn keys(&self) -> Result<Vec<Key>, String> {
        let keys = self.keyring.keys(&self.participants);
        keys.map_err(|error| error.to_string())
    }

    async fn assess_own(
        &self,
        evaluator: &dyn Evaluator,
        listener: &Listener,
    ) -> Result<Assessment, EvaluationError> {
        let reporter = Reporter::new(None, Some(listener.clone()));
        let request = self.request(Map::new());
        match evaluator.assess(&request, &reporter).await {
            Ok(verdict) => Ok(assessment_of(reporter.said(), verdict)),
            Err(AssessError::Participant { role, error }) => {
                Err(EvaluationError::of_participant(role, *error))
            }
            Err(AssessError::OutOfReach(why)) => Err(EvaluationError::OutOfReach(why)),
            Err(AssessError::Environment(why)) => Err(EvaluationError::Environment(why)),
            Err(AssessError::Model(why)) => Err(EvaluationError::Model(why)),
            Err(
                error @ (AssessError::Rejected(_)
                | AssessError::Failed(_)
                | AssessError::Abandoned(_)),
            ) => Err(EvaluationError::Evaluator(error.to_string())),
        }
    }

    /// Returns the assessment of an evaluation that the participant in this role asked for itself; `how` describes the
    /// participant's end. If the evaluation goes on without the participant, waits for its end.
    ///
    /// # Errors
    /// If the participant asked for none, or the green agent does not return one.
    pub async fn recorded(
        &self,
        role: &str,
        how: &str,
        entries: &[Entry],
    ) -> Result<Assessment, EvaluationError> {
        let assessment = green::recorded(self, role, how, entries).await?;
        Ok(without_echoes(assessment, self.config))
    }

    fn request(&self, config: Map<String, Value>) -> AssessmentRequest {
        AssessmentRequest { participants: self.participants.clone(), config }
    }

    /// Returns the meter of what a party sends over gRPC and so past the recorder.
    fn meter(&self, role: &str) -> GrpcMeter {
        let (transcript, role) = (self.transcript.clone(), role.to_owned());
        GrpcMeter::new(move |bytes| transcript.count_unrecorded(&role, bytes))
    }

    /// Returns the same for agents that are known by the addresses of their cards.
    fn agent_meter(&self) -> AgentMeter {
        let (transcript, participants) = (self.transcript.clone(), self.participants.clone());
        Arc::new(move |card, bytes| {
            let at = |(_, url): &&(String, Url)| url.origin() == card.origin();
            let role = participants.iter().find(at).map_or(card.as_str(), |(role, _)| role);
            transcript.count_unrecorded(role, bytes);
        })
    }

    /// Returns limits that leave it to the trial's to end an agent that is slow or blocked.
    fn limits(&self) -> Limits {
        Limits { card: self.limit, reply: self.limit, idle: self.limit, ..Limits::default() }
    }
}

/// Returns the assessment of a finished trial by the scenario's present expectations, if the evaluator has
/// expectations; `known` is the recorded one.
pub(crate) fn judged_again(
    green: &Green,
    known: Assessment,
    entries: &[Entry],
) -> Result<Assessment, TurnsError> {
    let Green::Builtin(model::Evaluator::Conversation(conversation)) = green else {
        return Ok(known);
    };
    conversation::judge_again(&conversation.turns, &known, entries)
}

/// Returns the metrics in the results, booleans as 1 and 0: the numbers of an object `metrics`, and beside it those that
/// measure the agent's work; without it the numbers of the top-level members. Evaluators that send a result for each task
/// mean the mean of these rows. Of different results, the last with a number of that name counts.
fn metrics(results: &[Value]) -> BTreeMap<String, f64> {
    let of_result = |result: &Map<String, Value>| {
        let named = result.get(METRICS).and_then(Value::as_object);
        let beside = result.iter().filter(|(name, _)| named.is_none() || is_worth(name));
        let all = beside.chain(named.into_iter().flatten());
        let numbers = all.filter_map(|(name, value)| Some((name.clone(), expect::number(value)?)));
        numbers.collect::<Vec<_>>()
    };
    let are_rows = expect::are_rows(results);
    let mut found: BTreeMap<String, Vec<f64>> = BTreeMap::new();
    for (name, number) in results.iter().filter_map(Value::as_object).flat_map(of_result) {
        let numbers = found.entry(name).or_default();
        if !are_rows {
            numbers.clear();
        }
        numbers.push(number);
    }
    let mean = |numbers: Vec<f64>| numbers.iter().sum::<f64>() / numbers.len() as f64;
    found.into_iter().map(|(name, numbers)| (name, mean(numbers))).collect()
}

/// Removes the metrics that repeat what the evaluator was told: members of its `[config]`, and the seed. They are known by their
/// names, because a metric that is there in some trials only has no mean.
fn without_echoes(mut assessment: Assessment, config: &Map<String, Value>) -> Assessment {
    let is_told = |name: &str| name == SEED || config.contains_key(name);
    assessment.metrics.retain(|name, _| is_worth(name) || !is_told(name));
    assessment
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn found(result: Value, config: &Value) -> Vec<String> {
        let assessment = Assessment { metrics: metrics(&[result]), ..Assessment::default() };
        let config = config.as_object().unwrap();
        let metrics = without_echoes(assessment, config).metrics;
        metrics.into_keys().collect()
    }

    #[test]
    fn what_the_evaluator_was_told_is_no_metric() {
        let result =
            json!({"score": 1, "steps": 3, "rounds": 5, "seed": 7, "right": true, "who": "a"});
        let told = json!({"rounds": 5, "score": "as a share"});
        assert_eq!(found(result, &told), ["right", "score", "steps"]);
    }

    #[test]
    fn the_metrics_of_rows_are_means_and_of_different_results_the_last() {
        let rows = [json!({"task": "a", "score": 1}), json!({"task": "b", "score": 0})];
        assert_eq!(metrics(&rows), BTreeMap::from([("score".to_owned(), 0.5)]));
        let summary = json!({"score": 7, "tasks": 2});
        let expected = BTreeMap::from([("score".to_owned(), 7.0), ("tasks".to_owned(), 2.0)]);
        assert_eq!(metrics(&[&rows[..], &[summary]].concat()), expected);
    }

    #[test]
    fn an_evaluator_can_say_which_numbers_are_metrics() {
        let result = json!({"score": 1, "port": 80, "metrics": {"accuracy": 0.5, "notes": "x"}});
        assert_eq!(found(result, &json!({})), ["accuracy", "score"]);
    }
}
