//! Converts messages, cancellations and first contacts to activities.

use alloc::{string::String, vec, vec::Vec};

use serde_json::{Value, json};

use super::{
    TranslationContext, full_activity,
    keys::{ADDRESS_FIELDS, FIELDS, HOLDS, JSON, MESSAGE, STREAM, TENANT},
    media, patch, plain_text, structured,
};
use bridge_protocol::{
    a2a::{Content, Message, Metadata, Part, Task},
    activity::{Activity, ActivityType, EndOfConversationCode, Entity, StreamInfo},
    wire::{Wire, to_object, to_value},
};

/// Converts a user's message to the activity for the bot.
///
/// Texts become lines of `text`, since without a break the words of adjacent parts would run together. All
/// other parts become attachments. A single data part becomes also `value`, unless it is a card, has a name or
/// is null, because it may be the input to a card. `channelData` is the task, with the original message beside
/// its fields. A data part marked as such makes the activity an `invoke`. Other marks in metadata are
/// ignored, because they come from the user, who must not change the sender. A message that carries a full
/// activity gives that one: see [`full_activity`].
pub fn message(message: &Message, task: &Task, turn: &TranslationContext) -> Activity {
    let value = answer(&message.parts);
    let mut activity = turn.request(ActivityType::Message);
    activity.text = text(&message.parts);
    let value_part = value.and_then(|index| message.parts.get(index));
    if let Some(name) = value_part.and_then(structured::as_invoke) {
        activity.kind = ActivityType::Invoke;
        activity.name = Some(name);
    }
    let is_invoke = activity.kind == ActivityType::Invoke;
    // Other channels leave out what SDKs take for an object.
    let data = value_part.and_then(Part::as_data).filter(|data| is_invoke || !data.is_null());
    activity.value = data.cloned();
    // An invoke has only its value.
    let value = value.filter(|_| is_invoke);
    let others = message.parts.iter().enumerate();
    let others = others.filter(|(index, part)| part.as_text().is_none() && Some(*index) != value);
    activity.attachments = others.map(|(_, part)| media::plain(part)).collect();
    let mut channel_data = channel_data(task, turn);
    // An unreadable activity was refused earlier.
    let Ok(Some(carried)) = full_activity::carried(message) else {
        channel_data.insert(MESSAGE.into(), skeleton(message, value));
        activity.channel_data = Some(channel_data.into());
        return activity;
    };
    channel_data.insert(MESSAGE.into(), to_value(&full_activity::rest(message)));
    activity.channel_data = Some(channel_data.into());
    full_activity::readdressed(carried, activity)
}

/// Returns the message without the content that is in the activity, whose value is the part with index `value`. In place of
/// its content a part has `attachment`, the index among the activity's attachments, or `value: true` under [`HOLDS`], with the
/// name of the content's field. Texts are short and stay.
fn skeleton(message: &Message, value: Option<usize>) -> Value {
    let mut attachments = 0_usize..;
    let parts = message.parts.iter().enumerate().map(|(index, part)| {
        let kind = match part.content {
            Content::Raw(_) => "raw",
            Content::Url(_) => "url",
            Content::Data(_) => "data",
            Content::Text(_) => return to_value(part),
            // It is an attachment, and not repeated there.
            Content::Unknown => {
                attachments.next();
                return to_value(part);
            }
        };
        let holds = match Some(index) == value {
            true => json!({"content": kind, "value": true}),
            false => json!({"content": kind, "attachment": attachments.next()}),
        };
        let mut bare = to_object(&Part { content: Content::Unknown, ..part.clone() });
        bare.insert(HOLDS.into(), holds);
        bare.into()
    });
    let parts: Value = parts.collect();
    let mut skeleton = to_object(&Message { parts: Vec::new(), ..message.clone() });
    skeleton.insert("parts".into(), parts);
    skeleton.into()
}

