//! Restores the user's message from the activity that was made from it, as a bot can.

use bridge_protocol::{a2a::Message, activity::Activity, wire::Wire as _};
use bridge_translate::keys::{HOLDS, MESSAGE};
use serde_json::Value;

/// Returns the message from which the activity was made. `None` if a reference in it is invalid.
pub(crate) fn of(activity: &Activity) -> Option<Message> {
    let mut message = activity.channel_data.as_ref()?.get(MESSAGE)?.clone();
    for part in message.get_mut("parts")?.as_array_mut()? {
        let part = part.as_object_mut()?;
        let Some(holds) = part.remove(HOLDS) else {
            continue;
        };
        let kind = holds.get("content")?.as_str()?;
        let content = match holds.get("attachment").and_then(Value::as_u64) {
            None => activity.value.clone().unwrap_or_default(),
            Some(index) => attached(kind, usize::try_from(index).ok()?, activity)?,
        };
        part.insert(kind.to_owned(), content);
    }
    Message::read(message).ok()
}

fn attached(kind: &str, index: usize, activity: &Activity) -> Option<Value> {
    let attachment = activity.attachments.get(index)?;
    match kind {
        "data" => Some(attachment.content.clone().unwrap_or_default()),
        "url" => attachment.content_url.clone().map(Value::from),
        "raw" => {
            let (_, bytes) = attachment.content_url.as_deref()?.split_once(";base64,")?;
            Some(bytes.into())
        }
        _ => None,
    }
}
