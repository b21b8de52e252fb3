//! Connection details in plain text: JSON in it, lines of Markdown, or a sentence with a URL (`prose`).
//!
//! ```text
//! - **Transport**: http
//! - **URL**: `http://127.0.0.1:9009/mcp`
//! - **Header**: `Authorization: Bearer ..`
//! - **Session ID**: `..`
//! ```
//!
//! Further lines that are understood: `Command`, `Environment` (`NAME=value`), `Name`, `Episode ID`,
//! `Expires At`. Details begin anew where a line comes a second time.

use std::ops::Range;

use serde_json::{Map, Value, json};

use super::{
    ConnectionDetails, Transport, example,
    find::inside,
    findings::{Findings, Found},
    prose,
    read::{self, SurroundingFields},
};
use crate::secret::Secret;

/// Of a longer text only the beginning is looked through, in bytes.
const LONGEST: usize = 1 << 20;

/// All that a text says: in sentences, in lines of Markdown, and as JSON, in this order, since what is
/// written for programs is meant most.
pub(super) fn findings(text: &str, depth: usize) -> Findings {
    let text = &text[..boundary(text, LONGEST)];
    let pieces = json_in(text);
    let words = without(text, pieces.iter().map(|(range, _)| range.clone()));
    let mut said: Vec<Findings> = pieces
        .iter()
        .map(|(range, value)| marked(&text[..range.start], inside(value, depth)))
        .collect();
    let lines = Findings::from(details_in(&words));
    if lines.is_empty() {
        said.insert(0, prose::findings(&words));
    }
    said.insert(0, lines);
    said.into_iter().collect()
}

/// The last place at or before `at` where a character begins.
fn boundary(text: &str, at: usize) -> usize {
    let mut places = (0..=at.min(text.len())).rev();
    places
        .find(|at| text.is_char_boundary(*at))
        .unwrap_or_default()
}

/// What was found after some words, which may say that it is an example.
fn marked(before: &str, findings: Findings) -> Findings {
    match example::is_lead(lead(before)) {
        true => findings.into_examples(),
        false => findings,
    }
}

/// The words that lead to what follows them: the last line that has words, from its last sentence on.
fn lead(before: &str) -> &str {
    let has_words = |line: &&str| line.chars().filter(|c| c.is_alphabetic()).count() > 1;
    let mut unfenced = before
        .lines()
        .filter(|line| !line.trim().starts_with("```"));
    let line = unfenced.rfind(has_words).unwrap_or_default();
    let sentences = prose::sentences(line);
    let last = sentences
        .into_iter()
        .map(|range| &line[range])
        .rfind(has_words);
    last.unwrap_or(line)
}

/// The JSON objects in a text, with their places: the whole text, between fences, or inside of a sentence.
pub(super) fn json_in(text: &str) -> Vec<(Range<usize>, Value)> {
    let mut found = Vec::new();
    let mut from = 0;
    while let Some(start) = text[from..].find('{').map(|at| from + at) {
        let mut values = serde_json::Deserializer::from_str(&text[start..]).into_iter::<Value>();
        from = match values.next() {
            Some(Ok(value)) => {
                let end = start + values.byte_offset();
                found.push((start..end, value));
                end
            }
            Some(Err(_)) | None => start + 1,
        };
    }
    found
}

/// A text with blanks in the place of some of its ranges.
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

/// The details that lines of Markdown say.
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

/// `- **URL**: value` taken apart: the name in lowercase, the value without backticks. The colon may stand
/// inside the emphasis.
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

/// Whether there was room for the line: all but headers and variables come once.
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
    /// In Markdown, a line for each thing they say, for agents that are talked to in words. Secrets stand in it
    /// as they are. What holds a backtick or a line break cannot be said like this.
    pub fn to_text(&self) -> String {
        let mut lines = vec![format!("- **Name**: `{}`", self.name)];
        lines.extend(transport_lines(&self.transport));
        lines.extend(
            self.episode_id
                .as_ref()
                .map(|id| format!("- **Session ID**: `{id}`")),
        );
        lines.extend(
            self.expires_at
                .map(|at| format!("- **Expires At**: `{at}`")),
        );
        lines.join("\n")
    }
}

fn transport_lines(transport: &Transport) -> Vec<String> {
    let named = |(name, value): (&String, &Secret), separator| {
        format!("{name}{separator}{}", value.expose())
    };
    match transport {
        Transport::Http { url, headers } => {
            let mut lines = vec![
                "- **Transport**: http".to_owned(),
                format!("- **URL**: `{url}`"),
            ];
            lines.extend(
                headers
                    .iter()
                    .map(|h| format!("- **Header**: `{}`", named(h, ": "))),
            );
            lines
        }
        Transport::Stdio {
            command,
            args,
            env,
            cwd: _,
        } => {
            let words = std::iter::once(command).chain(args).map(String::as_str);
            let line = shlex::try_join(words).unwrap_or_else(|_| command.clone());
            let mut lines = vec![
                "- **Transport**: stdio".to_owned(),
                format!("- **Command**: `{line}`"),
            ];
            lines.extend(
                env.iter()
                    .map(|v| format!("- **Environment**: `{}`", named(v, "="))),
            );
            lines
        }
    }
}
