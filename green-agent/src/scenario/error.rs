//! What is wrong with a scenario file, and where.

use std::{fmt, path::PathBuf};

/// One thing that is wrong with a file, printed as `path:line:column: key: message`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScenarioError {
    /// The file.
    pub path: PathBuf,
    /// The line, from 1.
    pub line: usize,
    /// The character of that line, from 1.
    pub column: usize,
    /// The key concerned, such as `config.turn[0].to`, lists counted from 0; empty for the whole file.
    pub key: String,
    /// What is wrong there.
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

/// Everything that is wrong with one file, in the file's order; never empty.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScenarioErrors(pub Vec<ScenarioError>);

impl fmt::Display for ScenarioErrors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, error) in self.0.iter().enumerate() {
            let separator = if index == 0 { "" } else { "\n" };
            write!(f, "{separator}{error}")?;
        }
        Ok(())
    }
}

impl std::error::Error for ScenarioErrors {}

/// The kinds of mistake. Each message is one line that names what was expected and what was found.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Problem {
    /// The file could not be opened, or is not UTF-8.
    #[error("cannot be read: {error}")]
    Unreadable {
        /// What the operating system said.
        error: String,
    },
    /// The text is not JSON5, or says nothing that is understood.
    #[error("{error}")]
    Manifest {
        /// What is wrong with it.
        error: String,
    },
    /// The text is not TOML.
    #[error("not TOML: {error}")]
    Syntax {
        /// What the TOML parser said.
        error: String,
    },
    /// A key that must be there is not.
    #[error("missing; expected {expected}")]
    Missing {
        /// What should stand there.
        expected: String,
    },
    /// A value of the wrong type, or outside its range.
    #[error("expected {expected}, found {found}")]
    Unexpected {
        /// What may stand there.
        expected: String,
        /// What does.
        found: String,
    },
    /// A text that should have been written in a language of its own, and is not.
    #[error("expected {language}, found {found}: {error}")]
    Malformed {
        /// The language, with its article: `a regular expression`.
        language: &'static str,
        /// What stands there.
        found: String,
        /// What that language's parser said.
        error: String,
    },
    /// A key that nobody reads, where such keys are not tolerated.
    #[error("unknown key; {}known here: {}", suggestion(nearest.as_deref()), known.join(", "))]
    UnknownKey {
        /// The known key that looks most like it.
        nearest: Option<String>,
        /// Every key that may stand there.
        known: Vec<&'static str>,
    },
    /// A key that makes no sense beside another one.
    #[error("expected it without {other}, found both: {advice}")]
    Together {
        /// The other key.
        other: &'static str,
        /// What to do.
        advice: &'static str,
    },
    /// A role that the harness uses itself.
    #[error(
        "the role {role:?} is reserved; expected one other than green, runner, environment and those that end with .bot"
    )]
    ReservedRole {
        /// The role.
        role: String,
    },
    /// Two participants in one role.
    #[error(
        "the role {role:?} is taken by the participant of line {line}; expected a role for each participant"
    )]
    DuplicateRole {
        /// The role.
        role: String,
        /// Where it stands first.
        line: usize,
    },
    /// A reference to an agent that the file does not have.
    #[error("nobody has the role {role:?}; expected one of: {}", known.join(", "))]
    UnknownRole {
        /// The role as it was written.
        role: String,
        /// The roles that could stand there.
        known: Vec<String>,
    },
    /// A label that nothing in a transcript ever has.
    #[error("no such label occurs; {}expected one of: {}", suggestion(nearest.as_deref()), known.join(", "))]
    UnknownLabel {
        /// The one that is most like it.
        nearest: Option<String>,
        /// What could stand there.
        known: Vec<&'static str>,
    },
    /// A URL with a user or password in it, which is not repeated here.
    #[error(
        "user or password found in the URL; expected it without, for it stands in every report"
    )]
    Credentials,
    /// A secret in the file, which is not repeated here.
    #[error(
        "a secret found in the file; expected {{ env = \"NAME\" }} or {{ file = \"PATH\" }}, for others can read this one"
    )]
    SecretInFile,
    /// A program of which nobody knows where it listens.
    #[error("cmd found without endpoint; expected the URL at which the program will listen")]
    CmdWithoutEndpoint,
}

fn suggestion(nearest: Option<&str>) -> String {
    nearest.map_or_else(String::new, |key| format!("did you mean {key}? "))
}
