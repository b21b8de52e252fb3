//! Converts `endOfConversation`: the last message, the result, and the reason.

use alloc::{format, vec};

use serde_json::Map;

use super::Output;
use crate::{
    TranslationContext, from_activity, full_activity,
    keys::{EVENT, RESULT},
    structured,
};
use bridge_protocol::{
    a2a::{Artifact, Message, Metadata},
    activity::{Activity, ActivityType},
};

pub(super) fn last_words(
    activity: &Activity,
    turn: &TranslationContext,
    id: &str,
) -> Option<Message> {
    let words = Activity {
        text: activity.text.clone(),
        attachments: activity.attachments.clone(),
        entities: activity.entities.clone(),
        ..Activity::new(ActivityType::Message)
    };
    let has_text = words.text.as_ref().is_some_and(|text| !text.is_empty());
    let says_something = has_text || !words.attachments.is_empty() || !words.entities.is_empty();
    // The whole activity is sent with the state that ends the conversation.
    let turn = TranslationContext { in_full: false, ..turn.clone() };
    says_something.then(|| from_activity::message(&words, &turn, id.into()))
}

/// Returns the value as an artifact.
pub(super) fn result(activity: &Activity, id: &str) -> Option<Output> {
    let (name, description) = RESULT;
    let value = activity.value.as_ref()?;
    let part = structured::value(value, activity.value_type.as_deref());
    Some(Output::Artifact {
        artifact: Artifact {
            name: Some(name.into()),
            description: Some(description.into()),
            ..Artifact::new(format!("{id}.result"), vec![part])
        },
        append: false,
        last_chunk: true,
        metadata: None,
    })
}

/// Returns the fields other than last message and result, above all the code.
pub(super) fn end(activity: &Activity, turn: &TranslationContext) -> Metadata {
    let mut event = from_activity::event(activity, turn);
    for told in ["text", "attachments", "entities", "value", "valueType"] {
        event.remove(told);
    }
    let mut metadata = Map::from_iter([(EVENT.into(), event.into())]);
    full_activity::put(&mut metadata, activity, turn);
    metadata
}
