//! Evaluators: the built-in ones in this process, and Green agents that are called over A2A.

mod collect;
mod conversation;
mod external;

use std::{collections::BTreeMap, time::Duration};

use bridge_client::{ClientError, Limits};
use serde_json::{Map, Value};
use url::Url;

use crate::{
    assessment::Assessment,
    scenario::model::{Evaluator, Green},
};

/// What an evaluation is about, and the addresses to use for it: the recorder's.
#[derive(Clone, Debug)]
pub struct Evaluation<'a> {
    /// Who evaluates.
    pub green: &'a Green,
    /// Where the green agent is, unless it is a built-in evaluator.
    pub green_url: Option<Url>,
    /// Where the participants are, by role, in the scenario's order.
    pub participants: Vec<(String, Url)>,
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
    /// A role that the scenario does not have; parsing rules it out.
    #[error("there is no participant {0:?}")]
    NoSuchRole(String),
}

/// Hears what the evaluator says while it works.
pub type Listener<'a> = &'a (dyn Fn(&str) + Send + Sync);

impl Evaluation<'_> {
    /// Evaluates.
    ///
    /// # Errors
    /// If there is no assessment; a failed or rejected evaluation is one.
    pub async fn assess(&self, listener: Listener<'_>) -> Result<Assessment, EvaluationError> {
        match (self.green, &self.green_url) {
            (Green::Builtin(Evaluator::Conversation(turns)), _) => {
                conversation::assess(self, turns, listener).await
            }
            (Green::Agent(_), Some(url)) => external::assess(self, url, listener).await,
            (Green::Agent(agent), None) => Err(EvaluationError::NoSuchRole(agent.role.clone())),
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

/// The numbers that results carry at their top, by name: the metrics of an evaluation.
fn metrics(results: &[Value]) -> BTreeMap<String, f64> {
    let members = results.iter().filter_map(Value::as_object).flatten();
    members
        .filter_map(|(name, value)| Some((name.clone(), value.as_f64()?)))
        .collect()
}
