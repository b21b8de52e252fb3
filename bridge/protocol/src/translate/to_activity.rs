//! Messages, cancels and first contacts to activities.

use alloc::{string::String, vec, vec::Vec};

use super::{
    TurnContext,
    keys::{ADDRESS_FIELDS, FIELDS, JSON, MESSAGE, STREAM},
    media, patch, skeleton, structured, whole,
};
use crate::{
    a2a::{Content, Message, Metadata, Part, Task},
    activity::{Activity, ActivityType, EndOfConversationCode, Entity, StreamInfo},
    wire::{Wire, to_object, to_value},
};

/// The activity that a bot gets for a message of the user. [`super::from_activity::request`] is the way
/// back.
///
/// Texts become `text`, a line a part: they were separate, and without a break the last word of one would
/// run into the first of the next. All other parts become attachments. The only data part, unless it is a card or
/// has a name, becomes `value` too: it may be what the user put into a card. `channelData` is the task, and
/// beside its fields stands the message with all that activities have no fields for. A data part that is marked
/// so makes it an `invoke`. Other marks in metadata are not obeyed here: they come from the user, who must not
/// be able to say who speaks. A message that carries an activity whole gives that one: see [`whole`].
pub fn message(message: &Message, task: &Task, turn: &TurnContext) -> Activity {
    let value = answer(&message.parts);
    let mut activity = turn.request(ActivityType::Message);
    activity.text = text(&message.parts);
    let value_part = value.and_then(|index| message.parts.get(index));
    if let Some(name) = value_part.and_then(structured::as_invoke) {
        activity.kind = ActivityType::Invoke;
        activity.name = Some(name);
    }
    activity.value = value_part.and_then(data);
    // An invoke has its value and nothing beside it.
    let value = value.filter(|_| activity.kind == ActivityType::Invoke);
    let others = message.parts.iter().enumerate();
    let others = others.filter(|(index, part)| part.as_text().is_none() && Some(*index) != value);
    activity.attachments = others.map(|(_, part)| media::plain(part)).collect();
    let mut channel_data = to_object(task);
    // What cannot be read was refused before it came here.
    let Ok(Some(carried)) = whole::carried(message) else {
        channel_data.insert(MESSAGE.into(), skeleton::of(message, value));
        activity.channel_data = Some(channel_data.into());
        return activity;
    };
    channel_data.insert(MESSAGE.into(), to_value(&whole::rest(message)));
    activity.channel_data = Some(channel_data.into());
    whole::readdressed(carried, activity)
}

/// Tells a bot that the user ended the conversation.
pub fn cancel(task: &Task, turn: &TurnContext) -> Activity {
    Activity {
        code: Some(EndOfConversationCode::UserCancelled),
        channel_data: Some(to_value(task)),
        ..turn.request(ActivityType::EndOfConversation)
    }
}

/// Tells a bot that wants to know it that a conversation begins, with itself and the user in it. It needs a
/// turn with an activity id of its own, before that of the first message.
pub fn first_contact(task: &Task, turn: &TurnContext) -> Activity {
    Activity {
        members_added: vec![turn.bot.clone(), turn.user.clone()],
        channel_data: Some(to_value(task)),
        ..turn.request(ActivityType::ConversationUpdate)
    }
}

/// The activity that a bot's message was, for clients that speak activities.
/// [`super::from_activity::message`] is the way back.
///
/// Marks in metadata are obeyed, but for those that say where the activity comes from and goes: that is
/// the turn's to say.
pub fn reply(message: &Message, turn: &TurnContext) -> Activity {
    let plain = to_object(&content(message));
    let mark = message.metadata.as_ref().and_then(|all| all.get(FIELDS));
    let patched = mark.and_then(|mark| patched(&plain, mark.as_object()?));
    let mut fields = turn.answer();
    fields.extend(patched.unwrap_or(plain));
    Activity::read(fields.into()).unwrap_or_default()
}

/// What a mark makes of an activity. Marks come from the network: those that make no activity are as good
/// as none.
fn patched(plain: &Metadata, mark: &Metadata) -> Option<Metadata> {
    let mut mark = mark.clone();
    mark.retain(|key, _| !ADDRESS_FIELDS.contains(&key.as_str()));
    let mut fields = plain.clone();
    patch::apply(&mut fields, &mark);
    Activity::read(fields.clone().into()).ok()?;
    Some(fields)
}

/// What the parts of a message say, and nothing else.
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

/// All texts, a line a part; nothing if there are none.
fn text(parts: &[Part]) -> Option<String> {
    let texts: Vec<&str> = parts.iter().filter_map(Part::as_text).collect();
    Some(texts.join("\n")).filter(|_| !texts.is_empty())
}

/// Where the only data part stands, if it is an answer.
fn answer(parts: &[Part]) -> Option<usize> {
    let mut data = parts
        .iter()
        .enumerate()
        .filter(|(_, part)| matches!(part.content, Content::Data(_)));
    let (index, part) = data.next().filter(|_| data.next().is_none())?;
    let is_json = part.media_type.as_deref().is_none_or(|kind| kind == JSON);
    Some(index).filter(|_| is_json && part.filename.is_none())
}

fn data(part: &Part) -> Option<serde_json::Value> {
    match &part.content {
        Content::Data(data) => Some(data.clone()),
        Content::Text(_) | Content::Raw(_) | Content::Url(_) | Content::Unknown => None,
    }
}

/// Which piece of a stream the message was, if it was one.
fn stream(message: &Message) -> Option<Entity> {
    let mark = message.metadata.as_ref()?.get(STREAM)?;
    let info = StreamInfo::read(mark.clone()).ok()?;
    Some(Entity::from(&info))
}
