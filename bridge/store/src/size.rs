//! Estimates the size of events and tasks in bytes, as JSON or in memory, whichever is larger, without serializing them.

use bridge_protocol::{
    a2a::{Artifact, Content, Message, Part, Task, TaskStatus},
    wire::weight::{OBJECT, VALUE},
};
use serde_json::{Map, Value};

use super::{Event, Revised, Snapshot, StoredEvent};

/// The size of an object without its texts.
const BASE: usize = 64;

impl StoredEvent {
    /// Returns the approximate size of the event in memory.
    pub fn size(&self) -> usize {
        size_of::<Self>() + self.event.size()
    }
}

impl Event {
    /// Returns the approximate size of the event.
    pub fn size(&self) -> usize {
        match self {
            Self::Message(said) | Self::Said(said) => message(said),
            Self::Status { status: shown, metadata } => {
                status(shown) + metadata_size(metadata.as_ref())
            }
            Self::Artifact { artifact: made, metadata, .. } => {
                artifact(made) + metadata_size(metadata.as_ref())
            }
            Self::Created(created) => BASE + metadata_size(created.metadata.as_ref()),
            Self::TurnStarted { reference, .. } => BASE + metadata_size(reference.as_ref()),
            Self::Metadata { metadata, revised } => {
                let revision = revised.as_ref();
                let revision = revision.and_then(|Revised { message, .. }| message.as_ref());
                BASE + object(metadata) + revision.map_or(0, message)
            }
            Self::TurnQueued { .. } | Self::TurnEnded { .. } => BASE,
        }
    }
}

/// Returns the approximate size of a task.
pub fn task(task: &Task) -> usize {
    let history = task.history.iter().map(message).sum::<usize>();
    let artifacts = task.artifacts.iter().map(artifact).sum::<usize>();
    history
        + artifacts
        + status(&task.status)
        + metadata_size(task.metadata.as_ref())
        + object(&task.extra)
}

/// Returns the approximate size of a task in memory, with the structures that its events would have.
pub(super) fn in_memory(snapshot: &Snapshot) -> usize {
    let task = &snapshot.task;
    let parts = task.artifacts.iter().map(|artifact| artifact.parts.len());
    let structures = task.history.len() + task.artifacts.len() + parts.sum::<usize>();
    self::task(task) + (structures + 1) * size_of::<StoredEvent>()
}

fn status(status: &TaskStatus) -> usize {
    BASE + status.message.as_ref().map_or(0, message) + object(&status.extra)
}

/// Returns the approximate size of a message.
pub fn message(message: &Message) -> usize {
    let names = message.extensions.iter().chain(&message.reference_task_ids);
    BASE + message.parts.iter().map(part).sum::<usize>()
        + metadata_size(message.metadata.as_ref())
        + texts(names)
        + object(&message.extra)
}

/// Returns the approximate size of an artifact.
pub fn artifact(artifact: &Artifact) -> usize {
    let names = artifact.name.iter().chain(&artifact.description);
    BASE + artifact.parts.iter().map(part).sum::<usize>()
        + metadata_size(artifact.metadata.as_ref())
        + texts(names.chain(&artifact.extensions))
        + object(&artifact.extra)
}

fn part(part: &Part) -> usize {
    let content = match &part.content {
        Content::Text(text) | Content::Url(text) => text.len(),
        // JSON contains the bytes as base64.
        Content::Raw(bytes) => bytes.len() / 3 * 4,
        Content::Data(data) => value(data),
        Content::Unknown => 0,
    };
    BASE + content + object(&part.extra) + metadata_size(part.metadata.as_ref())
}

fn texts<'t>(texts: impl Iterator<Item = &'t String>) -> usize {
    texts.map(|text| VALUE + text.len()).sum()
}

fn metadata_size(metadata: Option<&Map<String, Value>>) -> usize {
    metadata.map_or(0, object)
}

fn object(fields: &Map<String, Value>) -> usize {
    let field = |(name, held): (&String, &Value)| name.len() + value(held);
    let own = if fields.is_empty() { 0 } else { OBJECT };
    own + fields.iter().map(field).sum::<usize>()
}

pub(crate) fn value(held: &Value) -> usize {
    match held {
        Value::Null | Value::Bool(_) | Value::Number(_) => VALUE,
        Value::String(text) => VALUE + text.len(),
        Value::Array(items) => VALUE + items.iter().map(value).sum::<usize>(),
        Value::Object(fields) => VALUE + object(fields),
    }
}
