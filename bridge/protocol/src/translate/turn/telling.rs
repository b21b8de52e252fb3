//! What `endOfConversation` tells: last words, a result, and why.

use alloc::{format, vec};

use serde_json::Map;

use super::Output;
use crate::{
    a2a::{Artifact, Message, Metadata},
    activity::{Activity, ActivityType},
    translate::{
        TurnContext, from_activity,
        keys::{EVENT, RESULT},
        structured, whole,
    },
};

/// What is said at the end, if anything is.
pub(super) fn last_words(activity: &Activity, turn: &TurnContext, id: &str) -> Option<Message> {
    let words = Activity {
        text: activity.text.clone(),
        attachments: activity.attachments.clone(),
        entities: activity.entities.clone(),
        ..Activity::new(ActivityType::Message)
    };
    let has_text = words.text.as_ref().is_some_and(|text| !text.is_empty());
    let says_something = has_text || !words.attachments.is_empty() || !words.entities.is_empty();
    // The whole activity is told with the state that ends the conversation.
    let turn = TurnContext {
        in_full: false,
        ..turn.clone()
    };
    says_something.then(|| from_activity::message(&words, &turn, id.into()))
}

/// The value at the end, as an artifact.
pub(super) fn result(activity: &Activity, id: &str) -> Option<Output> {
    let (name, description) = RESULT;
    let value = activity.value.as_ref()?;
    let part = structured::value(value, activity.value_type.as_deref());
    Some(Output::Artifact {
        artifact: Artifact {
            artifact_id: format!("{id}.result"),
            name: Some(name.into()),
            description: Some(description.into()),
            parts: vec![part],
            metadata: None,
            extensions: vec![],
            extra: Metadata::new(),
        },
        append: false,
        last_chunk: true,
        metadata: None,
    })
}

/// All that the last words and the result do not say: the code, most of all.
pub(super) fn end(activity: &Activity, turn: &TurnContext) -> Metadata {
    let mut event = from_activity::event(activity, turn);
    for told in ["text", "attachments", "entities", "value", "valueType"] {
        event.remove(told);
    }
    let mut metadata = Map::from_iter([(EVENT.into(), event.into())]);
    whole::put(&mut metadata, activity, turn);
    metadata
}
