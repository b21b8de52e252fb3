//! Texts with a grammar of their own that several tables share: URLs, commands, durations, requirements.

use std::time::Duration;

use url::Url;

use crate::scenario::{
    error::Problem,
    model::Requirement,
    reader::{Node, Table},
};

/// What a duration looks like, for messages.
const DURATION: &str = "a duration such as \"30s\", \"1m30s\" or \"1500ms\"";

/// The units of a duration in milliseconds, in the order in which they must stand.
const UNITS: [(&str, u64); 4] = [("h", 3_600_000), ("m", 60_000), ("s", 1_000), ("ms", 1)];

/// Where an agent listens.
pub(super) fn endpoint(node: &Node<'_>) -> Option<Url> {
    let url = node.read("an http or https URL with a host", |text| {
        Url::parse(text).ok().filter(is_http)
    })?;
    if url.username().is_empty() && url.password().is_none() {
        return Some(url);
    }
    node.report(Problem::Credentials);
    None
}

fn is_http(url: &Url) -> bool {
    matches!(url.scheme(), "http" | "https") && url.has_host()
}

/// The words of a command; a blank one is none, as for AgentBeats' own runner.
pub(super) fn words(node: &Node<'_>) -> Option<Vec<String>> {
    node.read("a command whose quotes are balanced", shlex::split)
        .filter(|words| !words.is_empty())
}

/// A span of time, perhaps none.
pub(super) fn duration(node: &Node<'_>) -> Option<Duration> {
    node.read(DURATION, parse_duration)
}

/// A limit; zero would be none.
pub(super) fn limit(node: &Node<'_>) -> Option<Duration> {
    let expected = format!("{DURATION}, longer than zero");
    node.read(&expected, |text| {
        parse_duration(text).filter(|limit| !limit.is_zero())
    })
}

fn parse_duration(text: &str) -> Option<Duration> {
    let mut units = UNITS.iter();
    let mut rest = text;
    let mut millis = 0_u64;
    while !rest.is_empty() {
        let (number, after) = rest.split_at(rest.find(|c: char| !c.is_ascii_digit())?);
        let end = after.find(|c: char| c.is_ascii_digit());
        let (unit, next) = after.split_at(end.unwrap_or(after.len()));
        let (_, factor) = units.find(|(name, _)| *name == unit)?;
        let part = number.parse::<u64>().ok()?.checked_mul(*factor)?;
        millis = millis.checked_add(part)?;
        rest = next;
    }
    (!text.is_empty()).then(|| Duration::from_millis(millis))
}

/// The table's `requires`.
pub(super) fn requires(table: &mut Table<'_>) -> Vec<Requirement> {
    table
        .get("requires")
        .and_then(|list| list.list_of(requirement))
        .unwrap_or_default()
}

fn requirement(node: &Node<'_>) -> Option<Requirement> {
    node.read(
        "python:REQUIREMENT, npm:PACKAGE@VERSION or command:NAME",
        parse_requirement,
    )
}

fn parse_requirement(text: &str) -> Option<Requirement> {
    let (kind, rest) = text.split_once(':')?;
    let rest = rest.trim();
    let make = match kind {
        "python" => Requirement::Python,
        "npm" => Requirement::Npm,
        "command" => Requirement::Command,
        _ => return None,
    };
    (!rest.is_empty()).then(|| make(rest.to_owned()))
}

/// Whether the text is a JSON pointer (RFC 6901): segments after slashes, `~` only as `~0` and `~1`.
pub(super) fn is_pointer(text: &str) -> bool {
    let escapes_end_well = text
        .split('~')
        .skip(1)
        .all(|after| after.starts_with(['0', '1']));
    (text.is_empty() || text.starts_with('/')) && escapes_end_well
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::scenario::reader::document;

    #[test]
    fn durations_are_numbers_with_units_from_large_to_small() {
        for (text, millis) in [
            ("30s", Some(30_000)),
            ("2m", Some(120_000)),
            ("1500ms", Some(1_500)),
            ("1h", Some(3_600_000)),
            ("1m30s", Some(90_000)),
            ("1h1m1s1ms", Some(3_661_001)),
            ("0s", Some(0)),
            ("", None),
            ("30", None),
            ("s", None),
            ("-1s", None),
            ("1.5s", None),
            ("30s1m", None),
            ("1s1s", None),
            ("1d", None),
            ("30 s", None),
            ("99999999999999999h", None),
            ("99999999999999999999s", None),
        ] {
            let expected = millis.map(Duration::from_millis);
            assert_eq!(parse_duration(text), expected, "{text:?}");
        }
    }

    #[test]
    fn requirements_name_their_kind() {
        let python = Requirement::Python("a2a-sdk==0.3.26".to_owned());
        assert_eq!(parse_requirement("python:a2a-sdk==0.3.26"), Some(python));
        let npm = Requirement::Npm("@a2a-js/sdk@0.3.5".to_owned());
        assert_eq!(parse_requirement("npm:@a2a-js/sdk@0.3.5"), Some(npm));
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
