//! Receives messages that the agent sends on its own, as bots do when an event occurs.
//!
//! First the stream of the last message is followed to its end, then the task by a subscription. If that is
//! not possible or the task has ended, the conversation's tasks are polled.

use std::{future::pending, time::Duration};

use bridge_client::ClientError;
use bridge_protocol::a2a::{ListTasksRequest, StreamResponse, SubscribeToTaskRequest, Task};
use futures_util::StreamExt as _;
use tokio::time::sleep;

use super::session::Session;

/// The polling interval.
const OFTEN: Duration = Duration::from_secs(2);

/// The number of newest tasks, and of messages in each, that are polled.
const TASKS: i32 = 5;
const MESSAGES: i32 = 20;

/// The method by which messages are received until the user's next input.
#[derive(Clone, Copy, Default)]
pub(super) enum Source {
    /// The open stream, and then a subscription.
    #[default]
    Streams,
    /// Polling the list of tasks.
    Lists,
    /// None, because the agent supports neither.
    None,
}

impl Session {
    /// Waits for the agent's next message. Cancel-safe: the call may be dropped and repeated.
    pub(super) async fn news(&mut self, source: &mut Source) -> Vec<StreamResponse> {
        loop {
            match source {
                Source::Streams => match self.streamed().await {
                    Some(event) => return vec![event],
                    None => *source = Source::Lists,
                },
                Source::Lists => match self.listed().await {
                    Ok(tasks) => return tasks,
                    Err(_) => *source = Source::None,
                },
                Source::None => pending().await,
            }
        }
    }

    async fn streamed(&mut self) -> Option<StreamResponse> {
        if self.open.is_none() {
            let task = self.task.as_ref().filter(|_| self.streams)?;
            let request = SubscribeToTaskRequest::new(task.as_str());
            self.open = Some(self.client.subscribe_to_task(request).await.ok()?);
        }
        let event = self.open.as_mut()?.next().await;
        if !matches!(event, Some(Ok(_))) {
            self.open = None;
        }
        event?.ok()
    }

    /// Polls the conversation's tasks; events that were shown are not shown again.
    async fn listed(&self) -> Result<Vec<StreamResponse>, ClientError> {
        let Some(context) = &self.context else {
            return pending().await;
        };
        sleep(OFTEN).await;
        let request = ListTasksRequest {
            context_id: Some(context.clone()),
            page_size: Some(TASKS),
            history_length: Some(MESSAGES),
            include_artifacts: Some(true),
            ..ListTasksRequest::default()
        };
        let page = self.client.list_tasks(request).await?;
        // An agent without contexts would return the tasks of all users.
        let is_ours = |task: &Task| task.context_id.as_ref() == Some(context);
        let mut tasks: Vec<_> = page.tasks.into_iter().filter(is_ours).collect();
        tasks.reverse();
        let is_news =
            |task: &Task| !self.tasks.contains(&task.id) || self.task.as_ref() == Some(&task.id);
        Ok(tasks.into_iter().filter(is_news).map(StreamResponse::Task).collect())
    }
}
