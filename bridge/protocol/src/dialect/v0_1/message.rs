//! Messages and roles.

use alloc::string::String;

use serde_json::Value;

use super::{
    identity::{self, MessageId},
    part, python,
};
use crate::{
    a2a::{Message, Metadata},
    dialect::{
        Losses, object,
        v0_3::{Form, message as v0_3},
    },
    wire::{FieldError, Fields, Wire, list},
};

/// Reads a message; `id` is the source of its id if it has none.
///
/// # Errors
/// If a field is missing or invalid: its path, and what was expected there.
pub fn to_v1(value: Value, id: MessageId<'_>) -> Result<Message, FieldError> {
    let mut fields: Metadata = Wire::read(value)?;
    python::rewrite_message(&mut fields);
    let mut fields = Fields::of(Value::Object(fields))?;
    let own = fields.filled("messageId")?;
    let mut message = Message {
        message_id: String::new(),
        context_id: fields.filled("contextId")?,
        task_id: fields.filled("taskId")?,
        role: fields.required_by("role", v0_3::role_to_v1)?,
        parts: fields.required_by("parts", |parts| list(parts, part::to_v1))?,
        metadata: fields.optional("metadata")?,
        extensions: fields.optional("extensions")?,
        reference_task_ids: fields.optional("referenceTaskIds")?,
        extra: object::V0_1.extra(fields, &[], Metadata::new()),
    };
    let own = own.or_else(|| python::message_id(&message).map(String::from));
    message.message_id = own.unwrap_or_else(|| id.of(&message));
    Ok(message)
}

/// Writes a message, which belongs to `task` unless it is a request. The id is left out if a reader would
/// compute the same one.
pub fn from_v1(message: &Message, task: Option<&str>, losses: &mut Losses) -> Value {
    let mut object = object::V0_1.object();
    let id = message.message_id.as_str();
    let found = match python::message_id(message) {
        Some(own) => own == id,
        None => task.is_some_and(|task| identity::made(task, message) == id),
    };
    object.some("messageId", Some(id).filter(|_| !found));
    object.some("contextId", message.context_id.clone());
    object.some("taskId", message.task_id.clone());
    let role = losses.as_v0_3(|losses| v0_3::role_from_v1(&message.role, Form::JsonRpc, losses));
    object.put("role", role);
    object.put("parts", losses.each("parts", &message.parts, part::from_v1));
    object.some("metadata", message.metadata.clone());
    object.skipped("extensions", Some(message.extensions.clone()), losses);
    object.skipped("referenceTaskIds", Some(message.reference_task_ids.clone()), losses);
    object.finish(&message.extra, &["messageId"], losses)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn an_id_is_found_or_given() {
        for (own, id) in [
            (json!({}), "given"),
            (json!({"messageId": ""}), "given"),
            (json!({"messageId": "a"}), "a"),
            (json!({"message_id": "b"}), "b"),
            (json!({"metadata": {"message_id": "c"}}), "c"),
            (json!({"messageId": "a", "message_id": "b"}), "a"),
        ] {
            let mut message = json!({"role": "user", "parts": [{"type": "text", "text": "hi"}]});
            message.as_object_mut().unwrap().extend(own.as_object().unwrap().clone());
            let read = to_v1(message, MessageId::Given("given")).unwrap();
            assert_eq!(read.message_id, id, "{own}");
            let written = from_v1(&read, None, &mut Losses::new());
            let again = to_v1(written, MessageId::Given("another")).unwrap();
            assert_eq!(again, read, "{own}");
        }
    }

    #[test]
    fn an_id_that_was_made_is_not_written() {
        let message = json!({"role": "agent", "parts": [{"type": "text", "text": "hi"}]});
        let read = to_v1(message.clone(), MessageId::Made { task: "t" }).unwrap();
        assert!(read.message_id.starts_with("t:"), "{}", read.message_id);
        assert_eq!(from_v1(&read, Some("t"), &mut Losses::new()), message);
        // In another task the computed id would differ.
        let elsewhere = from_v1(&read, Some("u"), &mut Losses::new());
        assert_eq!(elsewhere["messageId"], read.message_id);
    }

    #[test]
    fn the_content_of_python_a2a_becomes_parts() {
        let parts = |message: Value| {
            let read = to_v1(message, MessageId::Given("m")).unwrap();
            from_v1(&read, None, &mut Losses::new())["parts"].clone()
        };
        let content = json!({"type": "text", "text": "hi"});
        assert_eq!(parts(json!({"role": "user", "content": content})), json!([content]));
        let error = json!([{"type": "data", "data": {"error": "it broke"}}]);
        assert_eq!(parts(json!({"error": "it broke"})), error);
    }
}
