//! A requested evaluation: follows the evaluator's task.

use std::{fmt, sync::Arc, time::Duration};

use bridge_client::{Client, ClientError, new_message_id};
use bridge_protocol::a2a::{Message, Part, Role, SendMessageRequest, Task, TaskState};
use serde_json::Value;
use tokio::{
    task::JoinHandle,
    time::{sleep, timeout},
};
use url::Url;

use super::{
    RequestError,
    follow::{follow, say},
    observed_task::{EvaluationStage, ObservedTask},
};

/// The time that a stream has to close after its task has ended.
const CLOSE_LIMIT: Duration = Duration::from_secs(1);

/// A running evaluation. Dropping it stops listening; the evaluator's task is not canceled.
pub struct Evaluation {
    client: Arc<Client>,
    observed_task: Arc<ObservedTask>,
    following: JoinHandle<()>,
}

impl Evaluation {
    pub(super) fn new(
        client: Arc<Client>,
        observed_task: Arc<ObservedTask>,
        following: JoinHandle<()>,
    ) -> Self {
        Self { client, observed_task, following }
    }

    /// Returns the evaluator's task in its last known state; `None` if the evaluator answered with a message and
    /// no task.
    pub fn task(&self) -> Option<Task> {
        self.observed_task.task()
    }

    /// Returns whether the evaluator's task has ended.
    pub fn has_ended(&self) -> bool {
        *self.observed_task.stage().borrow() == EvaluationStage::Ended
    }

    /// Returns whether the evaluator waits for a message in its task.
    pub fn wants_message(&self) -> bool {
        let task = self.observed_task.task();
        task.is_some_and(|task| task.status.state == TaskState::InputRequired)
    }

    /// Waits until the evaluator's task has ended. There is no time limit; the caller sets one.
    pub async fn ended(&self) {
        self.until(|stage| *stage == EvaluationStage::Ended).await;
    }

    /// Waits until no further event arrives unless the agent sends a message.
    pub async fn quiet(&self) {
        self.until(|stage| *stage != EvaluationStage::Open).await;
    }

    async fn until(&self, reached: impl FnMut(&EvaluationStage) -> bool) {
        // The observed task lives as long as `self`, so the wait ends only when the stage is reached.
        let _ = self.observed_task.stage().wait_for(reached).await;
        if self.has_ended() {
            self.read_to_end().await;
        }
    }

    /// Reads a stream to its end. A client that disconnects between the last event and the end would look as if it had
    /// aborted.
    async fn read_to_end(&self) {
        let finished = async {
            while !self.following.is_finished() {
                sleep(Duration::from_millis(2)).await;
            }
        };
        let _ = timeout(CLOSE_LIMIT, finished).await;
    }

    /// Sends a message in the evaluator's task, and continues to listen.
    ///
    /// # Errors
    /// If the evaluator does not accept the message.
    pub async fn reply(&mut self, text: &str, data: Option<Value>) -> Result<(), ClientError> {
        let parts = std::iter::once(Part::text(text)).chain(data.map(Part::data));
        let mut message = Message::new(new_message_id(), Role::User, parts.collect());
        message.task_id = self.observed_task.task_id();
        message.context_id = self.observed_task.context_id();
        let request = SendMessageRequest::new(message);
        let events = say(&self.client, request, &self.observed_task).await?;
        let following = follow(self.client.clone(), events, self.observed_task.clone());
        self.following.abort();
        self.following = tokio::spawn(following);
        Ok(())
    }

    /// Returns the reason why no message arrived at all.
    pub(super) fn no_message_error(&self, green: &Url) -> RequestError {
        let reason = match &*self.observed_task.stage().borrow() {
            EvaluationStage::Broken(reason) => reason.clone(),
            EvaluationStage::Open | EvaluationStage::Paused | EvaluationStage::Ended => {
                "its answer is empty".to_owned()
            }
        };
        RequestError::Broken { green: green.clone(), reason }
    }
}

impl Drop for Evaluation {
    fn drop(&mut self) {
        self.following.abort();
    }
}

impl fmt::Debug for Evaluation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Evaluation")
            .field("stage", &*self.observed_task.stage().borrow())
            .finish_non_exhaustive()
    }
}
