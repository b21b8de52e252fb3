//! The bot's end of the queue between a bot and the log.

use bridge_protocol::activity::{Activity, ActivityType};
use tokio::sync::{mpsc, oneshot};

/// How many activities of a turn may wait for the log; then sending waits too.
pub(super) const QUEUE_CAPACITY: usize = 64;

/// Why what a bot sent is not kept.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SendError {
    /// The log failed, and with it the turn.
    #[error("the log of task {task} failed: nothing more of this turn is kept")]
    Unkept {
        /// The task.
        task: String,
    },
    /// The task was canceled, or the bot had ended it.
    #[error("task {task} has ended: nothing more can be said in it")]
    Ended {
        /// The task.
        task: String,
    },
}

/// What passes through the queue.
#[derive(Debug)]
pub(super) enum OutputItem {
    /// To be logged.
    Activity(Box<Activity>),
    /// To be answered when all before it is logged.
    Flush(oneshot::Sender<Result<(), SendError>>),
}

/// Takes what the bot sends, in order. Dropping it says that the bot has done its turn.
#[derive(Debug)]
pub(super) struct BotOutput {
    task: String,
    /// None where nothing can be said any more.
    queue: Option<mpsc::Sender<OutputItem>>,
    /// The activity that is answered; the ids of the answers are made from its id.
    answered: String,
    count: usize,
}

impl BotOutput {
    /// An outbox and the other end of its queue.
    pub(super) fn open(task: &str, answered: &str) -> (Self, mpsc::Receiver<OutputItem>) {
        let (sender, receiver) = mpsc::channel(QUEUE_CAPACITY);
        let output = Self {
            queue: Some(sender),
            ..Self::closed(task, answered)
        };
        (output, receiver)
    }

    /// An outbox that drops what it takes.
    pub(super) fn closed(task: &str, answered: &str) -> Self {
        Self {
            task: task.into(),
            queue: None,
            answered: answered.into(),
            count: 0,
        }
    }

    /// An id for the next activity.
    pub(super) fn next_id(&mut self) -> String {
        self.count += 1;
        format!("{}.{}", self.answered, self.count)
    }

    /// An id for the next stream. Those of streams and of activities are counted together.
    pub(super) fn next_stream(&mut self) -> String {
        self.count += 1;
        format!("{}.stream-{}", self.answered, self.count)
    }

    /// Takes an activity that has its id.
    pub(super) async fn send(&self, activity: Box<Activity>) -> Result<(), SendError> {
        match &self.queue {
            Some(queue) => self.push(queue, OutputItem::Activity(activity)).await,
            None => {
                log_dropped(&self.task, &activity);
                Ok(())
            }
        }
    }

    /// Waits until all that was sent is logged.
    pub(super) async fn flush(&self) -> Result<(), SendError> {
        let task = self.task.clone();
        let Some(queue) = &self.queue else {
            return Err(SendError::Ended { task });
        };
        let (done, is_done) = oneshot::channel();
        self.push(queue, OutputItem::Flush(done)).await?;
        is_done.await.unwrap_or(Err(SendError::Unkept { task }))
    }

    async fn push(
        &self,
        queue: &mpsc::Sender<OutputItem>,
        sent: OutputItem,
    ) -> Result<(), SendError> {
        let unkept = |_| SendError::Unkept {
            task: self.task.clone(),
        };
        queue.send(sent).await.map_err(unkept)
    }
}

/// Tells those who look for mistakes that something was said too late.
pub(super) fn log_dropped(task: &str, activity: &Activity) {
    let (kind, id): (&ActivityType, _) = (&activity.kind, activity.id.as_deref());
    tracing::info!(task, %kind, id, "an activity came after the end of its conversation");
}
