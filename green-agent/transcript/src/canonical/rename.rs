//! Replaces ids with names such as `<task-1>` and `<context-1>`; the same value has the same name everywhere.
//!
//! This takes two passes. [`Renamer::learn`] determines from keys, over the whole transcript, the kind of
//! each id; then [`Renamer::value`] and [`Renamer::text`] replace ids, numbering each kind in order of
//! appearance. So a task's id in an early text becomes `<task-1>` even if its key comes later.

use std::{collections::BTreeMap, fmt, ops::Range};

use regex::Regex;
use serde_json::{Map, Value};

use super::text::{self, DIGEST, UUID};
use crate::Hop;

/// The kind of an id.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Kind {
    Task,
    Context,
    Message,
    Artifact,
    /// An episode of an environment.
    Episode,
    /// A JSON-RPC request, where other messages refer to it.
    Request,
    /// Content that is identified by its digest.
    Digest,
    /// A UUID of unknown use.
    Other,
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Task => "task",
            Self::Context => "context",
            Self::Message => "message",
            Self::Artifact => "artifact",
            Self::Episode => "episode",
            Self::Request => "request",
            Self::Digest => "digest",
            Self::Other => "id",
        })
    }
}

/// Learns the ids of a transcript, then replaces them with names.
pub(super) struct Renamer<'a> {
    origins: &'a BTreeMap<String, String>,
    kinds: BTreeMap<String, Kind>,
    names: BTreeMap<String, String>,
    counts: BTreeMap<Kind, usize>,
    ids: Regex,
    hop: String,
}

impl<'a> Renamer<'a> {
    /// Returns a renamer that knows no ids.
    pub(super) fn new(origins: &'a BTreeMap<String, String>) -> Self {
        Self {
            origins,
            kinds: BTreeMap::new(),
            names: BTreeMap::new(),
            counts: BTreeMap::new(),
            ids: uuids(),
            hop: String::new(),
        }
    }

    /// Records the kind of an id; the first one recorded stays.
    pub(super) fn learn_id(&mut self, kind: Kind, id: &str) {
        let deterministic = kind == Kind::Artifact && !text::is_uuid(id);
        if !id.is_empty() && !deterministic {
            self.kinds.entry(folded(id)).or_insert(kind);
        }
    }

    /// Records every id under a key that tells its kind.
    pub(super) fn learn(&mut self, value: &Value) {
        match value {
            Value::Object(members) => {
                for (key, member) in sorted(members) {
                    if let Some(kind) = kind_of(key, members) {
                        each_text(member, &mut |id| self.learn_id(kind, id));
                    }
                    self.learn(member);
                }
            }
            Value::Array(items) => items.iter().for_each(|item| self.learn(item)),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
        }
    }

    /// Ends the first pass: from now on ids are also replaced in texts.
    pub(super) fn finish_learning(&mut self) {
        let mut longest_first: Vec<&String> =
            self.kinds.keys().filter(|id| is_telling(id)).collect();
        longest_first.sort_by_key(|id| std::cmp::Reverse(id.len()));
        let known = longest_first.into_iter().map(|id| format!("|{}", regex::escape(id)));
        let pattern: String = [format!("{DIGEST}|{UUID}")].into_iter().chain(known).collect();
        // If there are more ids than a pattern can hold, only UUIDs are replaced in texts.
        self.ids = Regex::new(&pattern).unwrap_or_else(|_| uuids());
    }

    /// Sets the hop that is written: request ids are numbered for each hop.
    pub(super) fn enter(&mut self, hop: &Hop) {
        self.hop = hop.to_string();
    }

    /// Returns a value with ids replaced by names, and its keys sorted.
    pub(super) fn value(&mut self, value: &Value) -> Value {
        match value {
            Value::String(text) => Value::String(self.text(text)),
            Value::Array(items) => items.iter().map(|item| self.value(item)).collect(),
            Value::Object(members) => self.object(members),
            Value::Null | Value::Bool(_) | Value::Number(_) => value.clone(),
        }
    }

    fn object(&mut self, members: &Map<String, Value>) -> Value {
        let mut renamed = Map::new();
        for (key, member) in sorted(members) {
            let member = match kind_of(key, members) {
                Some(kind) => self.id(kind, member),
                None if key == "id" => self.known_id(member),
                None if is_secret(key, member) => Value::String("<token>".to_owned()),
                None => self.value(member),
            };
            renamed.insert(self.text(key), member);
        }
        Value::Object(renamed)
    }

