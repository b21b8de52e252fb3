//! References to conversations, reactions and highlights.

use alloc::string::String;

use super::{ChannelAccount, ConversationAccount};
use crate::wire::object;

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
