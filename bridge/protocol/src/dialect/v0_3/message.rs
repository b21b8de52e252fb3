//! Messages and roles (0.3, section 6.4).

use alloc::string::String;

use serde_json::Value;

use super::part;
use crate::{
    a2a::{Message, Metadata, Role},
    dialect::{
        Losses,
        object::{self, Object},
    },
    wire::{FieldError, Fields, list},
};

/// Reads a message. Its `kind` is implied by its place in 1.0, so it is not kept.
pub fn to_v1(value: Value) -> Result<Message, FieldError> {
    let mut fields = Fields::of(value)?;
    fields.take("kind");
    Ok(Message {
        message_id: fields.required("messageId")?,
        context_id: fields.optional("contextId")?,
        task_id: fields.optional("taskId")?,
        role: fields.required_by("role", role_to_v1)?,
        parts: fields.required_by("parts", |parts| list(parts, part::to_v1))?,
        metadata: fields.optional("metadata")?,
        extensions: fields.optional("extensions")?,
        reference_task_ids: fields.optional("referenceTaskIds")?,
        extra: object::extra(fields, &[], Metadata::new()),
    })
}

/// Writes a message.
pub fn from_v1(message: &Message, losses: &mut Losses) -> Value {
    let mut object = Object::of_kind("message");
    object.put("messageId", message.message_id.as_str());
    object.some("contextId", message.context_id.clone());
    object.some("taskId", message.task_id.clone());
    object.put("role", role_from_v1(&message.role, losses));
    object.put("parts", losses.each("parts", &message.parts, part::from_v1));
    object.some("metadata", message.metadata.clone());
    object.list("extensions", message.extensions.clone());
    object.list("referenceTaskIds", message.reference_task_ids.clone());
    object.finish(&message.extra, &[], losses)
}

pub(crate) fn role_to_v1(value: Value) -> Result<Role, FieldError> {
    match value {
        Value::String(role) => Ok(match role.as_str() {
            "user" => Role::User,
            "agent" => Role::Agent,
            other => Role::from(other),
        }),
        other => Err(FieldError::unexpected("a role such as user", &other)),
    }
}

pub(crate) fn role_from_v1(role: &Role, losses: &mut Losses) -> String {
    match role {
        Role::User => "user".into(),
        Role::Agent => "agent".into(),
        Role::Unspecified | Role::Unknown(_) => {
            losses.add("role", "0.3 has no such role; it is written unchanged");
            role.as_str().into()
        }
    }
}
