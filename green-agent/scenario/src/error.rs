//! The errors of scenario files, with their positions.

use std::{
    fmt,
    path::{Path, PathBuf},
};

/// One mistake in a file, printed as `path:line:column: key: message`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScenarioError {
    /// The file.
    pub path: PathBuf,
    /// The line, from 1.
    pub line: usize,
    /// The column, from 1, in characters.
    pub column: usize,
    /// The key concerned, such as `config.turn[0].to`, with list indices from 0; empty for the whole file.
    pub key: String,
    /// The kind of mistake.
    pub problem: Problem,
}

impl fmt::Display for ScenarioError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}:{}: ", self.path.display(), self.line, self.column)?;
        if !self.key.is_empty() {
            write!(f, "{}: ", self.key)?;
        }
        self.problem.fmt(f)
    }
}

impl std::error::Error for ScenarioError {}

/// All mistakes in one file, in the file's order; never empty.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}", .0.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n"))]
pub struct ScenarioErrors(pub Vec<ScenarioError>);

impl ScenarioErrors {
    /// Returns the only mistake in a file, which is behind this text.
    pub(super) fn one(path: &Path, before: &str, key: &str, problem: Problem) -> Self {
        let (path, key) = (path.to_owned(), key.to_owned());
        let line = 1 + before.matches('\n').count();
        let column = 1 + before.chars().rev().take_while(|c| *c != '\n').count();
        Self(vec![ScenarioError { path, line, column, key, problem }])
    }
}

/// The kinds of mistakes. Each message is one line that names what was expected and what was found.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[expect(missing_docs, reason = "the messages say what the fields are")]
pub enum Problem {
    /// The file could not be opened, or is not UTF-8.
    #[error("cannot be read: {0}")]
    Unreadable(String),
    /// The text is not JSON5, or not a manifest that can be used.
    #[error("{0}")]
    Manifest(String),
    /// The text is not TOML.
    #[error("not TOML: {0}")]
    Syntax(String),
    /// The dataset cannot be used.
    #[error("{0}")]
    Dataset(String),
    /// Rows of the dataset or cells of the matrix have mistakes that are not listed; their number.
    #[error("{0} more rows or cells have mistakes, too; correct these first")]
    Unlisted(usize),
    /// A mistake that a value of a row makes: not all rows have it.
    #[error("{problem}, with {row}")]
    InRow {
        problem: Box<Problem>,
        /// The file of the row and its line.
        row: String,
    },
    /// A placeholder for which there is no value.
    #[error("{placeholder}: {}expected {expected}", suggestion(nearest.as_deref()))]
    Placeholder { placeholder: String, nearest: Option<String>, expected: String },
    /// A required key is missing.
    #[error("missing; expected {0}")]
    Missing(String),
    /// A value of the wrong type, or outside its range.
    #[error("expected {expected}, found {found}")]
    Unexpected { expected: String, found: String },
    /// A text that is not valid in the language in which it must be written.
    #[error("expected {language}, found {found}: {error}")]
    Malformed {
        /// The language, with its article: `a regular expression`.
        language: &'static str,
        found: String,
        error: String,
    },
    /// An unknown key, in a table that allows only known ones.
    #[error("unknown key; {}known here: {}", suggestion(nearest.as_deref()), known.join(", "))]
    UnknownKey {
        nearest: Option<String>,
        /// Every known key of the table.
        known: Vec<&'static str>,
    },
    /// A key of another table, in which it would mean something.
    #[error("not read here; write it as {0}")]
    Misplaced(String),
    /// A key that cannot be combined with another one.
    #[error("expected it without {other}, found both: {advice}")]
    Together { other: &'static str, advice: &'static str },
    /// Agents that cannot stay from one trial to the next.
    #[error("agents cannot be kept between trials: {0}")]
    NotKept(String),
    /// A role that the harness itself uses.
    #[error(
        "the role {0:?} is reserved; expected one other than green, runner, environment and those that end with .bot"
    )]
    ReservedRole(String),
    /// Two participants with the same role.
    #[error(
        "the role {role:?} is taken by the participant of line {line}; expected a role for each participant"
    )]
    DuplicateRole { role: String, line: usize },
    /// A reference to an agent that the file does not define.
    #[error("no agent has the role {role:?}; {}", roles(known))]
    UnknownRole { role: String, known: Vec<String> },
    /// A label that no transcript entry can have.
    #[error("no such label occurs; {}expected one of: {}", suggestion(nearest.as_deref()), known.join(", "))]
    UnknownLabel { nearest: Option<String>, known: Vec<&'static str> },
    /// A URL that contains a user or password, which the message does not repeat.
    #[error(
        "user or password found in the URL; expected it without, because every report shows it"
    )]
    Credentials,
    /// A secret in the file, which the message does not repeat.
    #[error(
        "a secret found in the file; expected {{ env = \"NAME\" }} or {{ file = \"PATH\" }}, because others can read \
         this file"
    )]
    SecretInFile,
    /// Settings that the policy refuses, with its reason.
    #[error("{0}")]
    PolicySettings(String),
    /// A program without an endpoint.
    #[error("cmd found without endpoint; expected the URL at which the program will listen")]
    CmdWithoutEndpoint,
}

/// Names the roles that could be meant.
pub(super) fn roles(known: &[String]) -> String {
    match known {
        [] => "there are no roles here to refer to".to_owned(),
        _ => format!("expected one of: {}", known.join(", ")),
    }
}

fn suggestion(nearest: Option<&str>) -> String {
    nearest.map_or_else(String::new, |key| format!("did you mean {key}? "))
}
