//! Reads quotes of other messages, as bots on the Teams SDK write them.
//!
//! Such a bot quotes the user's message in each reply: an entity `quotedReply` names the message, and a
//! placeholder in the text, `<quoted messageId="ID"/>`, says where Teams shows it. Other clients would show
//! the placeholder as text.

use alloc::{format, string::String};

use serde_json::Value;

use bridge_protocol::activity::{Activity, Entity};

/// The most quotes whose placeholders are removed: each is looked for in the whole text.
const MOST_QUOTES: usize = 256;

/// Returns the id of the message that the entity quotes, if it is a quote.
pub(crate) fn quoted(entity: &Entity) -> Option<&str> {
    let quote = entity.extra.get("quotedReply")?;
    let id = quote.get("messageId").and_then(Value::as_str)?;
    (entity.kind == "quotedReply").then_some(id)
}

/// Returns the activity's text without the placeholders of its quotes.
pub(crate) fn text(activity: &Activity) -> Option<String> {
    let text = activity.text.clone()?;
    let mut quotes = activity.entities.iter().filter_map(quoted).take(MOST_QUOTES).peekable();
    if quotes.peek().is_none() {
        return Some(text);
    }
    let text =
        quotes.fold(text, |text, id| text.replace(&format!("<quoted messageId=\"{id}\"/>"), ""));
    Some(text.trim().into())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use bridge_protocol::wire::Wire as _;

    #[test]
    fn placeholders_leave_the_text_if_an_entity_says_the_same() {
        let quote = json!({"type": "quotedReply", "quotedReply": {"messageId": "1"}});
        let broken = json!({"type": "quotedReply", "quotedReply": "1"});
        for (text, entities, expected) in [
            ("<quoted messageId=\"1\"/> You said: hi", json!([quote]), "You said: hi"),
            ("<quoted messageId=\"1\"/>", json!([quote]), ""),
            (
                "<quoted messageId=\"2\"/> no entity",
                json!([quote]),
                "<quoted messageId=\"2\"/> no entity",
            ),
            (" <quoted messageId=\"1\"/> a text ", json!([]), " <quoted messageId=\"1\"/> a text "),
            (
                "<quoted messageId=\"1\"/> broken",
                json!([broken]),
                "<quoted messageId=\"1\"/> broken",
            ),
        ] {
            let activity = json!({"type": "message", "text": text, "entities": entities});
            let activity = Activity::read(activity).unwrap();
            assert_eq!(super::text(&activity).as_deref(), Some(expected), "{text}");
        }
    }
}
