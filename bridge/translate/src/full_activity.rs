//! The extension that carries activities in full, beside the parts made from them.
//!
//! URI: [`EXTENSION`]. Agents that are bots offer it in their card. It is in use for a turn whose message
//! lists it in `extensions`; the bridge adds it there for clients that send `A2A-Extensions` (specification
//! 4.6). Then, with the URI as key:
//!
//! - the metadata of each message and artifact piece from the bot has the original activity, and so has that
//!   of a task for an activity that is not a message;
//! - the metadata of the client's message may have an activity, which the bot gets instead of one made from
//!   the parts. The bridge sets its address: `id`, `timestamp`, `channelId`, `from`, `recipient`,
//!   `conversation`, `deliveryMode` and `serviceUrl` are those of the turn. Missing members of its
//!   `channelData` are added.
//!
//! Such an activity never has a `serviceUrl`, which is a secret between channel and bot. Parts are written as
//! usual, so that clients without the extension miss nothing.

use alloc::{
    string::{String, ToString},
    vec::Vec,
};

use serde_json::Value;

use super::{
    TranslationContext,
    keys::{SERVICE_URL, TENANT},
    service_url::without_secret,
};
use bridge_protocol::{
    a2a::{Message, Metadata, Role, Task},
    activity::{Activity, ActivityType},
    wire::{FieldError, Wire, to_object},
};

/// The extension's URI, and the key in metadata.
pub const EXTENSION: &str = "urn:a2a-evaluation:activity:v1";

/// Returns whether the extension is in use for the next output of a task: its last user message lists it.
pub fn is_wanted(task: &Task) -> bool {
    let mut messages = task.history.iter().rev();
    let last = messages.find(|message| message.role == Role::User);
    last.is_some_and(is_used)
}

/// Returns whether a message lists the extension.
pub fn is_used(message: &Message) -> bool {
    message.extensions.iter().any(|uri| uri == EXTENSION)
}

/// Returns the activity that a client's message carries, if any.
///
/// # Errors
/// Returns an error if the value is no activity, or one that only a channel may send, about members or
/// endings.
pub fn carried(message: &Message) -> Result<Option<Activity>, FieldError> {
    const SAYABLE: &str =
        "an activity that a user can send, such as a message, an event or an invoke";
    let metadata = message.metadata.as_ref().filter(|_| is_used(message));
    let Some(value) = metadata.and_then(|metadata| metadata.get(EXTENSION)) else {
        return Ok(None);
    };
    let inside = |error: FieldError| error.inside(EXTENSION).inside("metadata").inside("message");
    let activity = Activity::read(value.clone()).map_err(inside)?;
    match is_sayable(&activity.kind) {
        true => Ok(Some(activity)),
        false => {
            let found = activity.kind.to_string();
            Err(inside(FieldError::new(SAYABLE, found).inside("type")))
        }
    }
}

/// The types of activities that come from the channel. Bots rely on that.
const OF_CHANNEL: [&str; 8] = [
    "contactRelationUpdate",
    "conversationUpdate",
    "endOfConversation",
    "invokeResponse",
    "deleteUserData",
    "messageUpdate",
    "messageDelete",
    "installationUpdate",
];

/// Returns whether a user may send an activity of this type. For some SDKs, a type has neither case nor what follows a slash.
fn is_sayable(kind: &ActivityType) -> bool {
    let kind = kind.as_str().split('/').next().unwrap_or_default();
    !OF_CHANNEL.iter().any(|one| one.eq_ignore_ascii_case(kind))
}

/// Returns the carried activity with the address of the one made from the parts.
pub(super) fn readdressed(carried: Activity, made: Activity) -> Activity {
    let channel_data = match (made.channel_data, carried.channel_data) {
        (Some(Value::Object(mut ours)), Some(Value::Object(mut theirs))) => {
            // Bots decide by the tenant what a user may do.
            if ours.contains_key(TENANT) {
                theirs.remove(TENANT);
            }
            ours.extend(theirs);
            Some(Value::Object(ours))
        }
        (ours, theirs) => theirs.or(ours),
    };
    Activity {
        id: made.id,
        timestamp: made.timestamp,
        service_url: made.service_url,
        channel_id: made.channel_id,
        from: made.from,
        recipient: made.recipient,
        conversation: made.conversation,
        delivery_mode: made.delivery_mode,
        caller_id: made.caller_id,
        channel_data,
        ..carried
    }
}

/// Returns the message without the parts, which repeat the activity that it carries.
pub(super) fn rest(message: &Message) -> Message {
    let mut rest = Message { parts: Vec::new(), ..message.clone() };
    rest.metadata.as_mut().and_then(|all| all.remove(EXTENSION));
    rest
}

/// Adds the activity to metadata, if the extension is in use for the turn.
pub(super) fn put(metadata: &mut Metadata, activity: &Activity, turn: &TranslationContext) {
    if turn.in_full {
        let mut fields = to_object(activity);
        fields.remove(SERVICE_URL);
        without_secret(&mut fields, &turn.service_url);
        metadata.insert(EXTENSION.into(), fields.into());
    }
}

/// Lists the extension in a message that carries an activity.
pub(super) fn name(message: &mut Message, turn: &TranslationContext) {
    if turn.in_full {
        message.extensions.push(String::from(EXTENSION));
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use bridge_protocol::wire::to_value;

    fn message(carried: &Value) -> Message {
        Message::read(json!({
            "messageId": "m", "role": "ROLE_USER", "parts": [{"text": "hi"}],
            "extensions": [EXTENSION], "metadata": {EXTENSION: carried},
        }))
        .unwrap()
    }

    #[test]
    fn only_a_message_that_lists_the_extension_carries_an_activity() {
        let event = json!({"type": "event", "name": "ping"});
        let mut message = message(&event);
        let carried = super::carried(&message).unwrap().unwrap();
        assert_eq!(to_value(&carried), event);
        message.extensions.clear();
        assert_eq!(super::carried(&message), Ok(None));
    }

    #[test]
    fn an_activity_that_users_may_not_send_is_refused_with_its_field() {
        for (carried, error) in [
            (json!({}), "type: expected a type of activity such as message, found nothing"),
            (json!({"type": "message", "text": 7}), "text: expected a string, found the number 7"),
            (
                json!({"type": "conversationUpdate"}),
                "type: expected an activity that a user can send, such as a message, an event or an \
                 invoke, found conversationUpdate",
            ),
            (
                json!({"type": "EndOfConversation/x"}),
                "type: expected an activity that a user can send, such as a message, an event or an \
                 invoke, found EndOfConversation/x",
            ),
        ] {
            let refused = super::carried(&message(&carried)).unwrap_err();
            assert_eq!(refused.to_string(), std::format!("message.metadata.{EXTENSION}.{error}"));
        }
    }
}
