//! The expectations of a scenario file: the `[[harness.expect]]` tables.

pub use bridge_orchestration::pipeline::ValuePath;
use regex::Regex;
use serde_json::Value;

use green_agent_transcript::Hop;

/// One expectation and its place in the file.
#[derive(Clone, Debug)]
pub struct Expectation {
    /// The line on which it begins, from 1.
    pub line: usize,
    /// Whether the check is negated.
    pub not: bool,
    /// The rule.
    pub rule: Rule,
}

/// A check of the answer to a turn.
#[derive(Clone, Debug)]
pub struct AnswerCheck {
    /// The line on which it begins, from 1.
    pub line: usize,
    /// Whether the check is negated.
    pub not: bool,
    /// The path to a value in the answer's JSON; without one, checks of a text see the answer's text, and others see all of the
    /// JSON.
    pub path: Option<ValuePath>,
    /// The check.
    pub check: Check,
}

/// The two kinds of expectation.
#[derive(Clone, Debug)]
pub enum Rule {
    /// A value somewhere passes a check.
    Value {
        /// The target.
        on: Target,
        /// The path to a value in the target; the whole target if absent.
        path: Option<ValuePath>,
        /// The check.
        check: Check,
    },
    /// Events occur in this order; other events may occur between them.
    Sequence {
        /// Labels such as `status:working`, `mcp:tools/call`, `task:completed`; `*` stands for any text.
        labels: Vec<String>,
        /// The hop to search; any hop if absent.
        hop: Option<Hop>,
    },
}

/// The target of an expectation: its `on`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Target {
    /// `artifact:NAME`: the content of the evaluation's artifact of that name.
    Artifact(String),
    /// `task:ROLE`: the last task that was seen from the agent in that role, in A2A 1.0 form.
    Task(String),
    /// `status:N`: the evaluation's Nth status, from 1; negative counts from the end.
    Status(i64),
    /// `mcp:TOOL`: the calls of that tool, as a list of `{arguments, result}`.
    Mcp(String),
    /// `result`: the results as AgentBeats collects them, a list.
    Result,
    /// Anything else: a metric's name.
    Metric(String),
}

/// A check. If a JSONPath selects several nodes, every one of them must pass.
#[derive(Clone, Debug)]
pub enum Check {
    /// Is equal; numbers are compared by value, so `1` equals `1.0`.
    Eq(Value),
    /// Is not equal.
    Ne(Value),
    /// Is a number greater than this.
    Gt(f64),
    /// Is a number of at least this.
    Ge(f64),
    /// Is a number less than this.
    Lt(f64),
    /// Is a number of at most this.
    Le(f64),
    /// Is a text that contains this text, a list that contains this element, or an object that has these
    /// members.
    Contains(Value),
    /// Is a text that contains one at least of these texts.
    ContainsAny(Vec<String>),
    /// Is a text in which the regular expression finds a match.
    Matches(Regex),
    /// Is valid under this JSON Schema.
    Schema(Value),
    /// Exists, or does not exist.
    Exists(bool),
    /// Has this number of nodes, elements, members or characters.
    Count(usize),
}
