//! The original message in `channelData`, without the content that is in the activity.
//!
//! In place of its content a part has `attachment`, the index among the activity's attachments, or
//! `value: true` under [`HOLDS`], with the name of the content's field. Texts are short and stay.

use alloc::string::String;

use serde_json::{Value, json};

use super::{data_uri, keys::HOLDS};
use bridge_protocol::{
    a2a::{Content, Message, Metadata, Part},
    activity::Activity,
    wire::{Wire, to_object, to_value},
};

const PARTS: &str = "parts";
const ATTACHMENT: &str = "attachment";
const VALUE: &str = "value";

/// Returns the skeleton of a message whose part with index `value` is the activity's value.
pub(crate) fn of(message: &Message, value: Option<usize>) -> Value {
    let mut attachments = 0_usize..;
    let parts: Value = message
        .parts
        .iter()
        .enumerate()
        .map(|(index, part)| match (&part.content, kind(&part.content)) {
            (Content::Unknown, _) => {
                attachments.next();
                to_value(part)
            }
            (_, None) => to_value(part),
            (_, Some(kind)) if Some(index) == value => bare(part, kind, VALUE, &true.into()),
            (_, Some(kind)) => bare(part, kind, ATTACHMENT, &attachments.next().into()),
        })
        .collect();
    let mut skeleton = to_object(&Message { parts: alloc::vec::Vec::new(), ..message.clone() });
    skeleton.insert(PARTS.into(), parts);
    skeleton.into()
}

/// Restores the message with the content from the activity.
pub(crate) fn restore(skeleton: &Value, activity: &Activity) -> Option<Message> {
    let mut message = skeleton.as_object()?.clone();
    for part in message.get_mut(PARTS)?.as_array_mut()? {
        fill(part.as_object_mut()?, activity)?;
    }
    Message::read(message.into()).ok()
}

/// Returns the name of the field for content that is replaced by a reference.
fn kind(content: &Content) -> Option<&'static str> {
    match content {
        Content::Raw(_) => Some("raw"),
        Content::Url(_) => Some("url"),
        Content::Data(_) => Some("data"),
        Content::Text(_) | Content::Unknown => None,
    }
}

fn bare(part: &Part, kind: &str, place: &str, at: &Value) -> Value {
    let mut bare = to_object(&Part { content: Content::Unknown, ..part.clone() });
    bare.insert(HOLDS.into(), json!({"content": kind, place: at}));
    bare.into()
}

/// Restores the content of a part. `None` if the reference is invalid.
fn fill(part: &mut Metadata, activity: &Activity) -> Option<()> {
    let Some(holds) = part.remove(HOLDS) else {
        return Some(());
    };
    let kind: String = holds.get("content")?.as_str()?.into();
    let content = match holds.get(ATTACHMENT).and_then(Value::as_u64) {
        None => activity.value.clone().unwrap_or_default(),
        Some(index) => attached(&kind, usize::try_from(index).ok()?, activity)?,
    };
    part.insert(kind, content);
    Some(())
}

fn attached(kind: &str, index: usize, activity: &Activity) -> Option<Value> {
    let attachment = activity.attachments.get(index)?;
    match kind {
        "data" => Some(attachment.content.clone().unwrap_or_default()),
        "url" => attachment.content_url.clone().map(Value::from),
        "raw" => {
            let (_, bytes) = data_uri::read(attachment.content_url.as_deref()?)?;
            let raw = to_object(&Part::new(Content::Raw(bytes)));
            raw.get(kind).cloned()
        }
        _ => None,
    }
}
