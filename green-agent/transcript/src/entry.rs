//! One line of a transcript: a message that passed over one hop, in one direction.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
    str::FromStr,
};

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// A directed connection between two parties of a run, written `green -> purple`.
///
/// The party that opens requests comes first; replies and stream events travel back over the same hop.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(try_from = "String", into = "String")]
pub struct Hop {
    /// The party that sends the requests: `runner`, `green`, or a participant's role.
    pub from: String,
    /// The party that answers them.
    pub to: String,
}

impl Hop {
    /// Returns the hop on which `from` calls `to`.
    pub fn new(from: impl Into<String>, to: impl Into<String>) -> Self {
        Self { from: from.into(), to: to.into() }
    }
}

impl fmt::Display for Hop {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} -> {}", self.from, self.to)
    }
}

impl From<Hop> for String {
    fn from(hop: Hop) -> Self {
        hop.to_string()
    }
}

/// The error for a text that is not a hop such as `green -> purple`.
#[derive(Debug, thiserror::Error)]
#[error("{0:?} is not a hop: expected FROM -> TO, for example \"green -> purple\"")]
pub struct NotAHop(String);

impl FromStr for Hop {
    type Err = NotAHop;

    fn from_str(text: &str) -> Result<Self, NotAHop> {
        match text.split_once("->") {
            Some((from, to)) if !from.trim().is_empty() && !to.trim().is_empty() => {
                Ok(Self::new(from.trim(), to.trim()))
            }
            _ => Err(NotAHop(text.to_owned())),
        }
    }
}

impl TryFrom<String> for Hop {
    type Error = NotAHop;

    fn try_from(text: String) -> Result<Self, NotAHop> {
        text.parse()
    }
}

/// The direction of an entry on its hop.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Direction {
    /// From the hop's caller to the agent that it calls.
    Forward,
    /// From that agent back to the caller.
    Back,
}

/// One line of `transcript.jsonl`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Entry {
    /// The position in the whole transcript, from 1, without gaps, in the order of events.
    pub seq: u64,
    /// Seconds since the run began.
    pub time: f64,
    /// The hop.
    pub hop: Hop,
    /// The number of the exchange, which connects replies, events and failures to their request. Unique in
    /// the transcript.
    pub exchange: u64,
    /// The direction.
    pub direction: Direction,
    /// The content.
    #[serde(flatten)]
    pub content: Content,
}

/// Returns the exchanges that were answered by a redirect. Their requests are no calls: the caller repeats each one at the
/// other address, such as `/mcp/` after `/mcp`.
pub fn redirected(entries: &[Entry]) -> BTreeSet<u64> {
    let is_redirect =
        |entry: &&Entry| matches!(entry.content, Content::Reply { status: 300..=399, .. });
    entries.iter().filter(is_redirect).map(|entry| entry.exchange).collect()
}

/// The content of an entry, distinguished by `kind` in the JSON.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "lowercase")]
pub enum Content {
    /// An HTTP request.
    #[schemars(title = "Request")]
    Request {
        /// The HTTP method.
        method: String,
        /// Path and query.
        path: String,
        /// The headers that matter for the protocol, by lowercase name; secrets are masked.
        #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
        headers: BTreeMap<String, String>,
        /// The body, if there was one.
        #[serde(flatten)]
        #[schemars(schema_with = "body_members")]
        body: Option<Body>,
    },
    /// An HTTP response; for an event stream only its head, followed by the events.
    #[schemars(title = "Reply")]
    Reply {
        /// The HTTP status code.
        status: u16,
        /// The headers, as in a request.
        #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
        headers: BTreeMap<String, String>,
        /// The body, if there was one.
        #[serde(flatten)]
        #[schemars(schema_with = "body_members")]
        body: Option<Body>,
    },
    /// One server-sent event of a stream.
    #[schemars(title = "Event")]
    Event {
        /// The event's `id`, if it had one.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        id: Option<String>,
        /// The event's `event` field, if it had one.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        event: Option<String>,
        /// The event's data.
        #[serde(flatten)]
        #[schemars(schema_with = "body_members")]
        body: Option<Body>,
    },
    /// A stream ended regularly.
    #[schemars(title = "End")]
    End,
    /// The exchange failed: no server listened, the connection broke, or a limit was exceeded.
    #[schemars(title = "Failure")]
    Failure {
        /// The error, for a person.
        error: String,
    },
}

/// A body.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub enum Body {
    /// JSON, parsed.
    #[serde(rename = "body")]
    Json(Value),
    /// Text that is not JSON.
    #[serde(rename = "text")]
    Text(String),
    /// A body that was not kept: binary, or larger than the recorder's limit.
    #[serde(rename = "omitted")]
    Omitted {
        /// Its size in bytes, up to the point to which it was read.
        bytes: u64,
        /// The reason why it was not kept.
        why: String,
        /// Its SHA-256 in hexadecimal, if all of it was read.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        sha256: Option<String>,
    },
}

/// Returns the schema of the members that a body becomes in its entry, of which there is one or none. Programs that make types of
/// it get three members in place of as many combinations of them with the contents.
fn body_members(generator: &mut SchemaGenerator) -> Schema {
    let body = Body::json_schema(generator);
    let kinds = body.get("oneOf").and_then(Value::as_array).into_iter().flatten();
    let members = kinds.flat_map(|kind| {
        let members = kind["properties"].as_object().into_iter().flatten();
        members.map(|(name, schema)| {
            let mut schema = schema.clone();
            // JSON of any kind has the schema `true`, of which generators make the right type only as long as it is that.
            if let Value::Object(schema) = &mut schema {
                schema.insert("description".to_owned(), kind["description"].clone());
            }
            (name.clone(), schema)
        })
    });
    json_schema!({"type": "object", "properties": Value::from_iter(members)})
}

impl Body {
    /// Returns the JSON, if the body is JSON.
    pub fn json(&self) -> Option<&Value> {
        match self {
            Self::Json(value) => Some(value),
            Self::Text(_) | Self::Omitted { .. } => None,
        }
    }
}

impl Content {
    /// Returns the body, for any kind of content.
    pub fn body(&self) -> Option<&Body> {
        match self {
            Self::Request { body, .. } | Self::Reply { body, .. } | Self::Event { body, .. } => {
                body.as_ref()
            }
            Self::End | Self::Failure { .. } => None,
        }
    }

    /// Returns the body for modification.
    pub fn body_mut(&mut self) -> Option<&mut Body> {
        match self {
            Self::Request { body, .. } | Self::Reply { body, .. } | Self::Event { body, .. } => {
                body.as_mut()
            }
            Self::End | Self::Failure { .. } => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn an_entry_is_one_flat_object() {
        let entry = Entry {
            seq: 3,
            time: 0.25,
            hop: Hop::new("green", "pro_debater"),
            exchange: 2,
            direction: Direction::Back,
            content: Content::Reply {
                status: 200,
                headers: BTreeMap::new(),
                body: Some(Body::Json(json!({"ok": true}))),
            },
        };
        let written = json!({
            "seq": 3, "time": 0.25, "hop": "green -> pro_debater", "exchange": 2,
            "direction": "back", "kind": "reply", "status": 200, "body": {"ok": true},
        });
        assert_eq!(serde_json::to_value(&entry).unwrap(), written);
        assert_eq!(serde_json::from_value::<Entry>(written).unwrap(), entry);
    }

    #[test]
    fn a_hop_needs_both_ends() {
        assert!("green".parse::<Hop>().is_err());
        assert!("-> green".parse::<Hop>().is_err());
        assert_eq!("a->b".parse::<Hop>().unwrap(), Hop::new("a", "b"));
    }
}
