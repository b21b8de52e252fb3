//! Reads ProtoJSON of 0.3. Fields are accepted under their JSON names and their names in the proto, which the
//! SDK for Python writes.

use alloc::{string::String, vec::Vec};

use base64::{Engine as _, prelude::BASE64_STANDARD};
use serde_json::Value;

use super::push;
use crate::{
    a2a::{
        Content, Message, Metadata, Part, SendMessageConfiguration, SendMessageRequest,
        decode_base64,
    },
    dialect::{
        object,
        v0_3::{data, labels, message::role_to_v1},
    },
    wire::{FieldError, Fields, list},
};

/// Returns whether the parameters of a send are in this form rather than in that of JSON-RPC.
pub fn is_like(params: &Value) -> bool {
    let message = params.get("message").or_else(|| params.get("request"));
    message.is_some_and(|message| message.get("content").is_some())
}

/// Reads the body of `message:send` and `message:stream`.
pub fn send_to_v1(value: Value) -> Result<SendMessageRequest, FieldError> {
    let mut fields = Fields::of(value)?;
    // `request` is the field's name in the proto, which ProtoJSON readers accept too.
    let name = match fields.has("request") {
        true => "request",
        false => "message",
    };
    Ok(SendMessageRequest {
        tenant: fields.text("tenant"),
        message: fields.required_by(name, message_to_v1)?,
        configuration: fields.optional_by("configuration", configuration_to_v1)?,
        metadata: fields.optional("metadata")?,
        extra: object::extra(fields, &["tenant"], Metadata::new()),
    })
}

/// Reads the configuration. Proto fields have no absence: a history length of 0 means the whole history, and
/// a missing `blocking` means to answer at once.
fn configuration_to_v1(value: Value) -> Result<SendMessageConfiguration, FieldError> {
    let mut fields = Fields::of(value)?;
    let history: i32 =
        fields.either("historyLength", "history_length").optional("historyLength")?;
    let blocking: bool = fields.optional("blocking")?;
    Ok(SendMessageConfiguration {
        accepted_output_modes: fields
            .either("acceptedOutputModes", "accepted_output_modes")
            .optional("acceptedOutputModes")?,
        task_push_notification_config: fields
            .either("pushNotification", "push_notification")
            .optional_by("pushNotification", push::config_to_v1)?,
        history_length: Some(history).filter(|length| *length != 0),
        return_immediately: !blocking,
        extra: object::extra(fields, &["returnImmediately"], Metadata::new()),
    })
}

/// Reads a message.
pub(super) fn message_to_v1(value: Value) -> Result<Message, FieldError> {
    let mut fields = Fields::of(value)?;
    Ok(Message {
        message_id: fields.either("messageId", "message_id").required("messageId")?,
        context_id: text(fields.either("contextId", "context_id"), "contextId")?,
        task_id: text(fields.either("taskId", "task_id"), "taskId")?,
        role: fields.required_by("role", role_to_v1)?,
        parts: fields.required_by("content", |parts| list(parts, part_to_v1))?,
        metadata: fields.optional("metadata")?,
        extensions: fields.optional("extensions")?,
        reference_task_ids: fields
            .either("referenceTaskIds", "reference_task_ids")
            .optional("referenceTaskIds")?,
        extra: object::extra(fields, &["parts"], Metadata::new()),
    })
}

/// Reads a text; an empty one counts as absent.
pub(super) fn text(fields: &mut Fields, key: &str) -> Result<Option<String>, FieldError> {
    let text: Option<String> = fields.optional(key)?;
    Ok(text.filter(|text| !text.is_empty()))
}

/// Reads a part: one of `text`, `file` and `data`.
pub(super) fn part_to_v1(value: Value) -> Result<Part, FieldError> {
    const KINDS: &str = "exactly one of text, file, data";
    let mut fields = Fields::of(value)?;
    let metadata = fields.optional("metadata")?;
    let held = ["text", "file", "data"].map(|kind| fields.has(kind));
    let part = match held {
        [true, false, false] => Part::text(fields.required::<String>("text")?),
        [false, true, false] => fields.required_by("file", file_to_v1)?,
        [false, false, true] => return data_to_v1(fields, metadata),
        [false, false, false] => return Err(FieldError::new(KINDS, "none of them")),
        _ => return Err(FieldError::new(KINDS, "several of them")),
    };
    Ok(Part { metadata, ..part })
}

fn data_to_v1(mut fields: Fields, metadata: Option<Metadata>) -> Result<Part, FieldError> {
    let object =
        fields.required_by("data", |data| Fields::of(data)?.required::<Metadata>("data"))?;
    let (data, metadata) = data::unwrap(object.into(), metadata);
    let mut part = Part { metadata, ..Part::data(data) };
    labels::read(&mut part);
    Ok(part)
}

/// Reads the content of a file. The SDKs for Python, Java and Go write it in base64 twice, the one for JavaScript once, as
/// `a2a.proto` has it: content that is base64 itself is taken for the former.
fn content(text: &str) -> Result<Vec<u8>, FieldError> {
    let content = decode_base64(text)?;
    Ok(BASE64_STANDARD.decode(&content).unwrap_or(content))
}

fn file_to_v1(value: Value) -> Result<Part, FieldError> {
    const PLACES: &str = "exactly one of fileWithBytes, fileWithUri";
    let mut fields = Fields::of(value)?;
    let places = (
        text(fields.either("fileWithBytes", "file_with_bytes"), "fileWithBytes")?,
        text(fields.either("fileWithUri", "file_with_uri"), "fileWithUri")?,
    );
    let content = match places {
        (Some(bytes), None) => {
            content(&bytes).map(Content::Raw).map_err(|error| error.inside("fileWithBytes"))?
        }
        (None, Some(uri)) => Content::Url(uri),
        (None, None) => return Err(FieldError::new(PLACES, "neither")),
        (Some(_), Some(_)) => return Err(FieldError::new(PLACES, "both")),
    };
    Ok(Part {
        content,
        filename: text(&mut fields, "name")?,
        media_type: text(fields.either("mimeType", "mime_type"), "mimeType")?,
        ..Part::text("")
    })
}
