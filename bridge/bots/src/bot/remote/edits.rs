//! Changes and deletes activities that a bot posted before.

use std::sync::Arc;

use bridge_protocol::{
    a2a::{Artifact, Role},
    activity::{Activity, ActivityType},
};
use bridge_translate::answer;
use serde_json::Value;

use super::{
    connector_session::{ConnectorError, ConnectorSession, Result},
    turn_placement::has_begun,
};
use crate::{agent::ConversationScope, store::Head};

impl ConnectorSession {
    /// Replaces an earlier activity. A task that has ended does not change; then the new version is a message of the running
    /// turn, or starts another task.
    ///
    /// # Errors
    /// `Body` if the new activity is invalid, `Activity` if the bot has posted nothing with this id, `Store` if the store fails.
    pub async fn update(&self, head: &Arc<Head>, id: &str, activity: Value) -> Result<String> {
        let activity = self.parse_activity(activity)?;
        self.check(head, id).await?;
        let update =
            Activity { kind: ActivityType::MessageUpdate, id: Some(id.into()), ..activity };
        let place = self.task_of_change(head, update.reply_to_id.as_deref()).await?;
        if self.append(&place, update.clone()).await?.is_late {
            Box::pin(self.follow_up(head, id, &update)).await?;
        }
        Ok(id.into())
    }

    /// Deletes an earlier activity. It remains in a task that has ended; then the running turn reports the deletion, because
    /// nobody follows the ended task any more.
    ///
    /// # Errors
    /// `Activity` if the bot has posted nothing with this id, `Store` if the store fails.
    pub async fn delete(&self, head: &Arc<Head>, id: &str) -> Result<()> {
        self.check(head, id).await?;
        let delete = Activity { id: Some(id.into()), ..Activity::new(ActivityType::MessageDelete) };
        let place = self.task_of_change(head, None).await?;
        self.append(&place, delete).await.map(drop)
    }

    /// Returns the task that shows the change of a message: the message's own, or if that has ended, the one whose turn runs.
    /// Most SDKs name the activity in whose turn the bot has changed the message. That turn may be over.
    async fn task_of_change(&self, own: &Arc<Head>, answered: Option<&str>) -> Result<Arc<Head>> {
        if self.bot.settings.conversation != ConversationScope::Context || !self.is_over(own) {
            return Ok(own.clone());
        }
        let place = self.answered_or_current(answered).await?;
        Ok(place.filter(|place| has_begun(place)).unwrap_or_else(|| own.clone()))
    }

    /// Returns an error if the bot has posted nothing with this id in the task.
    async fn check(&self, head: &Head, id: &str) -> Result<()> {
        let found = self.channel.store.task(&self.scope.caller, &head.task).await?;
        let task = found.task;
        let messages = task.history.iter().chain(task.status.message.as_ref());
        let mut own = messages.filter(|message| message.role == Role::Agent);
        let is_artifact = |one: &Artifact| {
            one.artifact_id == id || answer::message_id(one).as_deref() == Some(id)
        };
        let is_message = own.any(|message| message.message_id == id);
        match is_message || task.artifacts.iter().any(is_artifact) {
            true => Ok(()),
            false => Err(ConnectorError::Activity { activity: id.into() }),
        }
    }
}
