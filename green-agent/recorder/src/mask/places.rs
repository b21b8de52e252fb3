//! Finds secrets by their place: by the names of members, parameters, headers and variables.

use std::{borrow::Cow, sync::LazyLock};

use regex::{Captures, Regex};

use super::MASK;

/// The names of JSON members that hold secrets, in lowercase and without `-` and `_`. With `serviceurl`, to which a bot
/// replies, anyone can send messages in its conversation.
const SECRET_MEMBERS: [&str; 25] = [
    "accesskey",
    "accesstoken",
    "apikey",
    "apitoken",
    "authorization",
    "authtoken",
    "clientassertion",
    "clientsecret",
    "codeverifier",
    "cookie",
    "credentials",
    "devicecode",
    "idtoken",
    "passwd",
    "password",
    "privatekey",
    "proxyauthorization",
    "refreshtoken",
    "secret",
    "secretkey",
    "sessiontoken",
    "setcookie",
    "serviceurl",
    "token",
    "xapikey",
];

/// HTTP authentication schemes, in lowercase. Any other first word may itself be the secret.
const SCHEMES: [&str; 5] = ["basic", "bearer", "digest", "dpop", "negotiate"];

/// Words that follow `Bearer` in messages and headers about authentication without being tokens.
const WORDS_AFTER_BEARER: &str = "\
    auth authentication authorization error= realm= scope= token tokens";

static BEARER: LazyLock<Regex> =
    LazyLock::new(|| pattern(r"(?i)(?-u:\b)(bearer\s+)([a-z0-9._~+/=-]+)"));

/// Matches a quoted name with a quoted value, as JSON and Python write them.
static MEMBER: LazyLock<Regex> = LazyLock::new(|| {
    pattern(r#"(?i)(["']([a-z_-]+)["']\s*:\s*)("(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*')"#)
});

/// Matches `NAME=value`, as shells, logs, queries and Python's objects write it; the last part of the name decides. The value
/// may be quoted, also within a quoted text.
static ASSIGNMENT: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r#"(?i)(?-u:\b)((?:[a-z0-9]+[_-])*?(?:authorization|api[_-]?key|private[_-]?key|client[_-]?assertion|code[_-]?verifier|device[_-]?code|passw(?:or)?d|secret|token|credentials)=)(?:(")(?:[^"\\]|\\.)+"|(')(?:[^'\\]|\\.)+'|(\\+["'])[^"'\\]+|[^\s&"'<>;,]+)"#,
    )
});

/// The names of parameters in queries that hold secrets besides [`SECRET_MEMBERS`]. Elsewhere these words mean other things, such as
/// the code of an exit.
const SECRET_PARAMETERS: [&str; 8] =
    ["auth", "code", "key", "pass", "pwd", "sig", "signature", "tok"];

