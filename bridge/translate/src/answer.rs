//! The answer of a completed task, in the form in which most clients show it exactly once.
//!
//! Clients look for results in artifacts (specification 3.7), and some also show statuses and the history.
//! Therefore the bot's last message becomes an artifact of the completed task, and appears neither in a
//! streamed status nor in the task's history, where some clients would show it a second time. The log keeps
//! the original message. A task that waits for its user has a question instead, which is only the message of
//! its status.
//!
//! The same holds for messages that must be sent before the end of the turn is known, because the bot types,
//! streams or is silent for a while. If a silent end completes the task, they are sent as artifacts at once.
//! As a status they would have to be repeated as artifacts, since half of the clients look only there, and
//! the others would show them twice. Only if a silent end leaves the task open are they sent as statuses.

use alloc::{
    format,
    string::{String, ToString},
};

use super::Output;
use bridge_protocol::a2a::{Artifact, Message, Role};

/// The suffix of an answer's artifact id, after the id of its message.
const SUFFIX: &str = ".answer";

/// Converts a message to an artifact; `None` if the message is empty. The artifact has no name, because
/// "Result" is the name of the value at the end of a conversation.
pub fn artifact(message: &Message) -> Option<Artifact> {
    let says_something = message.parts.iter().any(|part| part.as_text() != Some(""));
    says_something.then(|| Artifact {
        metadata: message.metadata.clone(),
        extensions: message.extensions.clone(),
        ..Artifact::new(artifact_id(&message.message_id), message.parts.clone())
    })
}

/// Returns the id of the artifact for the message with this id.
pub fn artifact_id(message_id: &str) -> String {
    format!("{message_id}{SUFFIX}")
}

/// Returns the id of the message that became this artifact, if it is an answer.
pub fn message_id(artifact: &Artifact) -> Option<String> {
    let id = artifact.artifact_id.strip_suffix(SUFFIX)?;
    artifact.name.is_none().then(|| id.to_string())
}

/// Returns the message that became this artifact, if it is an answer.
pub fn message(artifact: &Artifact) -> Option<Message> {
    let id = message_id(artifact)?;
    Some(Message {
        metadata: artifact.metadata.clone(),
        extensions: artifact.extensions.clone(),
        ..Message::new(id, Role::Agent, artifact.parts.clone())
    })
}

/// Returns the log entry of an answer, to be written before the status that completes the task.
pub fn output(message: &Message) -> Option<Output> {
    artifact(message).map(|artifact| Output::Artifact {
        artifact,
        append: false,
        last_chunk: true,
        metadata: None,
    })
}
