//! Reads connection details from plain text: embedded JSON, lines of Markdown, or a sentence with a URL (`sentence`).
//!
//! ```text
//! - **Transport**: http
//! - **URL**: `http://127.0.0.1:9009/mcp`
//! - **Header**: `Authorization: Bearer ..`
//! - **Session ID**: `..`
//! ```
//!
//! Further lines are `Command`, `Environment` (`NAME=value`), `Name`, `Episode ID` and `Expires At`. A line that
//! is repeated begins the details of the next server.

use std::ops::Range;

use serde_json::{Map, Value, json};

use super::{
    ConnectionDetails, Transport, example,
    findings::{Findings, Found},
    read::{self, SurroundingFields},
    sentence,
};
use crate::secret::Secret;

/// The length of the searched beginning of a text, in bytes.
const MAX_TEXT: usize = 1 << 20;

/// How many bytes of objects that do not end are read again, for the objects within them.
const MAX_REREAD: usize = 4 << 20;

/// Returns all details in a text, in ascending precedence: from sentences, from lines of Markdown, and from JSON,
/// which is the most deliberate format. `inside` finds those in JSON.
pub(super) fn findings(text: &str, inside: impl Fn(&Value) -> Findings) -> Findings {
    let text = &text[..text.floor_char_boundary(MAX_TEXT)];
    let pieces = json_in(text);
    let words = without(text, pieces.iter().map(|(range, _)| range.clone()));
    let mut said: Vec<Findings> =
        pieces.iter().map(|(range, value)| marked(&text[..range.start], inside(value))).collect();
    let lines = Findings::from(details_in(&words));
    if lines.is_empty() {
        said.insert(0, sentence::findings(&words));
    }
    said.insert(0, lines);
    said.into_iter().collect()
}

/// Marks findings as examples if the words before them say so.
fn marked(before: &str, findings: Findings) -> Findings {
    let is_example = !findings.is_empty() && example::is_lead(lead(sentence::end(before)));
    if is_example { findings.into_examples() } else { findings }
}

/// Returns the words that introduce the next value: the last non-empty line, from its last sentence on.
fn lead(before: &str) -> &str {
    let has_words = |line: &&str| line.chars().filter(|c| c.is_alphabetic()).count() > 1;
    let mut unfenced = before.lines().filter(|line| !line.trim().starts_with("```"));
    let line = unfenced.rfind(has_words).unwrap_or_default();
    let sentences = sentence::sentences(line);
    let last = sentences.into_iter().map(|range| &line[range]).rfind(has_words);
    last.unwrap_or(line)
}

/// Returns the JSON objects in a text with their ranges: the whole text, code blocks, or objects within a
/// sentence.
pub(super) fn json_in(text: &str) -> Vec<(Range<usize>, Value)> {
    let mut found = Vec::new();
    let (mut from, mut reread) = (0, 0);
    while reread < MAX_REREAD
        && let Some(start) = text[from..].find('{').map(|at| from + at)
    {
        let rest = &text[start..];
        let mut values = serde_json::Deserializer::from_str(rest).into_iter::<Value>();
        from = match values.next() {
            Some(Ok(value)) => {
                let end = start + values.byte_offset();
                found.push((start..end, value));
                end
            }
            Some(Err(error)) => {
                reread += place(rest, &error);
                start + 1
            }
            None => start + 1,
        };
    }
    found
}

/// Returns the number of bytes before an error.
fn place(text: &str, error: &serde_json::Error) -> usize {
    let before = text.split_inclusive('\n').take(error.line().saturating_sub(1));
    before.map(str::len).sum::<usize>() + error.column()
}

/// Returns a text with some ranges replaced by spaces.
fn without(text: &str, ranges: impl Iterator<Item = Range<usize>>) -> String {
    let mut words = String::new();
    let mut from = 0;
    for range in ranges {
        words.push_str(&text[from..range.start]);
        words.push(' ');
        from = range.end;
    }
    words.push_str(&text[from..]);
    words
}

