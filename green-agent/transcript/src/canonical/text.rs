//! Replaces times, tokens, agents' addresses and failures in texts; rules that need no state.

use std::{borrow::Cow, collections::BTreeMap, sync::LazyLock};

use regex::{Captures, Regex};

/// Matches a UUID in either spelling. [`stands_alone`] checks the characters around it.
pub(super) const UUID: &str =
    "(?i:[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}|[0-9a-f]{32})";

/// Matches a content digest, as OCI writes it.
pub(super) const DIGEST: &str = "sha256:[0-9a-f]{64}";

fn pattern(regex: &str) -> Regex {
    Regex::new(regex).expect("the pattern is a constant and a test uses it")
}

/// Returns whether a text is a UUID and nothing else.
pub(super) fn is_uuid(text: &str) -> bool {
    static WHOLE: LazyLock<Regex> = LazyLock::new(|| pattern(&format!("^{UUID}$")));
    WHOLE.is_match(text)
}

/// Returns whether a match is not part of a longer word. It may be next to an underscore, because some ids
/// are built so: `A2A_USER_` and a UUID.
pub(super) fn stands_alone(text: &str, start: usize, end: usize) -> bool {
    let before = text[..start].chars().next_back();
    let after = text[end..].chars().next();
    !before.is_some_and(char::is_alphanumeric) && !after.is_some_and(char::is_alphanumeric)
}

/// Returns a text with times, tokens and addresses replaced.
pub(super) fn steady(text: &str, origins: &BTreeMap<String, String>) -> String {
    let text = replace_times(text);
    let text = replace_tokens(&text);
    let text = replace_origins(&text, origins);
    replace_loopback(&text, origins).into_owned()
}

/// Replaces times in RFC 3339, and in Python's form without an offset.
fn replace_times(text: &str) -> Cow<'_, str> {
    static TIME: LazyLock<Regex> = LazyLock::new(|| {
        pattern(r"\d{4}-\d{2}-\d{2}[Tt ]\d{2}:\d{2}:\d{2}([.,]\d+)?([Zz]|[+-]\d{2}:?\d{2})?")
    });
    TIME.replace_all(text, "<time>")
}

/// Replaces bearer tokens and JSON Web Tokens. Short words after "bearer" are prose.
fn replace_tokens(text: &str) -> String {
    static BEARER: LazyLock<Regex> =
        LazyLock::new(|| pattern(r"(?i)\b(bearer)\s+[a-z0-9._~+/-]{12,}=*"));
    static JWT: LazyLock<Regex> =
        LazyLock::new(|| pattern(r"\beyJ[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+\.[A-Za-z0-9_-]*"));
    let text = BEARER.replace_all(text, "$1 <token>");
    JWT.replace_all(&text, "<token>").into_owned()
}

/// Returns a text in which all digests are equal, for comparisons that must not depend on digests, because those change
/// with every address in the content.
pub(super) fn without_digests(text: &str) -> Cow<'_, str> {
    static WHOLE: LazyLock<Regex> = LazyLock::new(|| pattern(DIGEST));
    WHOLE.replace_all(text, "sha256:<digest>")
}

/// Replaces the agents' origins with their names, longer origins first, so that no origin is taken for the
/// beginning of another.
fn replace_origins(text: &str, origins: &BTreeMap<String, String>) -> String {
    let mut longest_first: Vec<(&String, &String)> = origins.iter().collect();
    longest_first.sort_by_key(|(origin, _)| std::cmp::Reverse(origin.len()));
    let mut text = text.to_owned();
    for (origin, role) in longest_first {
        let scheme = origin.split_once("://").map_or("http", |(scheme, _)| scheme);
        text = replace_whole(&text, origin, &format!("{scheme}://<{role}>"));
    }
    text
}

/// Replaces a host with its port, if neither is part of a longer one.
fn replace_whole(text: &str, origin: &str, name: &str) -> String {
    let goes_on = |rest: &str| {
        let mut chars = rest.chars();
        match chars.next() {
            Some(':') => chars.next().is_some_and(|c| c.is_ascii_digit()),
            Some('.') => chars.next().is_some_and(char::is_alphanumeric),
            Some(c) => c.is_alphanumeric() || c == '-',
            None => false,
        }
    };
    let mut written = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(origin).filter(|_| !origin.is_empty()) {
        let after = &rest[at + origin.len()..];
        written.push_str(&rest[..at]);
        written.push_str(if goes_on(after) { origin } else { name });
        rest = after;
    }
    written + rest
}

