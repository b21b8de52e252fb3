//! The answer of a completed task, in the form in which most clients show it exactly once.
//!
//! Clients that want a result look for artifacts (specification 3.7), and some of those that show statuses show
//! artifacts too, or the history. So what a bot said last is the artifact of a task that completes, and stands
//! neither in a status that streams show nor in the task's history: some clients would show it twice. The log
//! keeps what was said. A task that waits for its user has a question and no answer, and that is the message of
//! its status alone.
//!
//! That is so too for what has to be told before it is known how the turn ends, because the bot types, streams or
//! is silent for a while: where a silent end completes the task it is told as an artifact at once. In a status it
//! would have to come once more as the artifact, since half of the clients look for it there alone, and the
//! others would show it twice. Only where a silent end leaves the task open does that remain.

use alloc::{
    format,
    string::{String, ToString},
};

use super::Output;
use crate::a2a::{Artifact, Message, Metadata, Role, Task};

/// What the id of an answer's artifact has behind the id of its message.
const SUFFIX: &str = ".answer";

/// The artifact that says what the message says; none of a message that says nothing. It has no name:
/// "Result" is the name of what a conversation ends with.
pub fn artifact(message: &Message) -> Option<Artifact> {
    let says_something = message.parts.iter().any(|part| part.as_text() != Some(""));
    says_something.then(|| Artifact {
        artifact_id: artifact_id(&message.message_id),
        name: None,
        description: None,
        parts: message.parts.clone(),
        metadata: message.metadata.clone(),
        extensions: message.extensions.clone(),
        extra: Metadata::new(),
    })
}

/// The id of the artifact that is the message with this id.
pub fn artifact_id(message_id: &str) -> String {
    format!("{message_id}{SUFFIX}")
}

/// The id of the message that the artifact is the answer of, if it is one.
pub fn message_id(artifact: &Artifact) -> Option<String> {
    let id = artifact.artifact_id.strip_suffix(SUFFIX)?;
    artifact.name.is_none().then(|| id.to_string())
}

/// The message that the artifact is the answer of, if it is one, as the agent said it.
pub fn message(artifact: &Artifact) -> Option<Message> {
    let id = message_id(artifact)?;
    Some(Message {
        metadata: artifact.metadata.clone(),
        extensions: artifact.extensions.clone(),
        ..Message::new(id, Role::Agent, artifact.parts.clone())
    })
}

/// Takes the message that became the artifact out of the task, which shows each answer once.
pub fn replaces(artifact: &Artifact, task: &mut Task) {
    if let Some(id) = message_id(artifact) {
        task.revise(&id, None);
    }
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
