//! The errors of the configuration file.

use std::{fmt, path::PathBuf};

use crate::push::SealKeyError;

/// A mistake in the file, printed as `path:line:column: key: message`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfigError {
    /// The file.
    pub path: PathBuf,
    /// The line, from 1.
    pub line: usize,
    /// The column in characters, from 1.
    pub column: usize,
    /// The key, such as `agents[0].bot`, with lists counted from 0; empty for the whole file.
    pub key: String,
    /// The problem.
    pub problem: Problem,
}

impl ConfigError {
    /// Returns whether the file could not be opened, or is not text.
    pub fn is_unreadable(&self) -> bool {
        matches!(self.problem, Problem::Unreadable(_) | Problem::NotUtf8(_))
    }
}

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match matches!(self.problem, Problem::Unreadable(_)) {
            true => write!(f, "{}: ", self.path.display())?,
            false => write!(f, "{}:{}:{}: ", self.path.display(), self.line, self.column)?,
        }
        if !self.key.is_empty() {
            write!(f, "{}: ", self.key)?;
        }
        self.problem.fmt(f)
    }
}

/// All mistakes in the file, in order; never empty.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}", .0.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n"))]
pub struct ConfigErrors(pub Vec<ConfigError>);

/// The kinds of mistakes. Each message is one line that names what was expected.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[expect(missing_docs, reason = "the messages say what the fields are")]
pub enum Problem {
    /// The file could not be opened.
    #[error("cannot be read: {0}")]
    Unreadable(String),
    /// The file is not UTF-8.
    #[error("cannot be read: the byte 0x{0:02x} is not UTF-8; save the file as UTF-8")]
    NotUtf8(u8),
    /// The file is not TOML, lacks a key, or has a value of the wrong type.
    #[error("{0}")]
    Rejected(String),
    /// A key is not known at its place.
    #[error("unknown key; {}", suggestion(nearest.as_deref(), known))]
    UnknownKey {
        nearest: Option<String>,
        /// Every key that is known there.
        known: String,
    },
    /// There is no agent.
    #[error("expected at least one agent: add [[agents]] with name and bot, or name and builtin")]
    NoAgent,
    /// Two agents have the same name or path.
    #[error("{what:?} is taken by the agent of line {line}; expected another one")]
    Twice {
        /// The name or path.
        what: String,
        line: usize,
    },
    /// The agent has neither a bot nor a built-in agent, or both.
    #[error("expected either bot = URL or builtin = NAME")]
    NeitherOrBoth,
    /// There is no such built-in agent.
    #[error("expected one of {}, found {name:?}", known.join(", "))]
    UnknownBuiltin { name: String, known: Vec<&'static str> },
    /// A setting for running bots is set for a built-in agent.
    #[error("expected {0} beside bot = URL only: built-in agents have no use for it")]
    OnlyForBots(&'static str),
    /// A question completes its task, and the next task would be another conversation.
    #[error(
        "expected conversation = \"context\" beside question_end = \"completed\": the answer to the question begins another \
         task"
    )]
    QuestionEnd,
    /// The extended card could never be shown.
    #[error(
        "expected security_schemes in the card beside extended_card, which is for authenticated callers"
    )]
    NobodyToShow,
    /// A skill's schema is invalid.
    #[error("expected a JSON Schema in {key} of the skill {skill:?}: {why}")]
    Schema { skill: String, key: &'static str, why: String },
    /// A skill has two schemas for its parameters.
    #[error("expected either input_schema or parameters in the skill {0:?}: they are the same")]
    TwoSchemas(String),
    /// The store is invalid.
    #[error("expected memory, sled:FOLDER or postgres://USER@HOST/DATABASE, found {0:?}")]
    Store(String),
    /// The address of the database has a password, and the file can be read by other users.
    #[error(
        "expected no password in the address, since others can read this file: set PGPASSWORD or PGPASSFILE, or run chmod 600 on it"
    )]
    StorePassword,
    /// The environment variable with a secret is missing or empty.
    #[error("expected the secret in the variable {0} of the environment, which is not set")]
    NoVariable(String),
    /// The file with a secret cannot be read.
    #[error("expected the secret in {path}: {error}")]
    NoFile { path: PathBuf, error: String },
    /// A key for encrypting webhooks is invalid.
    #[error("{0}")]
    SealKey(SealKeyError),
    /// The file has a secret and can be read by other users.
    #[error(
        "expected {{ env = \"NAME\" }} or {{ file = \"PATH\" }}: others can read this file; or run chmod 600 on it"
    )]
    NotPrivate,
}

fn suggestion(nearest: Option<&str>, known: &str) -> String {
    match nearest {
        Some(nearest) => format!("did you mean {nearest}?"),
        None => format!("known here: {known}"),
    }
}