/// Returns the task as channel data. Teams adds the tenant of the conversation.
fn channel_data(task: &Task, turn: &TranslationContext) -> Metadata {
    let mut channel_data = to_object(task);
    if let Some(tenant) = &turn.conversation.tenant_id {
        channel_data.insert(TENANT.into(), json!({ "id": tenant }));
    }
    channel_data
}

/// Returns the activity that the user ended the conversation.
pub fn cancel(task: &Task, turn: &TranslationContext) -> Activity {
    Activity {
        code: Some(EndOfConversationCode::UserCancelled),
        channel_data: Some(channel_data(task, turn).into()),
        ..turn.request(ActivityType::EndOfConversation)
    }
}

/// Returns the activity that a conversation begins, with the bot and the user as members. It needs a turn with its own
/// activity id, before that of the first message.
pub fn first_contact(task: &Task, turn: &TranslationContext) -> Activity {
    Activity {
        members_added: vec![turn.bot.clone(), turn.user.clone()],
        channel_data: Some(channel_data(task, turn).into()),
        ..turn.request(ActivityType::ConversationUpdate)
    }
}

/// Restores the activity from a bot's message, for clients that use activities.
/// [`super::from_activity::message`] is the inverse.
///
/// Marks in metadata are applied, except for sender and receiver, which come from the turn.
pub fn reply(message: &Message, turn: &TranslationContext) -> Activity {
    let plain = to_object(&content(message));
    let mark = message.metadata.as_ref().and_then(|all| all.get(FIELDS));
    let patched = mark.and_then(|mark| patched(&plain, mark.as_object()?));
    let mut fields = turn.answer();
    fields.extend(patched.unwrap_or(plain));
    Activity::read(fields.into()).unwrap_or_default()
}

/// Applies a mark to an activity. Marks come from the network; `None` if the result is no activity.
fn patched(plain: &Metadata, mark: &Metadata) -> Option<Metadata> {
    let mut mark = mark.clone();
    mark.retain(|key, _| !ADDRESS_FIELDS.contains(&key.as_str()));
    let mut fields = plain.clone();
    patch::apply(&mut fields, &mark);
    Activity::read(fields.clone().into()).ok()?;
    Some(fields)
}

/// Returns the activity made from the parts of a message alone.
pub(crate) fn content(message: &Message) -> Activity {
    let mut activity = Activity {
        id: Some(message.message_id.clone()),
        text: text(&message.parts),
        entities: stream(message).into_iter().collect(),
        ..Activity::new(ActivityType::Message)
    };
    for part in message.parts.iter().filter(|part| part.as_text().is_none()) {
        if let Some((value, value_type)) = structured::as_value(part) {
            (activity.value, activity.value_type) = (Some(value), value_type);
        } else if let Some(entity) = structured::as_entity(part) {
            activity.entities.push(entity);
        } else {
            activity.attachments.push(media::attachment(part));
        }
    }
    activity
}

/// Returns all texts as lines; `None` if there are none.
fn text(parts: &[Part]) -> Option<String> {
    let own = parts.iter().filter(|part| !plain_text::is_repeated(part));
    let texts: Vec<&str> = own.filter_map(Part::as_text).collect();
    Some(texts.join("\n")).filter(|_| !texts.is_empty())
}

/// Returns the index of the only data part, if it is the input to a card.
fn answer(parts: &[Part]) -> Option<usize> {
    let mut data = parts.iter().enumerate().filter(|(_, part)| part.as_data().is_some());
    let (index, part) = data.next().filter(|_| data.next().is_none())?;
    let is_json = part.media_type.as_deref().is_none_or(|kind| kind == JSON);
    Some(index).filter(|_| is_json && part.filename.is_none())
}

/// Returns the stream that the message was a piece of, if any.
fn stream(message: &Message) -> Option<Entity> {
    let mark = message.metadata.as_ref()?.get(STREAM)?;
    let info = StreamInfo::read(mark.clone()).ok()?;
    Some(Entity::from(&info))
}