/// Reads details from lines of Markdown.
fn details_in(text: &str) -> Found {
    let mut found = Found::new();
    let mut members = Map::new();
    for (name, value) in text.lines().filter_map(line) {
        let Some(member) = member(&name) else {
            continue;
        };
        if !add(&mut members, member, value) {
            found.extend(details(&std::mem::take(&mut members)));
            add(&mut members, member, value);
        }
    }
    found.extend(details(&members));
    found
}

fn details(members: &Map<String, Value>) -> Found {
    let is_details = read::is_details(members);
    let details = is_details.then(|| read::details(members, &SurroundingFields::default()));
    details.into_iter().collect()
}

/// Splits `- **URL**: value` into the name in lowercase and the value without backticks. The colon may be inside
/// the emphasis.
fn line(line: &str) -> Option<(String, &str)> {
    let line =
        line.trim_start_matches(|c: char| c.is_whitespace() || c == '-' || c == '*' || c == '+');
    let (name, value) = line.split_once(':')?;
    let value = value.trim_start_matches('*').trim();
    let value = value.trim_matches(|c| c == '`' || c == '<' || c == '>');
    let name = name.trim_end_matches('*').trim().to_ascii_lowercase();
    (!value.is_empty()).then_some((name, value))
}

fn member(name: &str) -> Option<&'static str> {
    match name {
        "transport" => Some("transport"),
        "url" => Some("url"),
        "command" => Some("command"),
        "name" => Some("name"),
        "header" => Some("headers"),
        "environment" => Some("env"),
        "episode id" | "session id" => Some("episodeId"),
        "expires at" => Some("expiresAt"),
        _other_line => None,
    }
}

/// Adds a line to the members and returns whether the field was free. Only headers and environment variables may
/// be repeated.
fn add(members: &mut Map<String, Value>, member: &'static str, value: &str) -> bool {
    let separator = match member {
        "headers" => ':',
        "env" => '=',
        _once => {
            let is_new = !members.contains_key(member);
            if is_new {
                members.insert(member.to_owned(), json!(value));
            }
            return is_new;
        }
    };
    let (name, value) = value.split_once(separator).unwrap_or((value, ""));
    members
        .entry(member)
        .or_insert_with(|| json!([]))
        .as_array_mut()
        .into_iter()
        .for_each(|list| list.push(json!({"name": name.trim(), "value": value.trim()})));
    true
}

impl ConnectionDetails {
    /// Writes the details as Markdown, one line per field, for agents that read text. Secrets are written in
    /// clear. A value with a backtick or a line break cannot be represented.
    pub fn to_text(&self) -> String {
        let mut lines = vec![format!("- **Name**: `{}`", self.name)];
        lines.extend(transport_lines(&self.transport));
        lines.extend(self.episode_id.as_ref().map(|id| format!("- **Session ID**: `{id}`")));
        lines.extend(self.expires_at.map(|at| format!("- **Expires At**: `{at}`")));
        lines.join("\n")
    }
}

fn transport_lines(transport: &Transport) -> Vec<String> {
    let named = |(name, value): (&String, &Secret), separator| {
        format!("{name}{separator}{}", value.expose())
    };
    match transport {
        Transport::Http { url, headers } => {
            let mut lines = vec!["- **Transport**: http".to_owned(), format!("- **URL**: `{url}`")];
            lines.extend(headers.iter().map(|h| format!("- **Header**: `{}`", named(h, ": "))));
            lines
        }
        Transport::Stdio { command, args, env, cwd: _ } => {
            let words = std::iter::once(command).chain(args).map(String::as_str);
            let line = shlex::try_join(words).unwrap_or_else(|_| command.clone());
            let mut lines =
                vec!["- **Transport**: stdio".to_owned(), format!("- **Command**: `{line}`")];
            lines.extend(env.iter().map(|v| format!("- **Environment**: `{}`", named(v, "="))));
            lines
        }
    }
}
