//! What an agent says without being asked: bots speak when something has happened.
//!
//! What is open of the last message goes on; then the task is subscribed to, and where that is not possible, or
//! the task has ended, the conversation's tasks are asked for now and then.

use std::{future::pending, time::Duration};

use bridge_client::ClientError;
use bridge_protocol::a2a::{ListTasksRequest, Metadata, StreamResponse, SubscribeToTaskRequest};
use futures_util::StreamExt as _;
use tokio::time::sleep;

use super::session::Session;

/// How often the tasks are asked for.
const OFTEN: Duration = Duration::from_secs(2);

/// How many of them, the newest first, with how much of what was said.
const TASKS: i32 = 5;
const MESSAGES: i32 = 20;

/// How news are come by, until the user speaks again.
#[derive(Clone, Copy, Default)]
pub(super) enum Way {
    /// By what is open, and then by a subscription.
    #[default]
    Streams,
    /// By asking for the tasks.
    Lists,
    /// The agent has neither.
    None,
}

impl Session {
    /// The next that the agent says. It may be dropped at any time, and asked for again.
    pub(super) async fn news(&mut self, way: &mut Way) -> Vec<StreamResponse> {
        loop {
            match way {
                Way::Streams => match self.streamed().await {
                    Some(event) => return vec![event],
                    None => *way = Way::Lists,
                },
                Way::Lists => match self.listed().await {
                    Ok(tasks) => return tasks,
                    Err(_) => *way = Way::None,
                },
                Way::None => pending().await,
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

    /// The conversation's tasks as they stand: what of them was shown is not shown again.
    async fn listed(&self) -> Result<Vec<StreamResponse>, ClientError> {
        let Some(context) = &self.context else {
            return pending().await;
        };
        sleep(OFTEN).await;
        let request = ListTasksRequest {
            tenant: None,
            context_id: Some(context.clone()),
            status: None,
            page_size: Some(TASKS),
            page_token: None,
            history_length: Some(MESSAGES),
            status_timestamp_after: None,
            include_artifacts: Some(true),
            extra: Metadata::new(),
        };
        let page = self.client.list_tasks(request).await?;
        // An agent that knows no contexts would tell of everybody's.
        let is_ours = |task: &bridge_protocol::a2a::Task| task.context_id.as_ref() == Some(context);
        let mut tasks: Vec<_> = page.tasks.into_iter().filter(is_ours).collect();
        tasks.reverse();
        let is_news = |task: &bridge_protocol::a2a::Task| {
            !self.tasks.contains(&task.id) || self.task.as_ref() == Some(&task.id)
        };
        Ok(tasks
            .into_iter()
            .filter(is_news)
            .map(StreamResponse::Task)
            .collect())
    }
}
