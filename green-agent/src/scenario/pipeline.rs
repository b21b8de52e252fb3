//! What the built-in evaluator `pipeline` is told: steps by skill, and how what one gives becomes what
//! another needs.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
    path::PathBuf,
    time::Duration,
};

use serde_json::{Map, Value};
use url::Url;

use super::expectation::ValuePath;

/// The name under which references find what the pipeline was asked for; no step is called so.
pub const REQUIREMENTS: &str = "requirements";

/// The members of the result that the evaluator adds itself; `[config.result]` names none of them.
pub const RESERVED_RESULTS: [&str; 2] = ["score", "steps"];

/// An orchestrated work: who does it is found by skill, step by step.
#[derive(Clone, Debug)]
pub struct Pipeline {
    /// What is asked for, if the file says it; a pipeline that is served is told by its caller.
    pub requirements: Option<Value>,
    /// Where agents are looked for.
    pub agents: Agents,
    /// What agents are shown to be let in.
    pub credentials: Vec<Credential>,
    /// The steps in the file's order; at least one.
    pub steps: Vec<Step>,
    /// What the result is made of, by name; every step's output under its id if there is nothing.
    pub result: BTreeMap<String, Reference>,
    /// How many steps may run at a time, from 1.
    pub parallel: usize,
    /// The longest that all of it may take.
    pub timeout: Duration,
}

/// Where agents are looked for. Without anything, among the scenario's participants.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Agents {
    /// Agents and catalogues of agents.
    pub listed: Vec<Place>,
    /// An OCI registry that holds agent cards.
    pub registry: Option<Place>,
}

impl Agents {
    /// Whether nothing is named, so that the participants are meant.
    pub fn is_empty(&self) -> bool {
        self.listed.is_empty() && self.registry.is_none()
    }

    /// All places that are named.
    pub fn places(&self) -> impl Iterator<Item = &Place> {
        self.listed.iter().chain(&self.registry)
    }
}

/// An address, or the participant that has it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Place {
    /// A participant of the scenario, reached through the recorder.
    Role(String),
    /// Somewhere else.
    Url(Url),
}

/// What lets the pipeline in at one agent, or at the registry. `[[config.credential]]`
///
/// It goes to that address and nowhere else: a card decides how a secret is shown, never to whom.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Credential {
    /// Who is shown it.
    pub agent: Place,
    /// How it is shown.
    pub shown: Shown,
    /// Where the secret is.
    pub secret: SecretPlace,
}

/// How a secret is shown.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Shown {
    /// As the security scheme of this name in the agent's card says (A2A specification 4.5.1). A registry
    /// has no card: `basic`, with `user:password`, or `bearer`.
    Scheme(String),
    /// In this header as it is, for agents whose cards name no schemes.
    Header(String),
}

/// Where a secret is. Scenario files are read by everybody, so that it never stands in them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SecretPlace {
    /// In a variable of the environment or of `.env`.
    Env(String),
    /// In a file, without white space around it; seen from the folder that agents run in.
    File(PathBuf),
}

/// One step: a skill, what it is given, and how much patience there is with it.
#[derive(Clone, Debug)]
pub struct Step {
    /// Line of the scenario file on which it begins, from 1.
    pub line: usize,
    /// What its output is called in references.
    pub id: String,
    /// The skill that does it.
    pub skill: String,
    /// The skill's parameters.
    pub input: BTreeMap<String, Input>,
    /// Steps that must have ended before, beside those whose outputs it needs.
    pub after: BTreeSet<String>,
    /// How often it is tried again.
    pub retries: u32,
    /// How long after the first failure it is tried again; after each further one twice as long.
    pub backoff: Duration,
    /// The longest that one attempt may take; what is left of the pipeline's own time if absent.
    pub timeout: Option<Duration>,
}

impl Step {
    /// The steps that must have ended before this one begins.
    pub fn needs(&self) -> BTreeSet<&str> {
        let references = self.input.values().filter_map(Input::step);
        references
            .chain(self.after.iter().map(String::as_str))
            .collect()
    }
}

/// What a parameter is.
#[derive(Clone, Debug)]
pub enum Input {
    /// What the file says.
    Value(Value),
    /// What was asked for, or what a step before gave.
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

/// Where a value stands in `{"requirements": .., STEP: OUTPUT, ..}`.
#[derive(Clone, Debug)]
pub struct Reference {
    /// The first name on its way: a step's id, or [`REQUIREMENTS`].
    pub source: String,
    /// The whole way.
    pub path: ValuePath,
}

impl Reference {
    /// The step whose output it stands in, if it does not stand in the requirements.
    pub fn step(&self) -> Option<&str> {
        (self.source != REQUIREMENTS).then_some(self.source.as_str())
    }

    /// The value in a document: what a pointer or a JSONPath for one node leads to, and for any other
    /// JSONPath the list of what it selects. `None` if there is nothing.
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
    /// As it stands in the file.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.path {
            ValuePath::Pointer(pointer) => f.write_str(pointer),
            ValuePath::JsonPath(path) => path.fmt(f),
        }
    }
}

/// The first name on the way of a pointer or a JSONPath; `None` if it begins with anything else.
pub fn first_name(path: &ValuePath) -> Option<String> {
    match path {
        ValuePath::Pointer(pointer) => {
            let first = pointer.strip_prefix('/')?.split('/').next()?;
            Some(first.replace("~1", "/").replace("~0", "~"))
        }
        ValuePath::JsonPath(path) => {
            // In its normal form a name stands in brackets and quotes, or after a dot.
            let text = path.to_string();
            let rest = text.strip_prefix('$')?;
            let quoted = rest.strip_prefix("['").or_else(|| rest.strip_prefix("[\""));
            let (name, end) = match quoted {
                Some(name) => (name, &['\'', '"'][..]),
                None => (rest.strip_prefix('.')?, &['.', '['][..]),
            };
            let name = name.split(end).next()?;
            (!name.is_empty() && name != "*").then(|| name.to_owned())
        }
    }
}

/// Whether a JSONPath can select one node at most: names and indices, without wildcards, slices, filters.
fn selects_one(path: &str) -> bool {
    let mut quote = None;
    let mut last = ' ';
    for c in path.chars() {
        match quote {
            Some(open) if c == open => quote = None,
            Some(_) => {}
            None if matches!(c, '\'' | '"') => quote = Some(c),
            None if matches!(c, '*' | '?' | ',' | ':') || (c == '.' && last == '.') => {
                return false;
            }
            None => {}
        }
        last = c;
    }
    true
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use serde_json_path::JsonPath;

    use super::*;

    fn path(text: &str) -> ValuePath {
        match text.starts_with('$') {
            true => ValuePath::JsonPath(Box::new(JsonPath::parse(text).unwrap())),
            false => ValuePath::Pointer(text.to_owned()),
        }
    }

    #[test]
    fn the_first_name_says_whose_output_is_meant() {
        for (text, expected) in [
            ("/plan/steps/0", Some("plan")),
            ("/a~1b", Some("a/b")),
            ("", None),
            ("$.plan.steps[0]", Some("plan")),
            ("$['plan']['steps']", Some("plan")),
            ("$.plan", Some("plan")),
            ("$[\"plan\"][*]", Some("plan")),
            ("$..plan", None),
            ("$.*", None),
            ("$", None),
        ] {
            assert_eq!(first_name(&path(text)).as_deref(), expected, "{text}");
        }
    }

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
            assert_eq!(
                Reference { source, path }.find(document),
                expected,
                "{text}"
            );
        }
    }
}
