//! The errors of installations.

use std::{collections::BTreeSet, fmt, io, path::PathBuf, time::Duration};

use super::interpreter::MissingPython;
use crate::StartError;
use green_agent_scenario::model::Requirement;

/// Requirements that are not installed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub struct Missing {
    /// The requirements; empty only if the interpreter alone is missing.
    pub requirements: BTreeSet<Requirement>,
    /// The reason why there is no Python of the required version.
    pub python: Option<MissingPython>,
}

impl Missing {
    /// Returns whether [`Installer::install`](super::installer::Installer::install) can install all of them.
    pub fn is_installable(&self) -> bool {
        let is_command = |requirement: &Requirement| matches!(requirement, Requirement::Command(_));
        self.python.is_none() && !self.requirements.iter().any(is_command)
    }
}

impl fmt::Display for Missing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let each = self.requirements.iter().map(|requirement| match requirement {
            Requirement::Python(package) => format!("python:{package} is not installed"),
            Requirement::Checkout(folder) => {
                format!("the requirements of the checkout {folder} are not installed")
            }
            Requirement::Interpreter(version) => {
                format!("there is no environment with Python {version} yet")
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
        "node" | "npm" | "npx" => "install Node.js, which includes it",
        "uv" | "uvx" => "install uv",
        "cargo" | "rustc" => "install Rust with rustup",
        _ => "install it with this machine's package manager",
    }
}

/// The greatest length of a printed line that is shown whole, in characters. pip lists all versions of a package in one line.
const LONGEST_LINE: usize = 300;

/// Returns the last lines that a command has printed, and advice. Each line ends with a line break.
fn reason(last_lines: &[String]) -> String {
    let lines = last_lines.iter().map(|line| shortened(line) + "\n");
    lines.collect::<String>() + other_python(last_lines)
}

/// Returns a line; the middle of a long one is left out, because the newest versions are at its end.
fn shortened(line: &str) -> String {
    let length = line.chars().count();
    if length <= LONGEST_LINE {
        return line.to_owned();
    }
    let beginning: String = line.chars().take(LONGEST_LINE / 2).collect();
    let end: String = line.chars().skip(length - LONGEST_LINE / 2).collect();
    // Half a version would look like another version.
    let beginning = beginning.rsplit_once(' ').map_or(&*beginning, |(whole, _)| whole);
    let end = end.split_once(' ').map_or(&*end, |(_, whole)| whole);
    format!("{beginning} ... {end}")
}

/// Returns what to do if pip or uv says that a package is not for this version of Python.
fn other_python(last_lines: &[String]) -> &'static str {
    let says = |line: &String| {
        line.contains("Requires-Python") || line.contains("does not satisfy Python")
    };
    match last_lines.iter().any(says) {
        true => {
            "It needs another version of Python: name it, as in python = \"3.13\" in [harness].\n"
        }
        false => "",
    }
}

/// The reason why requirements could not be installed.
#[derive(Debug, thiserror::Error)]
#[expect(missing_docs, reason = "the messages say what the fields are")]
pub enum InstallError {
    /// The program that installs packages is not on the PATH.
    #[error("{what} cannot be installed: `{program}` is not on the PATH, {}", hint(program))]
    NoManager {
        what: String,
        /// `python3` or `npm`.
        program: String,
    },
    /// The cache folder cannot be written to.
    #[error("{what} cannot be installed: cannot write {}; make it writable or set XDG_CACHE_HOME", path.display())]
    Cache {
        what: String,
        /// The file or folder.
        path: PathBuf,
        source: io::Error,
    },
    /// Another run held the folder's lock for too long.
    #[error("{what} cannot be installed: another run holds {} for more than {limit:?}; end it and try again", lock.display())]
    Locked { what: String, lock: PathBuf, limit: Duration },
    /// An installation command could not be started.
    #[error("{what} cannot be installed")]
    Start { what: String, source: StartError },
    /// An installation command failed, or did not end in time.
    #[error("{what} cannot be installed:\n{}`{command}` {how}, see {}", reason(last_lines), log.display())]
    Failed {
        what: String,
        command: String,
        /// The exit status, such as `exited with code 1`.
        how: String,
        last_lines: Vec<String>,
        log: PathBuf,
    },
    /// Everything that can be installed is, but another requirement is missing.
    #[error(transparent)]
    Missing(#[from] Missing),
}

#[cfg(test)]
mod tests {
    use super::*;

    fn failed(line: &str) -> String {
        let [what, command, how] = ["a", "pip", "exited with code 1"].map(str::to_owned);
        let last_lines = vec![line.to_owned()];
        InstallError::Failed { what, command, how, last_lines, log: "a.log".into() }.to_string()
    }

    #[test]
    fn a_long_list_of_versions_ends_with_the_newest() {
        let versions: Vec<String> = (0..200).map(|n| format!("4.{n}.0")).collect();
        let line =
            format!("ERROR: No version satisfies b==9 (from versions: {})", versions.join(", "));
        let said = failed(&line);
        let (first, rest) = said.split_once('\n').unwrap();
        assert_eq!(first, "a cannot be installed:");
        assert!(rest.starts_with("ERROR: No version satisfies b==9 (from versions: 4.0.0, 4.1.0,"));
        assert!(rest.contains("0, ... 4."), "{rest}");
        assert!(rest.ends_with("4.198.0, 4.199.0)\n`pip` exited with code 1, see a.log"), "{rest}");
        assert!(said.lines().all(|line| line.len() < 310), "{said}");
    }

    #[test]
    fn a_package_for_another_python_is_reported_with_the_key_that_names_it() {
        for line in [
            "ERROR: Ignored the following versions that require a different python version: 1.0 Requires-Python >=3.12",
            "Because the current Python version (3.11.7) does not satisfy Python>=3.12",
        ] {
            assert!(failed(line).contains("\nIt needs another version of Python: "), "{line}");
        }
        let other = "ERROR: No matching distribution found for b==1";
        assert_eq!(
            failed(other),
            format!("a cannot be installed:\n{other}\n`pip` exited with code 1, see a.log")
        );
    }
}
