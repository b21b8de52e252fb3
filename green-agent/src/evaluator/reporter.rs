//! Sends an evaluator's messages while it works.

use std::{
    collections::BTreeSet,
    fmt,
    sync::{Arc, Mutex},
};

use bridge_client::new_message_id;
use bridge_program::lock;
use bridge_protocol::a2a::{Message, Part, Role, TaskState, TaskStatus};
use bridge_tasks::executor::{TaskHandle, Update};
use tokio::sync::watch;

use super::{Listener, assess_error::AssessError};

/// Sends messages for one evaluation. They become statuses of the evaluation's task, if there is one, and are
/// kept for the assessment. Clones report in the same task.
#[derive(Clone)]
pub struct Reporter(Arc<Inner>);

/// The state that all clones of a [`Reporter`] share.
struct Inner {
    task: Option<TaskHandle>,
    listener: Option<Listener>,
    said: Mutex<Vec<TaskStatus>>,
    acknowledged: Mutex<BTreeSet<String>>,
    /// Becomes true when the turn must end before the evaluation does.
    turn_end: watch::Sender<bool>,
}

impl Reporter {
    /// Returns a reporter whose messages become statuses of the task while it works, and reach the listener in the runner.
    pub(super) fn new(task: Option<TaskHandle>, listener: Option<Listener>) -> Self {
        Self(Arc::new(Inner {
            task,
            listener,
            said: Mutex::default(),
            acknowledged: Mutex::default(),
            turn_end: watch::Sender::default(),
        }))
    }

    /// Sends a text; returns the message's id.
    ///
    /// # Errors
    /// If the task has ended. The other methods that send fail likewise.
    pub async fn say(&self, text: impl Into<String>) -> Result<String, AssessError> {
        self.send(vec![Part::text(text)]).await
    }

    /// Sends these parts in one message; returns its id.
    ///
    /// # Errors
    /// If the task has ended.
    pub async fn send(&self, parts: Vec<Part>) -> Result<String, AssessError> {
        let id = new_message_id();
        self.emit(Message::new(id.as_str(), Role::Agent, parts)).await?;
        Ok(id)
    }

    /// Sends a message again with the same id, by which the receiver recognizes it.
    ///
    /// # Errors
    /// If the task has ended.
    pub async fn repeat(&self, message_id: &str) -> Result<(), AssessError> {
        let mut messages = self.said().into_iter().filter_map(|status| status.message);
        match messages.find(|one| one.message_id == message_id) {
            Some(message) => self.emit(message).await,
            None => Ok(()),
        }
    }

    /// Publishes a complete artifact while the evaluation goes on; `name` is its id too. Without a task this
    /// does nothing, and the final result has to contain everything.
    ///
    /// # Errors
    /// If the task has ended.
    pub async fn show(&self, name: &str, parts: Vec<Part>) -> Result<(), AssessError> {
        let Some(task) = &self.0.task else {
            return Ok(());
        };
        task.emit(vec![Update::artifact(name, name, parts)]).await?;
        Ok(())
    }

    /// Returns whether the peer has acknowledged the message with this id.
    pub fn has_acknowledged(&self, message_id: &str) -> bool {
        lock(&self.0.acknowledged).contains(message_id)
    }

    /// Ends the turn, so that a caller that waits for the reply gets the messages sent so far. The evaluation
    /// goes on, and its result is added to the task.
    pub fn end_turn(&self) {
        self.0.turn_end.send_replace(true);
    }

    /// Waits until the turn must end before the evaluation does.
    pub(super) async fn turn_ends(&self) {
        let mut turn_end = self.0.turn_end.subscribe();
        // This cannot fail, because the reporter owns the sender.
        let _ = turn_end.wait_for(|ended| *ended).await;
    }

    /// Records the ids that the peer acknowledges.
    pub(super) fn acknowledge(&self, ids: Vec<String>) {
        lock(&self.0.acknowledged).extend(ids);
    }

    /// Returns the statuses for all messages sent, in order.
    pub(super) fn said(&self) -> Vec<TaskStatus> {
        lock(&self.0.said).clone()
    }

    async fn emit(&self, message: Message) -> Result<(), AssessError> {
        if let Some(listener) = &self.0.listener {
            let text = message.text();
            if !text.is_empty() {
                listener(&text);
            }
        }
        lock(&self.0.said).push(TaskStatus {
            message: Some(message.clone()),
            ..TaskStatus::new(TaskState::Working)
        });
        let Some(task) = &self.0.task else {
            return Ok(());
        };
        let update =
            Update::Status { state: TaskState::Working, message: Some(message), metadata: None };
        task.emit(vec![update]).await?;
        Ok(())
    }
}

impl fmt::Debug for Reporter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Reporter")
            .field("task", &self.0.task.as_ref().map(TaskHandle::task_id))
            .field("said", &lock(&self.0.said).len())
            .finish_non_exhaustive()
    }
}
