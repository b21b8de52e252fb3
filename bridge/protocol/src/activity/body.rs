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
