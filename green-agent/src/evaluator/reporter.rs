//! How an evaluator speaks while it works.

use std::{
    collections::BTreeSet,
    fmt,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use bridge::executor::{TaskHandle, Update};
use bridge_protocol::a2a::{Message, Part, Role, TaskState, TaskStatus};
use tokio::sync::watch;
use uuid::Uuid;

use super::{Listener, custom::AssessError};

/// Speaks for one evaluation. What it says are messages of the evaluation's task, where there is one,
/// and is kept for the assessment. Clones speak in the same task.
#[derive(Clone)]
pub struct Reporter(Arc<Inner>);

struct Inner {
    task: Option<TaskHandle>,
    listener: Option<Listener>,
    said: Mutex<Vec<TaskStatus>>,
    acknowledged: Mutex<BTreeSet<String>>,
    let_go: watch::Sender<bool>,
}

impl Reporter {
    /// Reports in a task: what it says are statuses of the task while it works.
    pub(super) fn in_task(task: TaskHandle) -> Self {
        Self::new(Some(task), None)
    }

    /// A reporter that only the runner hears.
    pub(super) fn to(listener: Listener) -> Self {
        Self::new(None, Some(listener))
    }

    fn new(task: Option<TaskHandle>, listener: Option<Listener>) -> Self {
        Self(Arc::new(Inner {
            task,
            listener,
            said: Mutex::default(),
            acknowledged: Mutex::default(),
            let_go: watch::Sender::default(),
        }))
    }

    /// Says a text.
    ///
    /// # Errors
    /// If the task has ended; so for everything that is said.
    pub async fn say(&self, text: impl Into<String>) -> Result<String, AssessError> {
        self.send(vec![Part::text(text)]).await
    }

    /// Says these parts in a message of their own, and gives its id.
    pub async fn send(&self, parts: Vec<Part>) -> Result<String, AssessError> {
        #[expect(
            clippy::disallowed_methods,
            reason = "the evaluator drives the conversation"
        )]
        let id = Uuid::new_v4().to_string();
        self.emit(Message::new(id.as_str(), Role::Agent, parts))
            .await?;
        Ok(id)
    }

    /// Says a message again, with the id that it has: whoever has it already knows it by that.
    pub async fn repeat(&self, message_id: &str) -> Result<(), AssessError> {
        let said = self.messages().find(|one| one.message_id == message_id);
        match said {
            Some(message) => self.emit(message).await,
            None => Ok(()),
        }
    }

    /// Shows an artifact, whole, under a name that is its id too, while the evaluation goes on. Only a task
    /// has artifacts: where there is none, the result says everything.
    pub async fn show(&self, name: &str, parts: Vec<Part>) -> Result<(), AssessError> {
        let Some(task) = &self.0.task else {
            return Ok(());
        };
        task.emit(vec![Update::artifact(name, name, parts)]).await?;
        Ok(())
    }

    /// Whether the peer has acknowledged the message of this id.
    pub fn has_acknowledged(&self, message_id: &str) -> bool {
        lock(&self.0.acknowledged).contains(message_id)
    }

    /// Ends the turn, so that whoever waits for its reply gets what has been said so far. The evaluation
    /// goes on, and its result is added to the task.
    pub fn end_turn(&self) {
        self.0.let_go.send_replace(true);
    }

    /// Comes when the turn is to end before the evaluation does.
    pub(super) async fn turn_ends(&self) {
        let mut let_go = self.0.let_go.subscribe();
        // The sender lives as long as this reporter.
        let _ = let_go.wait_for(|ended| *ended).await;
    }

    /// Takes in what the peer acknowledges.
    pub(super) fn acknowledge(&self, ids: Vec<String>) {
        lock(&self.0.acknowledged).extend(ids);
    }

    /// Everything that was said, in order.
    pub(super) fn said(&self) -> Vec<TaskStatus> {
        self.statuses().clone()
    }

    fn messages(&self) -> impl Iterator<Item = Message> + use<> {
        self.said().into_iter().filter_map(|status| status.message)
    }

    async fn emit(&self, message: Message) -> Result<(), AssessError> {
        if let Some(listener) = &self.0.listener {
            let text = message.text();
            if !text.is_empty() {
                listener(&text);
            }
        }
        self.statuses().push(TaskStatus {
            message: Some(message.clone()),
            ..TaskStatus::new(TaskState::Working)
        });
        let Some(task) = &self.0.task else {
            return Ok(());
        };
        let update = Update::Status {
            state: TaskState::Working,
            message: Some(message),
            metadata: None,
        };
        task.emit(vec![update]).await?;
        Ok(())
    }

    fn statuses(&self) -> MutexGuard<'_, Vec<TaskStatus>> {
        lock(&self.0.said)
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl fmt::Debug for Reporter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Reporter")
            .field("task", &self.0.task.as_ref().map(TaskHandle::task_id))
            .field("said", &self.statuses().len())
            .finish_non_exhaustive()
    }
}