    /// Returns the value of a key that holds ids of this kind: one id, or a list of them.
    fn id(&mut self, kind: Kind, value: &Value) -> Value {
        match value {
            Value::Number(number) if kind == Kind::Request => {
                let id = format!("{number} on {}", self.hop);
                Value::String(self.name(Kind::Request, &id))
            }
            Value::Array(items) => items.iter().map(|item| self.id(kind, item)).collect(),
            _ => self.known_id(value),
        }
    }

    fn known_id(&mut self, value: &Value) -> Value {
        match value {
            Value::String(id) => match self.kinds.get(&folded(id)).copied() {
                Some(kind) => Value::String(self.name(kind, id)),
                None => Value::String(self.text(id)),
            },
            _ => self.value(value),
        }
    }

    /// Returns a text with ids, times, tokens and addresses replaced by names.
    pub(super) fn text(&mut self, text: &str) -> String {
        let text = text::steady(text, self.origins);
        let whole = |range: &Range<usize>| text::stands_alone(&text, range.start, range.end);
        let ids = self.ids.find_iter(&text).map(|found| found.range());
        let ids: Vec<Range<usize>> = ids.filter(whole).collect();
        let mut written = String::with_capacity(text.len());
        let mut from = 0;
        for Range { start, end } in ids {
            written.push_str(&text[from..start]);
            written.push_str(&self.found(&text[start..end]));
            from = end;
        }
        written.push_str(&text[from..]);
        written
    }

    /// Returns the name of an id or digest that was found in a text.
    fn found(&mut self, found: &str) -> String {
        if let Some(digest) = found.strip_prefix("sha256:") {
            return format!("sha256:{}", self.name(Kind::Digest, digest));
        }
        let kind = self.kinds.get(&folded(found)).copied();
        self.name(kind.unwrap_or(Kind::Other), found)
    }

    fn name(&mut self, kind: Kind, id: &str) -> String {
        let count = self.counts.entry(kind).or_default();
        let name = self.names.entry(folded(id)).or_insert_with(|| {
            *count += 1;
            format!("<{kind}-{count}>")
        });
        name.clone()
    }
}

fn uuids() -> Regex {
    Regex::new(&format!("{DIGEST}|{UUID}")).expect("the pattern is a constant and a test uses it")
}

/// Returns an id in one spelling: UUIDs in lower case and without dashes.
fn folded(id: &str) -> String {
    if text::is_uuid(id) { id.to_lowercase().replace('-', "") } else { id.to_owned() }
}

/// Returns whether an id that is no UUID is distinctive enough to be searched for in texts, without matching
/// words and numbers.
fn is_telling(id: &str) -> bool {
    id.len() >= 8
        && id.contains(|c: char| c.is_ascii_digit())
        && id.contains(|c: char| !c.is_ascii_digit())
}

fn kind_of(key: &str, members: &Map<String, Value>) -> Option<Kind> {
    match key {
        // A benchmark's task id is a readable name.
        "task_id" | "taskId" if members.contains_key("benchmark") => None,
        "taskId" | "task_id" | "referenceTaskIds" | "reference_task_ids" => Some(Kind::Task),
        "contextId" | "context_id" | "sessionId" | "session_id" => Some(Kind::Context),
        "messageId" | "message_id" => Some(Kind::Message),
        "artifactId" | "artifact_id" => Some(Kind::Artifact),
        "episodeId" | "episode_id" => Some(Kind::Episode),
        "requestId" | "request_id" | "progressToken" => Some(Kind::Request),
        "id" if is_task(members) => Some(Kind::Task),
        _ => None,
    }
}

/// Returns whether an object is a task, whose `id` is a task's id: a Task has a status beside it, and so have
/// the events of 0.1.
fn is_task(members: &Map<String, Value>) -> bool {
    let is_object = |key: &str| members.get(key).is_some_and(Value::is_object);
    is_object("status") || is_object("artifact")
}

fn is_secret(key: &str, value: &Value) -> bool {
    // `signature` is that of a signed card: the card is shown beside it, and the key may be generated in each run.
    const KEYS: &str = "\
        token accessToken access_token refreshToken refresh_token authorization credentials apiKey \
        api_key nextPageToken pageToken nextCursor signature";
    KEYS.split(' ').any(|one| one == key) && value.as_str().is_some_and(|text| !text.is_empty())
}

fn each_text(value: &Value, take: &mut dyn FnMut(&str)) {
    match value {
        Value::String(text) => take(text),
        Value::Array(items) => items.iter().for_each(|item| each_text(item, take)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => {}
    }
}

/// Returns the members sorted by key.
fn sorted(members: &Map<String, Value>) -> BTreeMap<&String, &Value> {
    members.iter().collect()
}
