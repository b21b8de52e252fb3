//! The outcome of an evaluation in a form that is the same for every evaluator. Expectations are checked
//! against it.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The state of an evaluation that was carried out to its end.
pub const COMPLETED: &str = "completed";

/// The task of an evaluation in its last state. All JSON in it is in A2A 1.0 form.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Assessment {
    /// The last state, by its A2A 0.3 name: `completed`, `failed`, `rejected`, `canceled`; or
    /// `input-required`, `auth-required` if the evaluator stopped to ask.
    pub state: String,
    /// Every status, in order: A2A `TaskStatus` objects.
    pub statuses: Vec<Value>,
    /// The artifacts in their last form, in the order in which they first appeared: A2A `Artifact` objects.
    pub artifacts: Vec<Value>,
    /// The data parts of the artifacts, as AgentBeats collects them. Not serialized here, because a trial's
    /// report has a field of its own for them.
    #[serde(skip)]
    pub results: Vec<Value>,
    /// Numbers that the evaluator or the runner measured, by name.
    #[schemars(with = "BTreeMap<String, Option<f64>>")]
    pub metrics: BTreeMap<String, f64>,
}

impl Assessment {
    /// Returns the assessment in the form that is written: `mask` removes secrets from each JSON value.
    pub fn masked(mut self, mask: impl Fn(&mut Value)) -> Self {
        let Self { statuses, artifacts, results, state: _, metrics: _ } = &mut self;
        let values = statuses.iter_mut().chain(artifacts).chain(results);
        values.for_each(mask);
        self
    }
}
