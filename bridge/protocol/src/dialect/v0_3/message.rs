//! Messages and roles (0.3, section 6.4).

use serde_json::Value;

use super::Form;
use crate::{
    a2a::{Message, Metadata, Role},
    dialect::{Losses, object},
    wire::{FieldError, Fields},
};

/// Reads a message. Its `kind` is implied by its place in 1.0, so it is not kept.
///
/// # Errors
/// If a field is missing or invalid: its path, and what was expected there.
pub fn to_v1(value: Value, form: Form) -> Result<Message, FieldError> {
    let mut fields = Fields::of(value)?;
    fields.take("kind");
    Ok(Message {
        message_id: fields.either("messageId", "message_id").required("messageId")?,
        context_id: fields.either("contextId", "context_id").filled("contextId")?,
        task_id: fields.either("taskId", "task_id").filled("taskId")?,
        role: fields.required_by("role", role_to_v1)?,
        parts: form.parts_to_v1(&mut fields, form.content())?,
        metadata: fields.optional("metadata")?,
        extensions: fields.optional("extensions")?,
        reference_task_ids: fields
            .either("referenceTaskIds", "reference_task_ids")
            .optional("referenceTaskIds")?,
        extra: object::extra(fields, &["parts"], Metadata::new()),
    })
}

/// Writes a message.
pub fn from_v1(message: &Message, form: Form, losses: &mut Losses) -> Value {
    let mut object = form.object("message");
    object.put("messageId", message.message_id.as_str());
    object.some("contextId", message.context_id.clone());
    object.some("taskId", message.task_id.clone());
    object.put("role", role_from_v1(&message.role, form, losses));
    object.put(form.content(), form.parts_from_v1(&message.parts, losses));
    object.some("metadata", message.metadata.clone());
    object.list("extensions", message.extensions.clone());
    let references = message.reference_task_ids.clone();
    match form {
        Form::JsonRpc => object.list("referenceTaskIds", references),
        Form::Proto => object.skipped("referenceTaskIds", Some(references), losses),
    }
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

pub(crate) fn role_from_v1<'r>(role: &'r Role, form: Form, losses: &mut Losses) -> &'r str {
    match (role, form) {
        (Role::User, Form::JsonRpc) => "user",
        (Role::Agent, Form::JsonRpc) => "agent",
        (Role::User | Role::Agent | Role::Unspecified, Form::Proto) => role.as_str(),
        (Role::Unknown(_), Form::Proto) => {
            losses.add("role", "0.3 has no such role; it is written as unspecified");
            "ROLE_UNSPECIFIED"
        }
        (Role::Unspecified | Role::Unknown(_), Form::JsonRpc) => {
            losses.add("role", "0.3 has no such role; it is written unchanged");
            role.as_str()
        }
    }
}
