//! Changes and deletes activities that a bot posted before.

use std::sync::Arc;

use bridge_protocol::{
    a2a::{Artifact, Role},
    activity::{Activity, ActivityType},
};
use bridge_translate::answer;
use serde_json::Value;

use super::connector_session::{ConnectorError, ConnectorSession};
use crate::store::Head;

impl ConnectorSession {
    /// Replaces an earlier activity. A task that has ended does not change; then the new version starts another task.
    pub async fn update(
        &self,
        head: &Arc<Head>,
        id: &str,
        activity: Value,
    ) -> Result<String, ConnectorError> {
        let activity = self.parse_activity(activity)?;
        self.check(head, id).await?;
        let update =
            Activity { kind: ActivityType::MessageUpdate, id: Some(id.into()), ..activity };
        if self.append(head, update.clone()).await?.is_late {
            Box::pin(self.follow_up(head, id, update)).await?;
        }
        Ok(id.into())
    }

    /// Deletes an earlier activity. It remains in a task that has ended.
    pub async fn delete(&self, head: &Arc<Head>, id: &str) -> Result<(), ConnectorError> {
        self.check(head, id).await?;
        let delete = Activity { id: Some(id.into()), ..Activity::new(ActivityType::MessageDelete) };
        self.append(head, delete).await.map(drop)
    }

    /// Returns an error if the bot has posted nothing with this id in the task.
    async fn check(&self, head: &Head, id: &str) -> Result<(), ConnectorError> {
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
