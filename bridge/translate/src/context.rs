//! The common data of all activities in a turn.

use alloc::string::String;

use bridge_protocol::{
    a2a::Metadata,
    activity::{Activity, ActivityType, ChannelAccount, ConversationAccount, DeliveryMode},
    wire::to_object,
};

/// The conversation and participants of a turn.
#[derive(Clone, Debug, PartialEq)]
pub struct TranslationContext {
    /// The task.
    pub task_id: String,
    /// The task's context.
    pub context_id: String,
    /// The channel reported to the bot, such as `a2a`.
    pub channel_id: String,
    /// The URL to which the bot posts activities. It is secret and never shown to the client.
    pub service_url: String,
    /// The conversation.
    pub conversation: ConversationAccount,
    /// The user.
    pub user: ChannelAccount,
    /// The bot.
    pub bot: ChannelAccount,
    /// The id of the activity sent to the bot, unique within the task. Answers name it in `replyToId`, and
    /// messages without an id get one derived from it.
    pub activity_id: String,
    /// The current time, RFC 3339 in UTC.
    pub now: String,
    /// The user's language, such as `en-US`, if known.
    pub locale: Option<String>,
    /// The way in which the bot should answer, if it matters.
    pub delivery_mode: Option<DeliveryMode>,
    /// Whether activities of the bot are also carried in full: see [`full_activity`](super::full_activity).
    pub in_full: bool,
}

impl TranslationContext {
    /// Creates an activity of this type from the user to the bot, without content.
    pub fn request(&self, kind: ActivityType) -> Activity {
        Activity {
            id: Some(self.activity_id.clone()),
            timestamp: Some(self.now.clone()),
            delivery_mode: self.delivery_mode.clone(),
            from: Some(self.user.clone()),
            recipient: Some(self.bot.clone()),
            ..self.between(kind)
        }
    }

    /// Returns the fields that all answers of the bot have in common, as JSON.
    pub(crate) fn answer(&self) -> Metadata {
        to_object(&Activity {
            from: Some(self.bot.clone()),
            recipient: Some(self.user.clone()),
            reply_to_id: Some(self.activity_id.clone()),
            ..self.between(ActivityType::Message)
        })
    }

    fn between(&self, kind: ActivityType) -> Activity {
        Activity {
            channel_id: Some(self.channel_id.clone()),
            service_url: Some(self.service_url.clone()),
            conversation: Some(self.conversation.clone()),
            locale: self.locale.clone(),
            ..Activity::new(kind)
        }
    }
}
