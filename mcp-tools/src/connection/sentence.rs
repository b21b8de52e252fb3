//! Reads connection details from a sentence: a URL that the sentence calls an MCP server's, and its token.
//!
//! `The MCP server is at http://127.0.0.1:9009/mcp, use the bearer token "tok-123".`

use std::{collections::BTreeMap, iter, ops::Range, sync::LazyLock};

use regex::{Match, Regex};
use serde_json::{Map, json};

use super::{
    example,
    findings::Findings,
    read::{self, SurroundingFields},
};
use crate::secret::Secret;

/// Matches a URL up to where the sentence continues.
static URL: LazyLock<Option<Regex>> =
    LazyLock::new(|| Regex::new(r#"https?://[^\s"'`<>()\[\]{}|\\]+"#).ok());

/// Matches the word that tells that an MCP server is meant.
static MCP: LazyLock<Option<Regex>> =
    LazyLock::new(|| Regex::new(r"(?i)\bmcp\b|\bmodel context protocol\b").ok());

/// Matches `Authorization: Bearer abc`, `bearer token "abc"`, `token: abc-123`. An unquoted word must contain a
/// digit, to exclude ordinary words.
static TOKEN: LazyLock<Option<Regex>> = LazyLock::new(|| {
    let quoted = r#"["'`](?P<quoted>[A-Za-z0-9._~+/=-]{4,})["'`]"#;
    let bare = r"(?P<bare>[A-Za-z0-9._~+/=-]{4,})";
    Regex::new(&format!(
        r"(?i)\b(?:bearer|token)\b(?:\s+token\b)?\s*(?:is\b|:|=)?\s*(?:{quoted}|{bare})"
    ))
    .ok()
});

/// The largest number of URLs in one text that are looked at, the last ones, as in [`super::MAX_DETAILS`].
const MAX_URLS: usize = 256;

/// The length of the searched words before details, in bytes: a text without full stops is one long sentence.
const MAX_LEAD: usize = 1 << 10;

/// Finds the details in the sentences of a text. Each URL gets the tokens between it and the next URL.
pub(super) fn findings(text: &str) -> Findings {
    let mut further = urls(text).into_iter().peekable();
    let mut urls: Vec<(Range<usize>, &str)> = Vec::new();
    for sentence in sentences(text) {
        let inside = iter::from_fn(|| further.next_if(|url| sentence.contains(&url.start)));
        let inside: Vec<Range<usize>> = inside.collect();
        let is_about_mcp = !inside.is_empty() && is_mcp(&text[sentence.clone()]);
        let meant = inside.into_iter().filter(|url| is_about_mcp || has_path(&text[url.clone()]));
        urls.extend(meant.map(|url| (url.clone(), end(&text[sentence.start..url.start]))));
    }
    urls.drain(..urls.len().saturating_sub(MAX_URLS));
    let ends = urls.iter().skip(1).map(|(next, _)| next.start);
    let ends = ends.chain([text.len()]);
    urls.iter()
        .zip(ends)
        .map(|((url, lead), end)| one(&text[url.clone()], lead, &text[url.end..end]))
        .collect()
}

/// Returns the end of the words before details.
pub(super) fn end(words: &str) -> &str {
    &words[words.floor_char_boundary(words.len().saturating_sub(MAX_LEAD))..]
}

fn one(url: &str, lead: &str, after: &str) -> Findings {
    let mut members = Map::from_iter([("url".to_owned(), json!(url))]);
    let token = token_in(after).or_else(|| token_in(lead));
    members.extend(token.map(|token| ("token".to_owned(), json!(token))));
    let Ok(details) = read::details(&members, &SurroundingFields::default()) else {
        // A sentence is free text, so a value that cannot be read was probably not meant as details.
        return Findings::default();
    };
    let is_example = example::is_lead(lead) || example::is_placeholder(&details);
    let findings = Findings::from(Ok(details));
    if is_example { findings.into_examples() } else { findings }
}

fn urls(text: &str) -> Vec<Range<usize>> {
    let Some(url) = &*URL else {
        return Vec::new();
    };
    let found = url.find_iter(text);
    found
        .map(|found| {
            let end = found.as_str().trim_end_matches(['.', ',', ';', ':', '!', '?', '*', '_']);
            found.start()..found.start() + end.len()
        })
        .collect()
}

fn is_mcp(sentence: &str) -> bool {
    MCP.as_ref().is_some_and(|mcp| mcp.is_match(sentence))
}

/// Returns whether a URL's path ends like the path of an MCP server.
fn has_path(url: &str) -> bool {
    let path = url.split(['?', '#']).next().unwrap_or_default();
    let last = path.trim_end_matches('/').rsplit('/').next();
    matches!(last, Some("mcp" | "sse"))
}

/// Returns the first bearer token in a text.
fn token_in(text: &str) -> Option<&str> {
    let token = TOKEN.as_ref()?;
    let mut found = token.captures_iter(text).filter_map(|found| {
        let quoted = found.name("quoted");
        let has_digit = |bare: &Match<'_>| bare.as_str().contains(|c: char| c.is_ascii_digit());
        let bare = found.name("bare").filter(has_digit);
        Some(quoted.or(bare)?.as_str().trim_end_matches(['.', ',']))
    });
    found.next()
}

/// Returns the headers in a text without a URL, for a URL in another message.
pub(super) fn headers(text: &str) -> Option<BTreeMap<String, Secret>> {
    let mut headers = BTreeMap::new();
    read::add_token(&mut headers, token_in(text)?);
    Some(headers)
}

/// Returns the ranges of a text's sentences. A sentence ends at a full stop before whitespace, or at an empty
/// line.
pub(super) fn sentences(text: &str) -> Vec<Range<usize>> {
    let mut sentences = Vec::new();
    let mut start = 0;
    let mut characters = text.char_indices().peekable();
    while let Some((at, c)) = characters.next() {
        let next = characters.peek().map(|(_, c)| *c);
        let ends = match c {
            '.' | '!' | '?' => next.is_none_or(char::is_whitespace),
            ';' => next.is_none_or(char::is_whitespace),
            '\n' => next == Some('\n'),
            _inside => false,
        };
        let abbreviated = ["e.g", "i.e"].iter().any(|word| text[start..at].ends_with(word));
        if ends && !abbreviated {
            sentences.push(start..at + c.len_utf8());
            start = at + c.len_utf8();
        }
    }
    sentences.push(start..text.len());
    sentences
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;
    use crate::connection::{ConnectionDetails, find};

    fn found(text: &str) -> Vec<ConnectionDetails> {
        find(&Value::from(text)).into_iter().map(Result::unwrap).collect()
    }

    #[test]
    fn a_server_in_a_sentence() {
        let url = || "http://127.0.0.1:9009/mcp".parse().unwrap();
        let plain = ConnectionDetails::http("environment", url());
        let open = plain.clone().with_bearer(&Secret::new("tok-123"));
        for (text, expected) in [
            ("Please connect to the MCP server at http://127.0.0.1:9009/mcp.", &plain),
            ("Tools are at http://127.0.0.1:9009/mcp!", &plain),
            (
                "The MCP server is at <http://127.0.0.1:9009/mcp>. Use the bearer token `tok-123`.",
                &open,
            ),
            ("MCP: http://127.0.0.1:9009/mcp (Authorization: Bearer tok-123)", &open),
            ("With token tok-123 you reach the MCP server http://127.0.0.1:9009/mcp", &open),
            (
                "Use a bearer token for access to http://127.0.0.1:9009/mcp, which is an MCP server",
                &plain,
            ),
        ] {
            assert_eq!(found(text), std::slice::from_ref(expected), "{text}");
        }
    }

    #[test]
    fn other_urls_are_left_alone() {
        for text in [
            "See http://localhost/docs for the rules. MCP is used here.",
            "The URL: http://localhost/ is nice",
            "mcp, they say",
            "",
        ] {
            assert_eq!(found(text), [], "{text}");
        }
    }

    /// The time for each URL and each piece of JSON must not grow with the text.
    #[test]
    fn long_lists_are_read() {
        let urls: String = (0..20_000).map(|n| format!("http://localhost/{n}\n")).collect();
        assert_eq!(found(&urls), []);
        let servers = found(&format!("Servers of MCP:\n{urls}"));
        assert_eq!(servers.len(), crate::connection::MAX_DETAILS);
        assert_eq!(servers.last().unwrap().address(), "http://localhost/19999");
        let server = r#"{"url": "http://localhost/", "transport": "http"}"#;
        assert_eq!(found(&format!("Sets: {}{server}", "{}".repeat(100_000))).len(), 1);
        assert_eq!(found(&format!("{{\"servers\": [\n{server},\n")).len(), 1);
    }

    #[test]
    fn examples_come_first_wherever_they_stand() {
        let urls = |text: &str| -> Vec<String> {
            found(text).iter().map(ConnectionDetails::address).collect()
        };
        let (good, old) = ("http://localhost:1/mcp", "http://localhost:2/mcp");
        for text in [
            format!("The MCP server is at {good}. The old MCP server was at {old}."),
            format!(
                "For example, an MCP server may be at {old}. Yours is the MCP server at {good}."
            ),
            format!(
                "Connect to {good}\n\nExample:\n```json\n{{\"url\": \"{old}\", \"transport\": \"http\"}}\n```"
            ),
            format!(
                "{{\"mcp\": {{\"url\": \"{good}\"}}, \"example\": {{\"url\": \"{old}\", \"transport\": \"http\"}}}}"
            ),
        ] {
            assert_eq!(urls(&text), [old, good], "{text}");
        }
    }
}
