//! The answer of a completed task, in the form in which most clients show it exactly once.
//!
//! Clients that want a result look for artifacts (specification 3.7), and some of those that show statuses show
//! artifacts too. So what a bot said last is the artifact of a task that completes, and no message of a status
//! that streams show: there it would be shown twice. It stands in the task's history. A task that waits for its
//! user has a question and no answer, and that is the message of its status alone.

use alloc::{
    format,
    string::{String, ToString},
};

use super::Output;
use crate::a2a::{Artifact, Message, Metadata};

/// What the id of an answer's artifact has behind the id of its message.
const SUFFIX: &str = ".answer";

/// The artifact that says what the message says; none of a message that says nothing. It has no name:
/// "Result" is the name of what a conversation ends with.
pub fn artifact(message: &Message) -> Option<Artifact> {
    let says_something = message.parts.iter().any(|part| part.as_text() != Some(""));
    says_something.then(|| Artifact {
        artifact_id: format!("{}{SUFFIX}", message.message_id),
        name: None,
        description: None,
        parts: message.parts.clone(),
        metadata: message.metadata.clone(),
        extensions: message.extensions.clone(),
        extra: Metadata::new(),
    })
}

/// The id of the message that the artifact is the answer of, if it is one.
pub fn message_id(artifact: &Artifact) -> Option<String> {
    let id = artifact.artifact_id.strip_suffix(SUFFIX)?;
    artifact.name.is_none().then(|| id.to_string())
}

/// What is logged of an answer, before the status that completes the task.
pub fn output(message: &Message) -> Option<Output> {
    artifact(message).map(|artifact| Output::Artifact {
        artifact,
        append: false,
        last_chunk: true,
        metadata: None,
    })
}
