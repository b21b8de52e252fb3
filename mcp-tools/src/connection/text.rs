//! Connection details in plain text: JSON in it, or lines of Markdown.
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

use serde_json::{Map, Value, json};

use super::{
    ConnectionDetails, Transport,
    find::Found,
    read::{self, Beside},
};
use crate::secret::Secret;

/// The JSON objects in a text: the whole text, or what stands between fences.
pub(super) fn json_in(text: &str) -> Vec<Value> {
    let whole = object(text).map(|whole| vec![whole]);
    whole.unwrap_or_else(|| {
        let fenced = text.split("```").skip(1).step_by(2);
        fenced
            .filter_map(|block| object(unlabelled(block)))
            .collect()
    })
}

fn object(text: &str) -> Option<Value> {
    let text = text.trim();
    let looks_like_it = text.starts_with('{');
    looks_like_it
        .then(|| serde_json::from_str(text).ok())
        .flatten()
}

/// The content of a fenced block, whose first line may name a language.
fn unlabelled(block: &str) -> &str {
    block.trim_start_matches(|c: char| c.is_ascii_alphanumeric())
}

/// The details that lines of Markdown say.
pub(super) fn details_in(text: &str) -> Found {
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
    let details = is_details.then(|| read::details(members, &Beside::default()));
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
