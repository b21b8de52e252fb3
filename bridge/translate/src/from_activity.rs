//! Converts activities to messages.

use alloc::{string::String, vec::Vec};

use super::{
    TranslationContext, full_activity,
    keys::{ADDRESS, ADDRESS_FIELDS, FIELDS, SERVICE_URL, STREAM},
    markup, media, patch, plain_text, quote,
    service_url::without_secret,
    sign_in, structured, to_activity,
};
use bridge_protocol::{
    a2a::{Message, Metadata, Part, Role},
    activity::{Activity, Entity, StreamInfo},
    wire::to_object,
};

/// Converts a bot's activity to a message of the turn's task. [`to_activity::reply`] is the inverse.
///
/// Text, value, attachments and entities become parts, in this order; everything else goes into the metadata.
pub fn message(activity: &Activity, turn: &TranslationContext, message_id: String) -> Message {
    let mut message = Message {
        context_id: Some(turn.context_id.clone()),
        task_id: Some(turn.task_id.clone()),
        ..Message::new(message_id, Role::Agent, parts(activity, turn))
    };
    let mut metadata = metadata(activity, turn, &mut message);
    full_activity::put(&mut metadata, activity, turn);
    full_activity::name(&mut message, turn);
    message.metadata = Some(metadata).filter(|metadata| !metadata.is_empty());
    message
}

/// Returns the activity as data, without the fields common to its turn and without the service URL.
pub(crate) fn event(activity: &Activity, turn: &TranslationContext) -> Metadata {
    let answer = turn.answer();
    let mut fields = to_object(activity);
    fields.retain(|key, value| {
        key == "type" || (key != SERVICE_URL && answer.get(key) != Some(value))
    });
    without_secret(&mut fields, &turn.service_url);
    fields
}

/// Returns the parts of a message. An empty message gets an empty text, because it needs a part.
fn parts(activity: &Activity, turn: &TranslationContext) -> Vec<Part> {
    let mut parts: Vec<Part> = content(activity, turn).collect();
    if parts.is_empty() {
        parts.push(Part::text(""));
    }
    parts
}

fn content(activity: &Activity, turn: &TranslationContext) -> impl Iterator<Item = Part> {
    let text = sign_in::words(activity).or_else(|| markup::text(activity));
    let text = text.filter(|text| !text.is_empty());
    let value_type = activity.value_type.as_deref();
    let value = activity.value.as_ref();
    let value = value.map(move |value| structured::value(value, value_type));
    let attachments = activity.attachments.iter().map(media::part);
    // Whoever gets the whole activity has its cards and buttons.
    let mut plain = plain_text::part(activity).filter(|_| !turn.in_full);
    if text.is_some() {
        plain.iter_mut().for_each(plain_text::apart);
    }
    text.map(Part::text)
        .into_iter()
        .chain(plain)
        .chain(value)
        .chain(attachments)
        .chain(entities(activity, turn))
}

/// Returns all entities except those that the text or the task already shows: `streaminfo`, mentions, a quote of the answered
/// message, and a label, such as that a model has written the text. An empty `streaminfo` shows nothing.
fn entities(activity: &Activity, turn: &TranslationContext) -> impl Iterator<Item = Part> {
    let is_empty = |entity: &Entity| entity.kind == StreamInfo::KIND && entity.extra.is_empty();
    let stream = activity.entities.iter().position(|entity| entity.stream_info().is_some());
    let others = activity.entities.iter().enumerate();
    others
        .filter(move |(index, entity)| Some(*index) != stream && !is_empty(entity))
        .filter(|(_, entity)| quote::quoted(entity) != Some(turn.activity_id.as_str()))
        .filter(|(_, entity)| !(markup::is_mention(entity) || is_label(entity)))
        .map(|(_, entity)| structured::entity(entity))
}

/// Returns whether the entity is a label of the text itself, without citations.
fn is_label(entity: &Entity) -> bool {
    entity.kind == "https://schema.org/Message" && entity.citations().is_empty()
}

/// Returns the fields that are missing when the parts are converted back.
fn metadata(activity: &Activity, turn: &TranslationContext, message: &mut Message) -> Metadata {
    let mut metadata = Metadata::new();
    if let Some(info) = activity.stream_info() {
        metadata.insert(STREAM.into(), to_object(&info).into());
        message.metadata = Some(metadata.clone());
    }
    let plain = to_object(&to_activity::content(message));
    let (mut fields, mut address) = (Metadata::new(), Metadata::new());
    let answer = turn.answer();
    for (key, value) in patch::diff(&plain, &to_object(activity)) {
        match key.as_str() {
            SERVICE_URL => {}
            key if answer.get(key) == Some(&value) => {}
            // Every message has an id, so a missing one is not recorded.
            "id" if value.is_null() => {}
            key if ADDRESS_FIELDS.contains(&key) => drop(address.insert(key.into(), value)),
            key => drop(fields.insert(key.into(), value)),
        }
    }
    for (key, mut some) in [(FIELDS, fields), (ADDRESS, address)] {
        without_secret(&mut some, &turn.service_url);
        if !some.is_empty() {
            metadata.insert(key.into(), some.into());
        }
    }
    metadata
}
