//! What the activities of a turn have in common.

use alloc::string::String;

use crate::{
    a2a::Metadata,
    activity::{Activity, ActivityType, ChannelAccount, ConversationAccount, DeliveryMode},
    wire::to_object,
};

/// Where a turn takes place, and who takes part.
#[derive(Clone, Debug, PartialEq)]
pub struct TurnContext {
    /// The task.
    pub task_id: String,
    /// The task's context.
    pub context_id: String,
    /// The channel that the bot believes to be on, such as `a2a`.
    pub channel_id: String,
    /// Where the bot sends its activities. A secret: it is never shown to the client.
    pub service_url: String,
    /// The conversation.
    pub conversation: ConversationAccount,
    /// Who asks.
    pub user: ChannelAccount,
    /// Who answers.
    pub bot: ChannelAccount,
    /// The id of the activity that the bot gets, unique within the task: answers name it in `replyToId`,
    /// and messages without an id of their own get one made from it.
    pub activity_id: String,
    /// The time, RFC 3339 in UTC.
    pub now: String,
    /// The language that the user speaks, such as `en-US`, if that is known.
    pub locale: Option<String>,
    /// How the bot is to answer, if that matters.
    pub delivery_mode: Option<DeliveryMode>,
    /// Whether what the bot says is carried whole too: see [`whole`](super::whole).
    pub in_full: bool,
}

impl TurnContext {
    /// An activity of this type from the user to the bot that says nothing yet.
    pub(crate) fn request(&self, kind: ActivityType) -> Activity {
        Activity {
            id: Some(self.activity_id.clone()),
            timestamp: Some(self.now.clone()),
            delivery_mode: self.delivery_mode.clone(),
            from: Some(self.user.clone()),
            recipient: Some(self.bot.clone()),
            ..self.between(kind)
        }
    }

    /// What every answer of the bot says, as fields of JSON.
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
