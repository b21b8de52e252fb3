//! Reads sidecars: a file `NAME.expect` beside `NAME.toml` says that the scenario must fail, and how.

use std::path::{Path, PathBuf};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{
    error::ScenarioErrors,
    parse::text_of,
    reader::{Node, Table, document},
};

/// The exit codes that a sidecar can name: of the evaluation, the file and the infrastructure.
const EXIT_CODES: [u8; 3] = [1, 3, 4];

/// The expected failure of a scenario.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ExpectedFailure {
    /// The exit code of a run of this scenario alone.
    pub exit: u8,
    /// A text that the report must contain.
    pub message: String,
}

impl ExpectedFailure {
    /// Returns the path of the sidecar of a scenario file.
    pub fn path(scenario: &Path) -> PathBuf {
        scenario.with_extension("expect")
    }

    /// Reads the sidecar of a scenario file; returns `None` if it has none.
    ///
    /// # Errors
    /// All mistakes in the sidecar.
    pub fn beside(scenario: &Path) -> Result<Option<Self>, ScenarioErrors> {
        let path = Self::path(scenario);
        if path.exists() { Self::parse(&path, &text_of(&path)?).map(Some) } else { Ok(None) }
    }

    /// Parses the text of a sidecar; `path` is used in errors only.
    ///
    /// # Errors
    /// All mistakes in the text.
    pub fn parse(path: &Path, text: &str) -> Result<Self, ScenarioErrors> {
        document(path, text, sidecar)
    }
}

fn sidecar(root: &mut Table<'_>) -> Option<ExpectedFailure> {
    let exit = root.key("exit").need("the exit code of the run").and_then(exit_code);
    let message = root.key("message");
    let message = message.need("a text that the report must contain");
    // Every report contains an empty message.
    let message = message.and_then(|node| node.filled("a text that is not empty"));
    root.reject_unknown();
    Some(ExpectedFailure { exit: exit?, message: message? })
}

fn exit_code(node: &Node<'_>) -> Option<u8> {
    let exit = node.integer(0)?;
    if EXIT_CODES.contains(&exit) {
        return Some(exit);
    }
    node.expected("1 (evaluation), 3 (scenario file) or 4 (infrastructure)")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<ExpectedFailure, String> {
        ExpectedFailure::parse(Path::new("a.expect"), text).map_err(|errors| errors.to_string())
    }

    #[test]
    fn a_sidecar_says_exit_code_and_message() {
        let expected = ExpectedFailure { exit: 4, message: "no card".to_owned() };
        assert_eq!(parse("exit = 4\nmessage = 'no card'\n"), Ok(expected));
    }

    #[test]
    fn mistakes_are_reported_at_their_key() {
        for (text, expected) in [
            ("message = 'x'", "a.expect:1:1: exit: missing; expected the exit code of the run"),
            ("exit = 4", "a.expect:1:1: message: missing"),
            ("exit = 0\nmessage = 'x'", "a.expect:1:8: exit: expected 1 (evaluation), 3"),
            ("exit = 300\nmessage = 'x'", "a.expect:1:8: exit: expected"),
            ("exit = 1\nmessage = ''", "a.expect:2:11: message: expected a text that is not empty"),
            ("exit = 1\nmessage = 'x'\nmsg = ''", "a.expect:3:1: msg: unknown key"),
            ("exit = ", "a.expect:1:"),
        ] {
            let errors = parse(text).unwrap_err();
            assert!(errors.starts_with(expected), "{errors}");
        }
    }
}
