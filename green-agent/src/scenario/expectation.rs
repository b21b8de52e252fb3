//! What a scenario file expects of its run: the `[[harness.expect]]` tables.

use regex::Regex;
use serde_json::Value;

use crate::transcript::Hop;

/// One expectation and where it stands.
#[derive(Clone, Debug)]
pub struct Expectation {
    /// Line of the scenario file on which it begins, from 1.
    pub line: usize,
    /// Turns the outcome round.
    pub not: bool,
    /// What is expected.
    pub rule: Rule,
}

/// The two kinds of expectation.
#[derive(Clone, Debug)]
pub enum Rule {
    /// A value somewhere passes a check.
    Value {
        /// What is looked at.
        on: Target,
        /// Where in it; the whole of it if absent.
        path: Option<ValuePath>,
        /// What must hold there.
        check: Check,
    },
    /// Things happened in this order, other things between them allowed.
    Sequence {
        /// Labels such as `status:working`, `mcp:tools/call`, `task:completed`; `*` stands for any text.
        labels: Vec<String>,
        /// Only on this hop; on any if absent.
        hop: Option<Hop>,
    },
}

/// What an expectation looks at: its `on`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Target {
    /// `artifact:NAME`: the content of the evaluation's artifact of that name.
    Artifact(String),
    /// `task:ROLE`: the last task that was seen from the agent in that role, in A2A 1.0 form.
    Task(String),
    /// `status:N`: the evaluation's Nth status, from 1; negative counts from the end.
    Status(i64),
    /// `mcp:TOOL`: the calls of that tool, a list of `{arguments, result}`.
    Mcp(String),
    /// `result`: the results as AgentBeats collects them, a list.
    Result,
    /// Anything else: a metric's name.
    Metric(String),
}

/// Where in a value: written as `/a/0/b` or as `$.a[0].b`.
#[derive(Clone, Debug)]
pub enum ValuePath {
    /// A JSON pointer (RFC 6901).
    Pointer(String),
    /// A JSONPath (RFC 9535); the nodes it selects are what is checked.
    JsonPath(Box<serde_json_path::JsonPath>),
}

/// What must hold. A JSONPath that selects several nodes passes if every one of them passes.
#[derive(Clone, Debug)]
pub enum Check {
    /// Equal; numbers by value, so `1` equals `1.0`.
    Eq(Value),
    /// Not equal.
    Ne(Value),
    /// A number greater than this.
    Gt(f64),
    /// A number of at least this.
    Ge(f64),
    /// A number less than this.
    Lt(f64),
    /// A number of at most this.
    Le(f64),
    /// A text with this inside, a list with this element, an object with these members.
    Contains(Value),
    /// A text in which the expression finds a match.
    Matches(Regex),
    /// Valid under this JSON Schema.
    Schema(Value),
    /// There is such a value, or there is none.
    Exists(bool),
    /// So many nodes, elements, members or characters.
    Count(usize),
}
