//! Conversations, their members, and references to them.

use alloc::string::String;

use serde_json::Value;

use crate::wire::object;

object! {
    /// The account of a user or bot on a channel.
    #[derive(Default)]
    pub struct ChannelAccount {
        /// The id, unique on the channel.
        optional id: Option<String> = "id",
        /// The name for people.
        optional name: Option<String> = "name",
        /// The object id in Microsoft Entra.
        optional aad_object_id: Option<String> = "aadObjectId",
        /// The role: `user`, `bot`, `skill`, or a name of the channel's own.
        optional role: Option<String> = "role",
    }
}

object! {
    /// A conversation on a channel.
    #[derive(Default)]
    pub struct ConversationAccount {
        /// The id, unique on the channel.
        optional id: Option<String> = "id",
        /// The name for people.
        optional name: Option<String> = "name",
        /// Whether the conversation can have more than two members.
        optional is_group: Option<bool> = "isGroup",
        /// The channel's type of conversation.
        optional conversation_type: Option<String> = "conversationType",
        /// The tenant in Microsoft Entra.
        optional tenant_id: Option<String> = "tenantId",
        /// The object id in Microsoft Entra.
        optional aad_object_id: Option<String> = "aadObjectId",
        /// The role: `user`, `bot`, or a name of the channel's own.
        optional role: Option<String> = "role",
        /// Further properties, as the channel defines them.
        optional properties: Option<Value> = "properties",
    }
}

impl ChannelAccount {
    /// Creates an account with this id, name and role.
    pub fn new(id: impl Into<String>, name: impl Into<String>, role: impl Into<String>) -> Self {
        Self {
            id: Some(id.into()),
            name: Some(name.into()),
            role: Some(role.into()),
            ..Self::default()
        }
    }
}

impl ConversationAccount {
    /// Creates a conversation with this id.
    pub fn new(id: impl Into<String>) -> Self {
        Self { id: Some(id.into()), ..Self::default() }
    }
}

object! {
    /// A reference to a place in a conversation, with which a bot can continue there later.
    #[derive(Default)]
    pub struct ConversationReference {
        /// The id of the activity.
        optional activity_id: Option<String> = "activityId",
        /// The user.
        optional user: Option<ChannelAccount> = "user",
        /// The bot, under the name in most SDKs.
        optional bot: Option<ChannelAccount> = "bot",
        /// The bot, under the name in the .NET SDK.
        optional agent: Option<ChannelAccount> = "agent",
        /// The conversation.
        optional conversation: Option<ConversationAccount> = "conversation",
        /// The channel.
        optional channel_id: Option<String> = "channelId",
        /// The language spoken, such as `en-US`.
        optional locale: Option<String> = "locale",
        /// The URL at which the channel accepts activities.
        optional service_url: Option<String> = "serviceUrl",
    }
}

object! {
    /// A reaction to a message.
    #[derive(Default)]
    pub struct MessageReaction {
        /// The kind: `like`, `plusOne`, or a name of the channel's own.
        optional kind: Option<String> = "type",
    }
}

object! {
    /// A piece of the text of the answered message.
    #[derive(Default)]
    pub struct TextHighlight {
        /// The text of the piece.
        optional text: Option<String> = "text",
        /// The occurrence that is meant, counted from zero, if the text occurs several times.
        optional occurrence: Option<i32> = "occurrence",
    }
}
