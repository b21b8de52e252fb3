//! Messages: one turn of a conversation (specification 4.1.4).

use alloc::{string::String, vec::Vec};

use super::{Metadata, Part};
use crate::wire::{object, open_enum};

object! {
    /// What one side says to the other.
    pub struct Message {
        /// Made by the sender; the same id from the same caller is the same message.
        required message_id: String = "messageId",
        /// The context it belongs to.
        optional context_id: Option<String> = "contextId",
        /// The task it belongs to.
        optional task_id: Option<String> = "taskId",
        /// Who speaks.
        required role: Role = "role",
        /// What is said.
        required parts: Vec<Part> = "parts",
        /// Free-form data about it.
        optional metadata: Option<Metadata> = "metadata",
        /// URIs of the extensions that contributed to it.
        optional extensions: Vec<String> = "extensions",
        /// Other tasks that it refers to.
        optional reference_task_ids: Vec<String> = "referenceTaskIds",
    }
}

open_enum! {
    /// Who speaks (specification 4.1.5).
    pub enum Role, "a role such as ROLE_USER" {
        /// Nobody said who.
        Unspecified = "ROLE_UNSPECIFIED",
        /// The client.
        User = "ROLE_USER",
        /// The agent.
        Agent = "ROLE_AGENT",
    }
}

impl Message {
    /// A message with these parts and nothing beside them.
    pub fn new(message_id: impl Into<String>, role: Role, parts: Vec<Part>) -> Self {
        Self {
            message_id: message_id.into(),
            context_id: None,
            task_id: None,
            role,
            parts,
            metadata: None,
            extensions: Vec::new(),
            reference_task_ids: Vec::new(),
            extra: Metadata::new(),
        }
    }

    /// All its text, a line a part.
    pub fn text(&self) -> String {
        let texts: Vec<&str> = self.parts.iter().filter_map(Part::as_text).collect();
        texts.join("\n")
    }
}
