//! What is wrong with the file, and where.

use std::{fmt, path::PathBuf};

use crate::push::SealKeyError;

/// One thing that is wrong with the file, printed as `path:line:column: key: message`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfigError {
    /// The file.
    pub path: PathBuf,
    /// The line, from 1.
    pub line: usize,
    /// The character of that line, from 1.
    pub column: usize,
    /// The key concerned, such as `agents[0].bot`, lists counted from 0; empty for the whole file.
    pub key: String,
    /// What is wrong there.
    pub problem: Problem,
}

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}:{}: ", self.path.display(), self.line, self.column)?;
        if !self.key.is_empty() {
            write!(f, "{}: ", self.key)?;
        }
        self.problem.fmt(f)
    }
}

/// Everything that is wrong with the file, in its order; never empty.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfigErrors(pub Vec<ConfigError>);

impl fmt::Display for ConfigErrors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let lines: Vec<String> = self.0.iter().map(ToString::to_string).collect();
        f.write_str(&lines.join("\n"))
    }
}

impl std::error::Error for ConfigErrors {}

/// The kinds of mistake. Each message is one line that says what was expected.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Problem {
    /// The file could not be opened, or is not UTF-8.
    #[error("cannot be read: {error}")]
    Unreadable {
        /// What the operating system said.
        error: String,
    },
    /// Not TOML, an unknown or missing key, or a value that cannot stand there.
    #[error("{0}")]
    Rejected(String),
    /// There is nothing to host.
    #[error("expected at least one agent: add [[agents]] with name and bot, or name and builtin")]
    NoAgent,
    /// Two agents would have the same tasks or address.
    #[error("{what:?} is taken by the agent of line {line}; expected another one")]
    Twice {
        /// The name or path.
        what: String,
        /// Where it stands first.
        line: usize,
    },
    /// An agent must be one thing.
    #[error("expected either bot = URL or builtin = NAME")]
    NeitherOrBoth,
    /// There is no such agent.
    #[error("expected one of {}, found {name:?}", known.join(", "))]
    UnknownBuiltin {
        /// The name.
        name: String,
        /// Those there are.
        known: Vec<&'static str>,
    },
    /// A setting of running bots, on an agent that is none.
    #[error("expected {key} beside bot = URL only: built-in agents have no use for it")]
    OnlyForBots {
        /// Its key.
        key: &'static str,
    },
    /// A card that nobody would ever be shown.
    #[error(
        "expected security_schemes in the card beside extended_card, which is for authenticated callers"
    )]
    NobodyToShow,
    /// A skill's schema that is none.
    #[error("expected a JSON Schema in {key} of the skill {skill:?}: {why}")]
    Schema {
        /// The skill's id.
        skill: String,
        /// Which of its schemas.
        key: &'static str,
        /// What is wrong with it.
        why: String,
    },
    /// What goes in is said twice.
    #[error("expected either input_schema or parameters in the skill {skill:?}: they are the same")]
    TwoSchemas {
        /// The skill's id.
        skill: String,
    },
    /// There is no such place to keep tasks.
    #[error("expected memory or sled:FOLDER, found {found:?}")]
    Store {
        /// What was said.
        found: String,
    },
    /// The variable that holds a secret is missing or empty.
    #[error("expected the secret in the variable {name} of the environment, which is not set")]
    NoVariable {
        /// Its name.
        name: String,
    },
    /// The file that holds a secret is missing.
    #[error("expected the secret in {path}: {error}")]
    NoFile {
        /// The file.
        path: PathBuf,
        /// What the operating system said.
        error: String,
    },
    /// A key that nothing can be sealed with.
    #[error("{0}")]
    SealKey(SealKeyError),
    /// A secret stands in a file that others can read.
    #[error(
        "expected {{ env = \"NAME\" }} or {{ file = \"PATH\" }}: others can read this file; or run chmod 600 on it"
    )]
    NotPrivate,
}
