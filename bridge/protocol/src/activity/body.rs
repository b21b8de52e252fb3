//! The activity itself (Activity specification, "Basic activity structure").

use alloc::{string::String, vec::Vec};

use serde_json::Value;

use super::{
    ActivityType, Attachment, AttachmentLayout, ChannelAccount, ConversationAccount,
    ConversationReference, DeliveryMode, EndOfConversationCode, Entity, Importance, InputHint,
    MessageReaction, SemanticAction, StreamInfo, SuggestedActions, TextFormat, TextHighlight,
};
use crate::wire::object;

object! {
    /// Something that happens in a conversation.
    #[derive(Default)]
    pub struct Activity {
        /// What it is; decides which of the other fields have a meaning.
        required kind: ActivityType = "type",
        /// Given by the channel.
        optional id: Option<String> = "id",
        /// When it was sent, RFC 3339 in UTC.
        optional timestamp: Option<String> = "timestamp",
        /// When it was sent, RFC 3339 in the sender's own time.
        optional local_timestamp: Option<String> = "localTimestamp",
        /// The sender's time zone, such as `Europe/Berlin`.
        optional local_timezone: Option<String> = "localTimezone",
        /// The bot that calls this bot.
        optional caller_id: Option<String> = "callerId",
        /// Where the channel takes answers. It is a secret between the channel and the bot.
        optional service_url: Option<String> = "serviceUrl",
        /// The channel, such as `a2a` or `webchat`.
        optional channel_id: Option<String> = "channelId",
        /// Who sends it.
        optional from: Option<ChannelAccount> = "from",
        /// Where it belongs.
        optional conversation: Option<ConversationAccount> = "conversation",
        /// To whom it is sent.
        optional recipient: Option<ChannelAccount> = "recipient",
        /// How `text` is written.
        optional text_format: Option<TextFormat> = "textFormat",
        /// How `attachments` are laid out.
        optional attachment_layout: Option<AttachmentLayout> = "attachmentLayout",
        /// Who joined the conversation.
        optional members_added: Vec<ChannelAccount> = "membersAdded",
        /// Who left the conversation.
        optional members_removed: Vec<ChannelAccount> = "membersRemoved",
        /// Reactions to the message `replyToId`.
        optional reactions_added: Vec<MessageReaction> = "reactionsAdded",
        /// Reactions taken back.
        optional reactions_removed: Vec<MessageReaction> = "reactionsRemoved",
        /// What the conversation is about from now on.
        optional topic_name: Option<String> = "topicName",
        /// Whether those who join see what was said before.
        optional history_disclosed: Option<bool> = "historyDisclosed",
        /// The language spoken, such as `en-US`.
        optional locale: Option<String> = "locale",
        /// What is said.
        optional text: Option<String> = "text",
        /// What is said aloud, as text or SSML.
        optional speak: Option<String> = "speak",
        /// Whether the bot waits for the user.
        optional input_hint: Option<InputHint> = "inputHint",
        /// What stands in for the attachments where they cannot be shown.
        optional summary: Option<String> = "summary",
        /// Choices for the user.
        optional suggested_actions: Option<SuggestedActions> = "suggestedActions",
        /// Files and cards.
        optional attachments: Vec<Attachment> = "attachments",
        /// What is said about something, for programs.
        optional entities: Vec<Entity> = "entities",
        /// What only this channel understands.
        optional channel_data: Option<Value> = "channelData",
        /// `add` or `remove`: what became of the bot among the contacts or the installed.
        optional action: Option<String> = "action",
        /// The activity that is answered.
        optional reply_to_id: Option<String> = "replyToId",
        /// A trace in few words.
        optional label: Option<String> = "label",
        /// What `value` is.
        optional value_type: Option<String> = "valueType",
        /// What an event, an invoke or the end of a conversation carries.
        optional value: Option<Value> = "value",
        /// Which event, invoke or command.
        optional name: Option<String> = "name",
        /// Another place that is meant.
        optional relates_to: Option<ConversationReference> = "relatesTo",
        /// Why the conversation ended.
        optional code: Option<EndOfConversationCode> = "code",
        /// From when on it means nothing any more, RFC 3339.
        optional expiration: Option<String> = "expiration",
        /// How important it is.
        optional importance: Option<Importance> = "importance",
        /// How it is to be answered.
        optional delivery_mode: Option<DeliveryMode> = "deliveryMode",
        /// Words that a speech recogniser should expect.
        optional listen_for: Vec<String> = "listenFor",
        /// Which pieces of the answered message are meant.
        optional text_highlights: Vec<TextHighlight> = "textHighlights",
        /// The step of a program that it belongs to.
        optional semantic_action: Option<SemanticAction> = "semanticAction",
    }
}

