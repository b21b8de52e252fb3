//! A requested evaluation: follows the evaluator's task.

use std::{fmt, sync::Arc, time::Duration};

use bridge_client::{Client, ClientError, EventStream, Fault, new_message_id};
use bridge_protocol::a2a::{Message, Part, Role, SendMessageRequest, Task, TaskState};
use futures_util::StreamExt as _;
use mcp_tools::context::AgentContext;
use serde_json::Value;
use tokio::{
    task::JoinHandle,
    time::{sleep, timeout},
};
use url::Url;

use super::{
    RequestError,
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
    /// Requests an evaluation, and begins to listen.
    pub(super) async fn begin(
        client: Arc<Client>,
        observed_task: Arc<ObservedTask>,
        request: SendMessageRequest,
    ) -> Result<Self, ClientError> {
        let following = send(&client, &observed_task, request).await?;
        Ok(Self { client, observed_task, following })
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

    /// Waits for a message after this one. Returns `false` if none comes unless the agent sends one.
    pub(crate) async fn has_more(&self, context: &AgentContext, newest: u64) -> bool {
        let inbox = context.incoming_messages();
        tokio::select! {
            biased;
            () = inbox.wait_after(newest) => true,
            () = self.quiet() => inbox.newest() > newest,
        }
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
        let following = send(&self.client, &self.observed_task, request).await?;
        self.following.abort();
        self.following = following;
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

/// Sends a message that causes new events, and returns the task that processes them.
async fn send(
    client: &Arc<Client>,
    observed_task: &Arc<ObservedTask>,
    request: SendMessageRequest,
) -> Result<JoinHandle<()>, ClientError> {
    let events = if client.card().capabilities.streams() {
        let events = client.send_streaming_message(request).await?;
        observed_task.reopen();
        Some(events)
    } else {
        let answer = client.send_message(request).await?;
        observed_task.reopen();
        observed_task.take(answer.into());
        None
    };
    Ok(tokio::spawn(follow(client.clone(), events, observed_task.clone())))
}

/// Processes events until no more can arrive. The caller sets the time limit; dropping the future stops.
async fn follow(
    client: Arc<Client>,
    events: Option<EventStream>,
    observed_task: Arc<ObservedTask>,
) {
    let mut broken = match events {
        Some(events) => listen(events, &observed_task).await.err(),
        None => None,
    };
    let is_silence = |error: &ClientError| matches!(error.fault, Fault::Timeout(_));
    // A stream that ended early, or was silent for too long, lost no messages: the task has them.
    if broken.as_ref().is_none_or(is_silence)
        && is_open(&observed_task)
        && let Some(task) = observed_task.task()
    {
        broken = listen(client.poll_task(task), &observed_task).await.err();
    }
    if is_open(&observed_task) {
        observed_task.broken(match broken {
            Some(error) => error.to_string(),
            None => "the stream ended without a message".to_owned(),
        });
    }
}

async fn listen(mut events: EventStream, observed_task: &ObservedTask) -> Result<(), ClientError> {
    while let Some(item) = events.next().await {
        observed_task.take(item?);
    }
    Ok(())
}

fn is_open(observed_task: &ObservedTask) -> bool {
    *observed_task.stage().borrow() == EvaluationStage::Open
}
