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
    a2a::{Artifact, Message, Metadata, TaskState},
    activity::{Activity, ActivityType, EndOfConversationCode},
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

const SKILL_ERROR: &str = "SkillError";

/// Returns the task state after `endOfConversation` with this code.
pub(super) fn state(code: Option<&EndOfConversationCode>) -> TaskState {
    use EndOfConversationCode as Code;
    match code {
        Some(
            Code::Error
            | Code::ChannelFailed
            | Code::TimedOut
            | Code::BotTimedOut
            | Code::BotIssuedInvalidMessage
            | Code::AgentIssuedInvalidMessage,
        ) => TaskState::Failed,
        // The bots of all SDKs' skill samples end so when they break down.
        Some(Code::Unknown(name)) if **name == *SKILL_ERROR => TaskState::Failed,
        Some(Code::UserCancelled) => TaskState::Canceled,
        Some(Code::CompletedSuccessfully | Code::Unspecified | Code::Unknown(_)) | None => {
            TaskState::Completed
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_code_of_both_sets_has_its_state() {
        for (code, expected) in [
            ("error", TaskState::Failed),
            ("channelFailed", TaskState::Failed),
            ("timedOut", TaskState::Failed),
            ("botTimedOut", TaskState::Failed),
            ("botIssuedInvalidMessage", TaskState::Failed),
            ("agentIssuedInvalidMessage", TaskState::Failed),
            ("SkillError", TaskState::Failed),
            ("userCancelled", TaskState::Canceled),
            ("completedSuccessfully", TaskState::Completed),
            ("unknown", TaskState::Completed),
            ("x-vendor", TaskState::Completed),
        ] {
            assert_eq!(state(Some(&code.into())), expected, "{code}");
        }
        assert_eq!(state(None), TaskState::Completed);
    }
}
