//! References to conversations, and small things said about messages.

use alloc::string::String;

use super::{ChannelAccount, ConversationAccount};
use crate::wire::object;

object! {
    /// A place in a conversation, enough to go on there later.
    #[derive(Default)]
    pub struct ConversationReference {
        /// The activity that is meant.
        optional activity_id: Option<String> = "activityId",
        /// The user's side.
        optional user: Option<ChannelAccount> = "user",
        /// The bot's side, as most SDKs call it.
        optional bot: Option<ChannelAccount> = "bot",
        /// The bot's side, as the .NET SDK calls it.
        optional agent: Option<ChannelAccount> = "agent",
        /// The conversation.
        optional conversation: Option<ConversationAccount> = "conversation",
        /// The channel.
        optional channel_id: Option<String> = "channelId",
        /// The language spoken, such as `en-US`.
        optional locale: Option<String> = "locale",
        /// Where the channel takes activities.
        optional service_url: Option<String> = "serviceUrl",
    }
}

object! {
    /// What somebody feels about a message.
    #[derive(Default)]
    pub struct MessageReaction {
        /// `like`, `plusOne`, or what the channel calls it.
        optional kind: Option<String> = "type",
    }
}

object! {
    /// A piece of the text of the message that is replied to.
    #[derive(Default)]
    pub struct TextHighlight {
        /// The piece.
        optional text: Option<String> = "text",
        /// Which one, counted from zero, if there are several.
        optional occurrence: Option<i32> = "occurrence",
    }
}