/// Replaces remaining loopback addresses: other spellings of an agent's origin, and ports that belong to no
/// agent.
fn replace_loopback<'a>(text: &'a str, origins: &BTreeMap<String, String>) -> Cow<'a, str> {
    static LOOPBACK: LazyLock<Regex> = LazyLock::new(|| {
        pattern(
            r"(?P<scheme>[a-z]+://)?(?P<host>127\.0\.0\.1|localhost|0\.0\.0\.0|\[::1\]):(?P<port>\d{1,5})\b",
        )
    });
    LOOPBACK.replace_all(text, |found: &Captures<'_>| {
        let scheme = found.name("scheme").map_or("", |scheme| scheme.as_str());
        match role_at(&found["port"], origins) {
            Some(role) => format!("{scheme}<{role}>"),
            None => format!("{scheme}{}:<port>", &found["host"]),
        }
    })
}

fn role_at<'a>(port: &str, origins: &'a BTreeMap<String, String>) -> Option<&'a str> {
    const HOSTS: [&str; 4] = ["127.0.0.1", "localhost", "0.0.0.0", "[::1]"];
    HOSTS.iter().find_map(|host| origins.get(&format!("http://{host}:{port}"))).map(String::as_str)
}

/// Returns the kind of a failure in words that do not depend on the operating system; any other text without
/// its error number.
pub(super) fn failure(error: &str) -> String {
    static NUMBER: LazyLock<Regex> = LazyLock::new(|| pattern(r"\s*\(os error -?\d+\)"));
    const KINDS: [(&str, &str); 8] = [
        ("connection refused", "connection refused"),
        ("actively refused", "connection refused"),
        ("connection reset", "connection lost"),
        ("broken pipe", "connection lost"),
        ("connection closed", "connection lost"),
        ("incomplete message", "connection lost"),
        ("timed out", "timed out"),
        ("dns error", "host not found"),
    ];
    let lower = error.to_lowercase();
    let kind = KINDS.iter().find(|(words, _)| lower.contains(words));
    match kind {
        Some((_, kind)) => (*kind).to_owned(),
        None => NUMBER.replace_all(error, "").into_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn varying_values_become_names() {
        let origins = BTreeMap::from([
            ("http://127.0.0.1:4711".to_owned(), "green".to_owned()),
            ("http://127.0.0.1:471".to_owned(), "short".to_owned()),
            ("https://agent.example".to_owned(), "purple".to_owned()),
        ]);
        let cases = [
            ("at 2026-11-21T20:34:21.552576+00:00.", "at <time>."),
            ("2026-11-21 20:34:21Z", "<time>"),
            ("on 2026-11-21", "on 2026-11-21"),
            ("Authorization: Bearer abcdefghijkl0123==", "Authorization: Bearer <token>"),
            ("the bearer of news", "the bearer of news"),
            ("eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.sig-_1", "<token>"),
            ("http://127.0.0.1:4711/", "http://<green>/"),
            ("http://127.0.0.1:471/x", "http://<short>/x"),
            ("http://localhost:4711/a2a", "http://<green>/a2a"),
            ("listening on 127.0.0.1:4711", "listening on <green>"),
            ("http://127.0.0.1:9/", "http://127.0.0.1:<port>/"),
            ("https://agent.example/a", "https://<purple>/a"),
            ("https://agent.example.org/", "https://agent.example.org/"),
            ("https://agent.example:8443/", "https://agent.example:8443/"),
        ];
        for (text, expected) in cases {
            assert_eq!(steady(text, &origins), expected);
        }
    }

    #[test]
    fn failures_keep_their_kind() {
        let refused = "error sending request for url (http://127.0.0.1:9/): tcp connect error: \
                       Connection refused (os error 111)";
        assert_eq!(failure(refused), "connection refused");
        assert_eq!(failure("Broken pipe (os error 32)"), "connection lost");
        assert_eq!(failure("no space left (os error 28)"), "no space left");
        assert_eq!(failure("idle for 20s"), "idle for 20s");
    }

    #[test]
    fn uuids_are_known_in_both_spellings() {
        assert!(is_uuid("8C5E619A-7e0b-441d-b99e-15a856d5e9f0"));
        assert!(is_uuid("f6472ddc092940afbaf69fcf138f9ecd"));
        assert!(!is_uuid("8c5e619a-7e0b"));
        assert!(stands_alone("e-1_x", 2, 3));
        assert!(!stands_alone("e12", 1, 2));
    }
}
