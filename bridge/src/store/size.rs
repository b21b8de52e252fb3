//! Estimates the size of events and tasks in bytes, as JSON or in memory, whichever is larger, without writing them.

use bridge_protocol::{
    a2a::{Artifact, Content, Message, Part, Task},
    wire::weight::{OBJECT, VALUE},
};
use serde_json::{Map, Value};

use super::Event;

/// The size of an object beside its texts.
const OWN: usize = 64;

impl Event {
    /// The approximate size of the event.
    pub(crate) fn size(&self) -> usize {
        match self {
            Self::Message(said) | Self::Said(said) => message(said),
            Self::Status { status, metadata } => {
                OWN + status.message.as_ref().map_or(0, message) + free(metadata.as_ref())
            }
            Self::Artifact { artifact: made, .. } => artifact(made),
            Self::Created(_)
            | Self::TurnQueued { .. }
            | Self::TurnStarted { .. }
            | Self::TurnEnded { .. }
            | Self::Metadata { .. } => OWN,
        }
    }
}

/// The approximate size of a task.
pub(crate) fn task(task: &Task) -> usize {
    let history = task.history.iter().map(message).sum::<usize>();
    let artifacts = task.artifacts.iter().map(artifact).sum::<usize>();
    let status = task.status.message.as_ref().map_or(0, message);
    OWN + history + artifacts + status + free(task.metadata.as_ref())
}

/// The approximate size of a message.
pub(crate) fn message(message: &Message) -> usize {
    OWN + message.parts.iter().map(part).sum::<usize>() + free(message.metadata.as_ref())
}

/// The approximate size of an artifact.
pub(crate) fn artifact(artifact: &Artifact) -> usize {
    OWN + artifact.parts.iter().map(part).sum::<usize>() + free(artifact.metadata.as_ref())
}

fn part(part: &Part) -> usize {
    let content = match &part.content {
        Content::Text(text) | Content::Url(text) => text.len(),
        // JSON contains the bytes as base64.
        Content::Raw(bytes) => bytes.len() / 3 * 4,
        Content::Data(data) => value(data),
        Content::Unknown => 0,
    };
    OWN + content + object(&part.extra) + free(part.metadata.as_ref())
}

fn free(metadata: Option<&Map<String, Value>>) -> usize {
    metadata.map_or(0, object)
}

fn object(fields: &Map<String, Value>) -> usize {
    let field = |(name, held): (&String, &Value)| name.len() + value(held);
    let own = if fields.is_empty() { 0 } else { OBJECT };
    own + fields.iter().map(field).sum::<usize>()
}

fn value(held: &Value) -> usize {
    match held {
        Value::Null | Value::Bool(_) | Value::Number(_) => VALUE,
        Value::String(text) => VALUE + text.len(),
        Value::Array(items) => VALUE + items.iter().map(value).sum::<usize>(),
        Value::Object(fields) => VALUE + object(fields),
    }
}
