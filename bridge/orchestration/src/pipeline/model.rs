//! A pipeline as its author writes it: steps by skill, with references from inputs to outputs.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
    path::PathBuf,
    time::Duration,
};

use serde_json::{Map, Value};
use url::Url;

use super::value_path::{ValuePath, selects_one};

/// The name of the pipeline's requirements in references. No step can have this id.
pub const REQUIREMENTS: &str = "requirements";

/// The members of the result that the evaluator adds itself. `[config.result]` cannot name them.
pub const RESERVED_RESULTS: [&str; 2] = ["score", "steps"];

/// A pipeline of steps, each carried out by an agent that is found by skill.
#[derive(Clone, Debug)]
pub struct Pipeline {
    /// The requirements, if the file has some; a served pipeline gets them from its caller.
    pub requirements: Option<Value>,
    /// The addresses to search for agents.
    pub agents: Agents,
    /// The credentials that agents are sent.
    pub credentials: Vec<Credential>,
    /// The steps in the file's order; at least one.
    pub steps: Vec<Step>,
    /// The result's members, by name; if empty, the output of every step under its id.
    pub result: BTreeMap<String, Reference>,
    /// The most steps that run at the same time, at least 1.
    pub parallel: usize,
    /// The time limit of the whole pipeline.
    pub timeout: Duration,
}

/// The addresses to search for agents; if there are none, the scenario's participants.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Agents {
    /// Agents and catalogues of agents.
    pub listed: Vec<AgentAddress>,
    /// An OCI registry that holds agent cards.
    pub registry: Option<AgentAddress>,
}

impl Agents {
    /// Returns whether no place is named, so that the participants are used.
    pub fn is_empty(&self) -> bool {
        self.listed.is_empty() && self.registry.is_none()
    }

    /// Returns all addresses that are named.
    pub fn addresses(&self) -> impl Iterator<Item = &AgentAddress> {
        self.listed.iter().chain(&self.registry)
    }
}

/// An address, or the role of a participant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AgentAddress {
    /// A participant of the scenario, reached through the recorder.
    Role(String),
    /// A URL.
    Url(Url),
}

/// A credential for one agent, or for the registry. `[[config.credential]]`
///
/// It is sent to that address only: a card decides how a secret is sent, never to which server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Credential {
    /// The agent that gets it.
    pub agent: AgentAddress,
    /// The way in which it is sent.
    pub shown: CredentialForm,
    /// The source of the secret.
    pub secret: SecretSource,
}

/// The way in which a secret is sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CredentialForm {
    /// By the security scheme of this name in the agent's card (A2A specification, section 4.5.1). A registry
    /// has no card: `basic` with `user:password`, or `bearer`.
    Scheme(String),
    /// In this header, unchanged, for agents whose cards name no schemes.
    Header(String),
}

/// The source of a secret. Secrets are never written in scenario files, because those are shared.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SecretSource {
    /// An environment variable, or one of `.env`.
    Env(String),
    /// A file, with surrounding white space removed; its path is relative to the folder in which agents run.
    File(PathBuf),
}

/// One step: a skill, its input, and its limits.
#[derive(Clone, Debug)]
pub struct Step {
    /// The line on which it begins, from 1.
    pub line: usize,
    /// The name of its output in references.
    pub id: String,
    /// The id of its skill.
    pub skill: String,
    /// The skill's parameters.
    pub input: BTreeMap<String, Input>,
    /// The steps that must have ended before, in addition to those whose outputs it needs.
    pub after: BTreeSet<String>,
    /// The number of retries.
    pub retries: u32,
    /// The pause before the first retry; each further pause is twice as long.
    pub backoff: Duration,
    /// The time limit of one attempt; the rest of the pipeline's time if absent.
    pub timeout: Option<Duration>,
}

impl Step {
    /// Returns the ids of the steps that must have ended before this one begins.
    pub fn needs(&self) -> BTreeSet<&str> {
        let references = self.input.values().filter_map(Input::step);
        references.chain(self.after.iter().map(String::as_str)).collect()
    }
}

/// The value of a parameter.
#[derive(Clone, Debug)]
pub enum Input {
    /// A value in the file.
    Value(Value),
    /// A reference to the requirements or to the output of an earlier step.
    From(Reference),
}

impl Input {
    fn step(&self) -> Option<&str> {
        match self {
            Self::Value(_) => None,
            Self::From(reference) => reference.step(),
        }
    }
}

/// A reference to a value in `{"requirements": .., STEP: OUTPUT, ..}`.
#[derive(Clone, Debug)]
pub struct Reference {
    /// The first name on its path: a step's id, or [`REQUIREMENTS`].
    pub source: String,
    /// The whole path.
    pub path: ValuePath,
}

impl Reference {
    /// Returns the step whose output it refers to; `None` for the requirements.
    pub fn step(&self) -> Option<&str> {
        (self.source != REQUIREMENTS).then_some(self.source.as_str())
    }

    /// Returns the value in a document: for a pointer or a JSONPath to one node, that value; for any other
    /// JSONPath, the list of values that it selects. `None` if there is none.
    pub fn find(&self, document: &Map<String, Value>) -> Option<Value> {
        let document = Value::Object(document.clone());
        match &self.path {
            ValuePath::Pointer(pointer) => document.pointer(pointer).cloned(),
            ValuePath::JsonPath(path) => {
                let nodes = path.query(&document).all();
                match (&nodes[..], selects_one(&path.to_string())) {
                    ([], _) => None,
                    ([node], true) => Some((*node).clone()),
                    (nodes, _) => Some(nodes.iter().map(|node| (*node).clone()).collect()),
                }
            }
        }
    }
}

impl fmt::Display for Reference {
    /// Writes the reference as in the file.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.path {
            ValuePath::Pointer(pointer) => f.write_str(pointer),
            ValuePath::JsonPath(path) => path.fmt(f),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::pipeline::{first_name, fixture::path};

    #[test]
    fn a_reference_gives_one_value_or_a_list() {
        let document = json!({"requirements": "r", "plan": {"steps": ["a", "b"], "x.*y": 1}});
        let document = document.as_object().unwrap();
        for (text, expected) in [
            ("/requirements", Some(json!("r"))),
            ("/plan/steps/1", Some(json!("b"))),
            ("$.plan.steps[1]", Some(json!("b"))),
            ("$.plan.steps[*]", Some(json!(["a", "b"]))),
            ("$.plan.steps[1:]", Some(json!(["b"]))),
            ("$.plan['x.*y']", Some(json!(1))),
            ("/plan/code", None),
            ("$.plan.code", None),
        ] {
            let path = path(text);
            let source = first_name(&path).unwrap();
            assert_eq!(Reference { source, path }.find(document), expected, "{text}");
        }
    }
}
