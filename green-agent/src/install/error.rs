//! What is missing, and why it could not be installed.

use std::{collections::BTreeSet, fmt, io, path::PathBuf, time::Duration};

use super::interpreter::MissingPython;
use crate::{participant::StartError, scenario::model::Requirement};

/// Requirements that are not there.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub struct Missing {
    /// At least one, unless the interpreter is.
    pub requirements: BTreeSet<Requirement>,
    /// Why there is no Python of the version that is asked for.
    pub python: Option<MissingPython>,
}

impl Missing {
    /// Whether `Installer::install` can bring all of them.
    pub fn is_installable(&self) -> bool {
        let mut requirements = self.requirements.iter();
        self.python.is_none()
            && requirements.all(|requirement| match requirement {
                Requirement::Python(_)
                | Requirement::Checkout(_)
                | Requirement::Interpreter(_)
                | Requirement::Npm(_) => true,
                Requirement::Command(_) => false,
            })
    }
}

impl fmt::Display for Missing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let each = self
            .requirements
            .iter()
            .map(|requirement| match requirement {
                Requirement::Python(package) => format!("python:{package} is not installed"),
                Requirement::Checkout(folder) => {
                    format!("what the checkout {folder} needs is not installed")
                }
                Requirement::Interpreter(version) => {
                    format!("no environment with Python {version} is made yet")
                }
                Requirement::Npm(package) => format!("npm:{package} is not installed"),
                Requirement::Command(name) => {
                    format!("the command `{name}` is not on the PATH, {}", hint(name))
                }
            });
        let python = self.python.iter().map(ToString::to_string);
        f.write_str(&python.chain(each).collect::<Vec<_>>().join("; "))
    }
}

fn hint(command: &str) -> &'static str {
    match command {
        "python3" | "python" => "install Python 3.10 or later",
        "node" | "npm" | "npx" => "install Node.js, which brings it",
        "uv" | "uvx" => "install uv",
        "cargo" | "rustc" => "install Rust with rustup",
        _ => "install it with this machine's package manager",
    }
}

/// Why requirements could not be installed.
#[derive(Debug, thiserror::Error)]
pub enum InstallError {
    /// The program that installs is not there.
    #[error(
        "{what} cannot be installed: `{program}` is not on the PATH, {}",
        hint(program)
    )]
    NoManager {
        /// What should be installed.
        what: String,
        /// `python3` or `npm`.
        program: String,
    },
    /// The cache cannot be written.
    #[error("{what} cannot be installed: cannot write {}; make it writable or set XDG_CACHE_HOME", path.display())]
    Cache {
        /// What should be installed.
        what: String,
        /// The file or folder.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// Another run kept the folder to itself for too long.
    #[error("{what} cannot be installed: another run holds {} for more than {limit:?}; end it and try again", lock.display())]
    Locked {
        /// What should be installed.
        what: String,
        /// The lock file.
        lock: PathBuf,
        /// How long was waited.
        limit: Duration,
    },
    /// A command could not be started.
    #[error("{what} cannot be installed")]
    Start {
        /// What should be installed.
        what: String,
        /// Why.
        source: StartError,
    },
    /// A command failed, or did not end in time.
    #[error("{what} cannot be installed: `{command}` {how}, see {}:\n{}", log.display(), last_lines.join("\n"))]
    Failed {
        /// What should be installed.
        what: String,
        /// The command, quoted for a shell.
        command: String,
        /// Such as `exited with code 1`.
        how: String,
        /// What it printed last.
        last_lines: Vec<String>,
        /// All that it printed.
        log: PathBuf,
    },
    /// What can be installed is, but something else is missing.
    #[error(transparent)]
    Missing(#[from] Missing),
}
