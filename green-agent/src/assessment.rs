//! What an evaluator said about a run, whichever evaluator it was: expectations look at this.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The evaluation's task as it stood at its end. All JSON in it is in A2A 1.0 form.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Assessment {
    /// The state that ended it, in the words of A2A 0.3: `completed`, `failed`, `rejected`, `canceled`;
    /// or `input-required`, `auth-required` where the evaluator stopped to ask.
    pub state: String,
    /// Every status, in order: A2A `TaskStatus` objects.
    pub statuses: Vec<Value>,
    /// The artifacts as they stood at the end, in the order they appeared: A2A `Artifact` objects.
    pub artifacts: Vec<Value>,
    /// What of them is data, as AgentBeats collects it; reports have it beside this.
    #[serde(skip)]
    pub results: Vec<Value>,
    /// Numbers that the evaluator or the runner measured, by name.
    pub metrics: BTreeMap<String, f64>,
}

impl Assessment {
    /// As it may be written, where `mask` takes out of a value what must not be shown.
    pub fn masked(mut self, mask: impl Fn(&mut Value)) -> Self {
        let Self {
            statuses,
            artifacts,
            results,
            state: _,
            metrics: _,
        } = &mut self;
        let values = statuses.iter_mut().chain(artifacts).chain(results);
        values.for_each(mask);
        self
    }
}
