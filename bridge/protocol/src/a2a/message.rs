//! Messages between clients and agents (specification 4.1.4).

use alloc::{string::String, vec::Vec};

use super::{Metadata, Part};
use crate::wire::open_enum;

proto_message! {
    /// A message from a client to an agent, or from an agent to a client.
    pub struct Message {
        /// The id, made by the sender. Messages of a caller with the same id are the same message.
        required message_id: String = "messageId",
        /// The id of the context that the message belongs to.
        optional context_id: Option<String> = "contextId",
        /// The id of the task that the message belongs to.
        optional task_id: Option<String> = "taskId",
        /// The sender's role.
        required role: Role = "role",
        /// The content.
        required parts: Vec<Part> = "parts",
        /// Free-form data about the message.
        optional metadata: Option<Metadata> = "metadata",
        /// The URIs of the extensions that contributed to the message.
        optional extensions: Vec<String> = "extensions",
        /// The ids of other tasks that the message refers to.
        optional reference_task_ids: Vec<String> = "referenceTaskIds",
    }
}

open_enum! {
    /// The role of a message's sender (specification 4.1.5).
    #[derive(Default)]
    pub enum Role, "a role such as ROLE_USER", numbered {
        /// Not specified.
        #[default]
        Unspecified = "ROLE_UNSPECIFIED",
        /// The client.
        User = "ROLE_USER",
        /// The agent.
        Agent = "ROLE_AGENT",
    }
}

impl Message {
    /// Creates a message with these parts.
    pub fn new(message_id: impl Into<String>, role: Role, parts: Vec<Part>) -> Self {
        Self { message_id: message_id.into(), role, parts, ..Self::default() }
    }

    /// Returns the texts of all parts, each on a line of its own.
    pub fn text(&self) -> String {
        join_texts(self.parts.iter().filter_map(Part::as_text))
    }
}

/// Returns these texts, each on a line of its own. One that follows another may begin with its line break.
pub fn join_texts<'a>(texts: impl IntoIterator<Item = &'a str>) -> String {
    let mut texts = texts.into_iter();
    let mut all = String::from(texts.next().unwrap_or_default());
    for text in texts {
        if !text.starts_with('\n') {
            all.push('\n');
        }
        all.push_str(text);
    }
    all
}