impl Activity {
    /// An activity of this type that says nothing yet.
    pub fn new(kind: ActivityType) -> Self {
        Self {
            kind,
            ..Self::default()
        }
    }

    /// A message with this text.
    pub fn message(text: impl Into<String>) -> Self {
        Self {
            text: Some(text.into()),
            ..Self::new(ActivityType::Message)
        }
    }

    /// Which piece of a stream it is, if it is one.
    pub fn stream_info(&self) -> Option<StreamInfo> {
        self.entities.iter().find_map(Entity::stream_info)
    }

    /// Whether it waits for the user's answer.
    pub fn is_expecting_input(&self) -> bool {
        self.input_hint
            .as_ref()
            .is_some_and(InputHint::is_expecting)
    }

    /// Whether it asks the user to sign in.
    pub fn is_sign_in(&self) -> bool {
        self.attachments.iter().any(Attachment::is_sign_in)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        activity::{StreamResult, StreamType},
        wire::{Wire, to_value},
    };
    use serde_json::json;
    use std::string::ToString;

    fn read(document: Value) -> Activity {
        Activity::read(document).unwrap()
    }

    #[test]
    fn only_the_type_must_be_there() {
        assert_eq!(read(json!({"type": "message"})), Activity::default());
        let error = Activity::read(json!({"text": "hi"})).unwrap_err();
        assert_eq!(
            error.to_string(),
            "type: expected a type of activity such as message, found nothing"
        );
    }

    #[test]
    fn what_is_not_known_is_kept() {
        let document = json!({"type": "x-vendor", "code": "x", "_channelId": "a", "inputHint": "y",
            "from": {"id": "a", "x": 1}, "entities": [{"type": "x", "y": null}], "historyDisclosed": false});
        assert_eq!(to_value(&read(document.clone())), document);
    }

    #[test]
    fn both_spellings_of_input_hints_are_understood_and_kept() {
        for (hint, is_expecting) in [
            ("expectingInput", true),
            ("expecting", true),
            ("acceptingInput", false),
            ("ignoring", false),
            ("x", false),
        ] {
            let activity = read(json!({"type": "message", "inputHint": hint}));
            assert_eq!(activity.is_expecting_input(), is_expecting, "{hint}");
            assert_eq!(to_value(&activity)["inputHint"], hint);
        }
    }

    #[test]
    fn the_first_streaminfo_that_can_be_understood_counts() {
        let activity = read(json!({"type": "message", "entities": [
            {"type": "streaminfo", "streamType": "final", "streamSequence": "many"},
            {"type": "streaminfo", "streamType": "final", "streamId": "s", "streamResult": "timeout"},
        ]}));
        let info = activity.stream_info().unwrap();
        assert_eq!(info.stream_type, StreamType::Final);
        assert_eq!(info.stream_id.as_deref(), Some("s"));
        assert_eq!(info.stream_result, Some(StreamResult::Timeout));
        assert_eq!(activity.entities.get(1), Some(&Entity::from(&info)));
    }

    #[test]
    fn citations_stand_in_messages_of_schema_org() {
        let cited = |kind: &str| {
            let entity = json!({"type": kind, "citation": [{"position": 1}]});
            Entity::read(entity).unwrap().citations().len()
        };
        assert_eq!(cited("https://schema.org/Message"), 1);
        assert_eq!(cited("mention"), 0);
    }

    #[test]
    fn cards_that_ask_to_sign_in_are_known() {
        for (card, expected) in [
            ("oauth", true),
            ("signin", true),
            ("OAuth", true),
            ("hero", false),
        ] {
            let kind = std::format!("application/vnd.microsoft.card.{card}");
            let activity = read(json!({"type": "message", "attachments": [{"contentType": kind}]}));
            assert_eq!(activity.is_sign_in(), expected, "{card}");
        }
    }
}