/// Matches a parameter in the query or the fragment of a URL.
static PARAMETER: LazyLock<Regex> =
    LazyLock::new(|| pattern(r#"(?i)([?&#]([a-z0-9_.-]+)=)[^\s&#"'<>\\]+"#));

/// Matches the user's name and the password of a URL, before its host.
static USER: LazyLock<Regex> =
    LazyLock::new(|| pattern(r#"(://([^\s/?\#@:"'<>\\]*):)([^\s/?\#@"'<>\\]+)@"#));

/// Matches the secret part of a service URL, which the bridge gives to bots.
static SERVICE_URL: LazyLock<Regex> = LazyLock::new(|| pattern(r"(/bots/)[A-Za-z0-9_-]{64,}"));

/// Masks the secret part of bots' service URLs.
pub(super) fn mask_service_urls(text: Cow<'_, str>) -> Cow<'_, str> {
    if !text.contains("/bots/") {
        return text;
    }
    replace(text, &SERVICE_URL, |found| Some(format!("{}{MASK}", &found[1])))
}

/// Masks the text after `Bearer`, service URLs, and the values of members and assignments with telling names.
pub(super) fn mask_places(text: Cow<'_, str>) -> Cow<'_, str> {
    // Most texts contain none of these characters, and searching for one is much faster than matching.
    let text = if text.contains(char::is_whitespace) {
        replace(text, &BEARER, |found| {
            let word = found[2].trim_end_matches('.').to_ascii_lowercase();
            let is_token =
                !WORDS_AFTER_BEARER.split(' ').any(|one| one == word) && !is_word(&found[2]);
            is_token.then(|| format!("{}{MASK}", &found[1]))
        })
    } else {
        text
    };
    let text = mask_service_urls(text);
    let text = if text.contains("://") && text.contains('@') {
        replace(text, &USER, |found| {
            // A password that repeats the user's name, as in `postgres:postgres`, is a default and no secret.
            (found[2] != found[3]).then(|| format!("{}{MASK}@", &found[1]))
        })
    } else {
        text
    };
    let text = if text.contains(':') {
        replace(text, &MEMBER, |found| {
            let quote = &found[3][..1];
            is_secret_member(&found[2]).then(|| format!("{}{quote}{MASK}{quote}", &found[1]))
        })
    } else {
        text
    };
    let text = if text.contains('=') && text.contains(['?', '&', '#']) {
        replace(text, &PARAMETER, |found| {
            is_secret_parameter(&found[2]).then(|| format!("{}{MASK}", &found[1]))
        })
    } else {
        text
    };
    if text.contains('=') {
        replace(text, &ASSIGNMENT, |found| {
            let quote = found.get(2).or(found.get(3)).map_or("", |one| one.as_str());
            let escaped = found.get(4).map_or("", |one| one.as_str());
            Some(format!("{}{escaped}{quote}{MASK}{quote}", &found[1]))
        })
    } else {
        text
    }
}

/// Returns whether this is a word of prose, as in "the ring bearer walked": short, and only letters.
fn is_word(text: &str) -> bool {
    let text = text.trim_end_matches('.');
    text.len() < 16 && text.bytes().all(|letter| letter.is_ascii_lowercase())
}

/// Replaces the matches for which `masked` returns another text. A text without any stays borrowed.
pub(super) fn replace<'a>(
    text: Cow<'a, str>,
    pattern: &Regex,
    masked: impl Fn(&Captures<'_>) -> Option<String>,
) -> Cow<'a, str> {
    let mut has_masked = false;
    let replaced = pattern.replace_all(&text, |found: &Captures<'_>| {
        let masked = masked(found);
        has_masked |= masked.is_some();
        masked.unwrap_or_else(|| found[0].to_owned())
    });
    let replaced = match replaced {
        Cow::Owned(replaced) if has_masked => Some(replaced),
        Cow::Borrowed(_) | Cow::Owned(_) => None,
    };
    replaced.map_or(text, Cow::Owned)
}

/// Returns whether a JSON member or a query parameter of this name holds a secret.
pub(super) fn is_secret_member(name: &str) -> bool {
    const ENDING: &str = "apikey";
    let letters = || {
        let letters = name.chars().filter(|letter| !matches!(letter, '-' | '_'));
        letters.map(|letter| letter.to_ascii_lowercase())
    };
    // Every member of every message is tested, and most names have another length.
    let length = letters().count();
    let is_one = |member: &&str| member.len() == length && letters().eq(member.chars());
    let ending = letters().rev().take(ENDING.len());
    SECRET_MEMBERS.iter().any(is_one) || ending.eq(ENDING.chars().rev())
}

/// Returns whether the header of this lowercase name holds a secret.
pub(super) fn is_secret_header(name: &str) -> bool {
    // With the id of an MCP session, anyone can use the session unless further authentication is required.
    const NAMES: &str = "authorization proxy-authorization cookie set-cookie mcp-session-id";
    const ENDINGS: [&str; 3] = ["-token", "-key", "-secret"];
    NAMES.split(' ').any(|one| one == name) || ENDINGS.iter().any(|ending| name.ends_with(ending))
}

/// Masks all of `xyz`, but keeps the scheme of `Bearer xyz`.
pub(super) fn mask_credentials(value: &str) -> String {
    match value.split_once(' ') {
        Some((scheme, _)) if SCHEMES.contains(&scheme.to_ascii_lowercase().as_str()) => {
            format!("{scheme} {MASK}")
        }
        Some(_) | None => MASK.to_owned(),
    }
}

/// Returns whether a parameter of this name in a query holds a secret.
fn is_secret_parameter(name: &str) -> bool {
    is_secret_member(name) || SECRET_PARAMETERS.iter().any(|one| one.eq_ignore_ascii_case(name))
}

/// Masks the value of one `name=value` of a query.
pub(super) fn mask_parameter(parameter: &str) -> String {
    match parameter.split_once('=') {
        Some((name, _)) if is_secret_parameter(name) => format!("{name}={MASK}"),
        Some(_) | None => parameter.to_owned(),
    }
}

#[expect(clippy::expect_used, reason = "the patterns are constants, and the tests use them all")]
pub(super) fn pattern(text: &str) -> Regex {
    Regex::new(text).expect("a pattern of this module")
}
