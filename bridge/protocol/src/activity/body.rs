//! The type of activities (Activity specification, "Basic activity structure").

use alloc::{string::String, vec::Vec};

use serde_json::Value;

use super::{
    ActivityType, Attachment, AttachmentLayout, ChannelAccount, ConversationAccount,
    ConversationReference, DeliveryMode, EndOfConversationCode, Entity, Importance, InputHint,
    MessageReaction, SemanticAction, StreamInfo, SuggestedActions, TextFormat, TextHighlight,
};
use crate::wire::object;

object! {
    /// An event in a conversation, such as a message.
    #[derive(Default)]
    pub struct Activity {
        /// The type, which decides what the other fields mean.
        required kind: ActivityType = "type",
        /// The id assigned by the channel.
        optional id: Option<String> = "id",
        /// The time of sending, RFC 3339 in UTC.
        optional timestamp: Option<String> = "timestamp",
        /// The time of sending in the sender's time zone, RFC 3339.
        optional local_timestamp: Option<String> = "localTimestamp",
        /// The sender's time zone, such as `Europe/Berlin`.
        optional local_timezone: Option<String> = "localTimezone",
        /// The id of the bot that calls this bot.
        optional caller_id: Option<String> = "callerId",
        /// The URL to which answers are posted. It is a secret between channel and bot.
        optional service_url: Option<String> = "serviceUrl",
        /// The channel, such as `a2a` or `webchat`.
        optional channel_id: Option<String> = "channelId",
        /// The sender.
        optional from: Option<ChannelAccount> = "from",
        /// The conversation that the activity belongs to.
        optional conversation: Option<ConversationAccount> = "conversation",
        /// The receiver.
        optional recipient: Option<ChannelAccount> = "recipient",
        /// The markup of `text`.
        optional text_format: Option<TextFormat> = "textFormat",
        /// The layout of `attachments`.
        optional attachment_layout: Option<AttachmentLayout> = "attachmentLayout",
        /// The members who joined the conversation.
        optional members_added: Vec<ChannelAccount> = "membersAdded",
        /// The members who left the conversation.
        optional members_removed: Vec<ChannelAccount> = "membersRemoved",
        /// The reactions to the message `replyToId`.
        optional reactions_added: Vec<MessageReaction> = "reactionsAdded",
        /// The reactions to it that were withdrawn.
        optional reactions_removed: Vec<MessageReaction> = "reactionsRemoved",
        /// The new topic of the conversation.
        optional topic_name: Option<String> = "topicName",
        /// Whether new members see earlier messages.
        optional history_disclosed: Option<bool> = "historyDisclosed",
        /// The language spoken, such as `en-US`.
        optional locale: Option<String> = "locale",
        /// The text.
        optional text: Option<String> = "text",
        /// The text for speech output, plain or SSML.
        optional speak: Option<String> = "speak",
        /// Whether the bot expects input after this.
        optional input_hint: Option<InputHint> = "inputHint",
        /// A text for channels that cannot show the attachments.
        optional summary: Option<String> = "summary",
        /// The choices offered to the user.
        optional suggested_actions: Option<SuggestedActions> = "suggestedActions",
        /// Files and cards.
        optional attachments: Vec<Attachment> = "attachments",
        /// Structured information about the activity, for programs.
        optional entities: Vec<Entity> = "entities",
        /// Data that only this channel understands.
        optional channel_data: Option<Value> = "channelData",
        /// `add` or `remove`: whether the bot was added to or removed from contacts or installations.
        optional action: Option<String> = "action",
        /// The id of the activity that this one answers.
        optional reply_to_id: Option<String> = "replyToId",
        /// The label of a trace.
        optional label: Option<String> = "label",
        /// The type of `value`.
        optional value_type: Option<String> = "valueType",
        /// The content of an event, an invoke or the end of a conversation.
        optional value: Option<Value> = "value",
        /// The name of the event, invoke or command.
        optional name: Option<String> = "name",
        /// A reference to another conversation.
        optional relates_to: Option<ConversationReference> = "relatesTo",
        /// The reason why the conversation ended.
        optional code: Option<EndOfConversationCode> = "code",
        /// The time after which the activity has no meaning, RFC 3339.
        optional expiration: Option<String> = "expiration",
        /// The importance.
        optional importance: Option<Importance> = "importance",
        /// The way in which the bot should send its answers.
        optional delivery_mode: Option<DeliveryMode> = "deliveryMode",
        /// Words that a speech recognizer should expect.
        optional listen_for: Vec<String> = "listenFor",
        /// The pieces of the answered message that are meant.
        optional text_highlights: Vec<TextHighlight> = "textHighlights",
        /// The step of an application's action that it belongs to.
        optional semantic_action: Option<SemanticAction> = "semanticAction",
    }
}

impl Activity {
    /// Creates an activity of this type without content.
    pub fn new(kind: ActivityType) -> Self {
        Self { kind, ..Self::default() }
    }

    /// Creates a message with this text.
    pub fn message(text: impl Into<String>) -> Self {
        Self { text: Some(text.into()), ..Self::new(ActivityType::Message) }
    }

    /// Returns the stream that the activity is a piece of, if any.
    pub fn stream_info(&self) -> Option<StreamInfo> {
        let in_entity = self.entities.iter().find_map(Entity::stream_info);
        in_entity.or_else(|| StreamInfo::in_channel_data(self.channel_data.as_ref()?))
    }

    /// Returns whether the bot waits for the user's answer.
    pub fn is_expecting_input(&self) -> bool {
        self.input_hint.as_ref().is_some_and(InputHint::is_expecting)
    }

    /// Returns whether the activity asks the user to sign in.
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
    fn unknown_members_are_kept() {
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
    fn citations_are_in_messages_of_schema_org() {
        let cited = |kind: &str| {
            let entity = json!({"type": kind, "citation": [{"position": 1}]});
            Entity::read(entity).unwrap().citations().len()
        };
        assert_eq!(cited("https://schema.org/Message"), 1);
        assert_eq!(cited("mention"), 0);
    }

    #[test]
    fn cards_that_ask_to_sign_in_are_known() {
        for (card, expected) in
            [("oauth", true), ("signin", true), ("OAuth", true), ("hero", false)]
        {
            let kind = std::format!("application/vnd.microsoft.card.{card}");
            let activity = read(json!({"type": "message", "attachments": [{"contentType": kind}]}));
            assert_eq!(activity.is_sign_in(), expected, "{card}");
        }
    }
}
