//! Sends a bot's activities to its [`LogWriter`](super::log_writer::LogWriter), through a bounded queue.

use bridge_protocol::activity::{Activity, ActivityType};
use tokio::sync::{mpsc, oneshot};

/// The number of activities of one turn that may wait for the log. When they are reached, sending waits.
pub(super) const QUEUE_CAPACITY: usize = 64;

/// The reason why an activity that a bot sent is not stored.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[expect(missing_docs, reason = "the messages say what the fields are")]
pub enum SendError {
    /// The log failed, and so did the turn.
    #[error("the log of task {task} failed: further output of this turn is not stored")]
    Unkept { task: String },
    /// The task was canceled, or the bot had ended it before.
    #[error("task {task} has ended: it accepts no further output")]
    Ended { task: String },
}

/// An item of the queue between a bot and the log.
#[derive(Debug)]
pub(super) enum OutputItem {
    /// An activity for the log.
    Activity(Box<Activity>),
    /// A request to report when everything before it has been logged.
    Flush(oneshot::Sender<Result<(), SendError>>),
}

/// The sending end of the queue. Dropping it marks the end of the bot's turn.
#[derive(Debug)]
pub(super) struct BotOutput {
    task: String,
    /// `None` if nothing can be sent any more.
    queue: Option<mpsc::Sender<OutputItem>>,
    /// The id of the activity that is being answered; the ids of the answers are derived from it.
    answered: String,
    count: usize,
}

impl BotOutput {
    /// Returns the sending and the receiving end of a new queue.
    pub(super) fn open(task: &str, answered: &str) -> (Self, mpsc::Receiver<OutputItem>) {
        let (sender, receiver) = mpsc::channel(QUEUE_CAPACITY);
        let output = Self { queue: Some(sender), ..Self::closed(task, answered) };
        (output, receiver)
    }

    /// Returns an output that drops everything it is given.
    pub(super) fn closed(task: &str, answered: &str) -> Self {
        Self { task: task.into(), queue: None, answered: answered.into(), count: 0 }
    }

    /// Returns an id for the next activity.
    pub(super) fn next_id(&mut self) -> String {
        self.count += 1;
        format!("{}.{}", self.answered, self.count)
    }

    /// Returns an id for the next stream. Streams and activities share one counter.
    pub(super) fn next_stream(&mut self) -> String {
        self.count += 1;
        format!("{}.stream-{}", self.answered, self.count)
    }

    /// Queues an activity that already has an id.
    pub(super) async fn send(&self, activity: Box<Activity>) -> Result<(), SendError> {
        match &self.queue {
            Some(queue) => self.push(queue, OutputItem::Activity(activity)).await,
            None => {
                log_dropped(&self.task, &activity);
                Ok(())
            }
        }
    }

    /// Waits until everything that was sent before has been logged.
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
        let unkept = |_| SendError::Unkept { task: self.task.clone() };
        queue.send(sent).await.map_err(unkept)
    }
}

/// Logs that an activity came too late and was dropped.
pub(super) fn log_dropped(task: &str, activity: &Activity) {
    let (kind, id): (&ActivityType, _) = (&activity.kind, activity.id.as_deref());
    tracing::info!(task, %kind, id, "an activity arrived after the end of its conversation");
}
