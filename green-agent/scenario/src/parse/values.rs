//! Reads texts with a grammar of their own that several tables share: URLs, commands, durations,
//! requirements.

use bridge_client::web_url;
use clap::ValueEnum;
use serde_json::{Value, json};
use url::Url;

use crate::{
    episode::names,
    error::Problem,
    model::Requirement,
    reader::{Node, kind},
};

/// Reads the address of an agent.
pub(super) fn endpoint(node: &Node<'_>) -> Option<Url> {
    if node.as_text().is_some_and(|text| text.contains("${")) {
        return node.expected("a URL without ${NAME}, which is replaced in env only; --agent ROLE=URL sets another one");
    }
    let url = node.read("an http or https URL with a host", web_url)?;
    if url.username().is_empty() && url.password().is_none() {
        return Some(url);
    }
    node.report(Problem::Credentials);
    None
}

/// Reads the words of a command; a blank one counts as absent, as in AgentBeats' own runner.
pub(super) fn words(node: &Node<'_>) -> Option<Vec<String>> {
    node.read("a command in one text, whose quotes are balanced", shlex::split)
        .filter(|words| !words.is_empty())
}

/// Reads one of several words.
pub(super) fn word<T: ValueEnum>(node: &Node<'_>, expected: &str) -> Option<T> {
    node.read(expected, |text| T::from_str(text, false).ok())
}

/// Reads one of several words, which messages list.
pub(super) fn one_of<T: ValueEnum>(node: &Node<'_>) -> Option<T> {
    word(node, &format!("one of {}", names::<T>().join(", ")))
}

/// Reads one of a few words, which messages quote.
pub(super) fn either<T: ValueEnum>(node: &Node<'_>) -> Option<T> {
    word(node, &quoted::<T>())
}

/// Returns the words in quotes, the last one after `or`.
pub(super) fn quoted<T: ValueEnum>() -> String {
    let mut names: Vec<String> = names::<T>().iter().map(|name| format!("{name:?}")).collect();
    let last = names.pop().unwrap_or_default();
    format!("{} or {last}", names.join(", "))
}

/// Returns the schema of one of several words.
pub(super) fn choices<T: ValueEnum>() -> Value {
    json!({"type": "string", "enum": names::<T>()})
}

/// Returns the schema of a text, a number, true or false.
pub(super) fn single() -> Value {
    json!({"anyOf": [{"type": "string"}, {"type": "number"}, {"type": "boolean"}]})
}

kind! {
    /// A whole number of at least 1.
    pub(super) inline Positive => u32, |node| node.integer(1);
    |_| json!({"type": "integer", "minimum": 1})
}

kind! {
    /// An http or https URL with a host and without user and password, such as "http://127.0.0.1:9009".
    pub(super) enum Endpoint => Url, endpoint;
    |_| json!({"type": "string", "pattern": r"^\s*[Hh][Tt][Tt][Pp][Ss]?:"})
}

kind! {
    /// A version of Python.
    pub(super) enum Python => Requirement, |node| {
        node.read("a version of Python such as \"3.12\"", |text| {
            is_python(text).then(|| Requirement::Interpreter(text.to_owned()))
        })
    };
    |_| json!({"type": "string", "pattern": r"^3\.[0-9]+$"})
}

kind! {
    /// A requirement on this machine: python:REQUIREMENT in pip's syntax, python:FOLDER for a checkout with a
    /// pyproject.toml (and uv.lock), which begins with a dot or a slash, npm:PACKAGE@VERSION, command:NAME.
    impl Requirement => |node| {
        let expected = "python:REQUIREMENT, python:FOLDER such as python:., npm:PACKAGE@VERSION or command:NAME";
        node.read(expected, parse_requirement)
    };
    |_| json!({"type": "string", "pattern": r"^(python|npm|command):\s*\S"})
}

/// Returns whether a text is `3.MINOR`.
fn is_python(text: &str) -> bool {
    let minor = text.strip_prefix("3.");
    minor.is_some_and(|minor| minor.parse::<u8>().is_ok())
}

fn parse_requirement(text: &str) -> Option<Requirement> {
    let (kind, rest) = text.split_once(':')?;
    let rest = rest.trim();
    let make = match kind {
        "python" if rest.starts_with(['.', '/']) => Requirement::Checkout,
        "python" => Requirement::Python,
        "npm" => Requirement::Npm,
        "command" => Requirement::Command,
        _ => return None,
    };
    (!rest.is_empty()).then(|| make(rest.to_owned()))
}

/// Returns whether the text is a JSON pointer (RFC 6901): segments after slashes, `~` only as `~0` and `~1`.
pub(super) fn is_pointer(text: &str) -> bool {
    let escapes_end_well = text.split('~').skip(1).all(|after| after.starts_with(['0', '1']));
    (text.is_empty() || text.starts_with('/')) && escapes_end_well
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::reader::document;

    #[test]
    fn requirements_name_their_kind() {
        let python = Requirement::Python("a2a-sdk==0.3.26".to_owned());
        assert_eq!(parse_requirement("python:a2a-sdk==0.3.26"), Some(python));
        let npm = Requirement::Npm("@a2a-js/sdk@0.3.5".to_owned());
        assert_eq!(parse_requirement("npm:@a2a-js/sdk@0.3.5"), Some(npm));
        for folder in [".", "./agents/judge", "/opt/agent", ".."] {
            let checkout = Requirement::Checkout(folder.to_owned());
            assert_eq!(parse_requirement(&format!("python:{folder}")), Some(checkout));
        }
        assert!(is_python("3.12") && !is_python("3") && !is_python("3.x") && !is_python("2.7"));
        for wrong in ["uv", "command:", "command: ", "pip:x", ":x", ""] {
            assert_eq!(parse_requirement(wrong), None, "{wrong:?}");
        }
    }

    #[test]
    fn endpoints_are_http_urls_without_secrets() {
        let read = |text: &str| {
            document(Path::new("a.toml"), &format!("e = '{text}'"), |root| {
                endpoint(&root.get("e")?)
            })
        };
        for (text, expected) in [
            ("http://127.0.0.1:9009", "http://127.0.0.1:9009/"),
            ("https://agent.example/a2a/x", "https://agent.example/a2a/x"),
            ("http://[::1]:9009", "http://[::1]:9009/"),
        ] {
            assert_eq!(read(text).unwrap().as_str(), expected);
        }
        for wrong in [
            "127.0.0.1:9009",
            "ftp://agent.example",
            "file:///tmp/agent",
            "http://user@agent.example",
            "http://user:secret@agent.example",
        ] {
            let errors = read(wrong).unwrap_err().to_string();
            assert!(!errors.contains("secret"), "{errors}");
        }
    }

    #[test]
    fn pointers_escape_their_tildes() {
        for (text, expected) in [
            ("", true),
            ("/", true),
            ("/a~1b/*/~0", true),
            ("a", false),
            ("/~", false),
            ("/~2", false),
        ] {
            assert_eq!(is_pointer(text), expected, "{text:?}");
        }
    }
}
