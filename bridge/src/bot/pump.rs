//! The log's end of the queue between a bot and the log.

use std::time::Duration;

use bridge_protocol::translate::{Input, LateActivity, Output, Turn as Machine};
use tokio::{
    sync::{mpsc, oneshot},
    time::timeout,
};

use super::outbox::{ROOM, SendError, Sent, dropped};
use crate::{
    executor::Update,
    executor::{EmitError, TaskHandle},
    store::Revised,
};

/// After what silence it is told what a bot said, if nobody says otherwise.
pub(super) const LULL: Duration = Duration::from_secs(1);

/// Carries what a bot says through the translation into its task's log, in order.
///
/// What is ready together is one append: while one is under way, the next one gathers.
pub(super) struct Pump {
    machine: Machine,
    handle: TaskHandle,
    queue: mpsc::Receiver<Sent>,
    /// Said, but not logged yet.
    updates: Vec<Update>,
    /// Whether the bot has changed the task's status.
    has_status: bool,
    /// After what silence of the bot it is told what it said.
    lull: Duration,
    /// Those who wait until all is logged.
    waiting: Vec<oneshot::Sender<Result<(), SendError>>>,
    fate: Fate,
}

/// What became of the log.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Fate {
    /// It takes what is said.
    Open,
    /// The task has ended: what is said is dropped.
    Ended,
    /// It failed: what was said is, at least in part, lost.
    Broken,
}

impl Pump {
    pub(super) fn new(machine: Machine, handle: TaskHandle, queue: mpsc::Receiver<Sent>) -> Self {
        Self {
            machine,
            handle,
            queue,
            updates: Vec::new(),
            has_status: false,
            lull: LULL,
            waiting: Vec::new(),
            fate: Fate::Open,
        }
    }

    /// With another silence after which is told what the bot said.
    pub(super) fn with_lull(self, lull: Duration) -> Self {
        Self { lull, ..self }
    }

    /// Logs what the bot says until it can say no more. What it said last is not logged yet: that is
    /// done together with the end of the turn.
    pub(super) async fn run(&mut self) {
        let mut batch = Vec::with_capacity(ROOM);
        while self.hear(&mut batch).await > 0 {
            batch.drain(..).for_each(|sent| self.take(sent));
            if self.queue.is_closed() && self.queue.is_empty() {
                return;
            }
            self.log().await;
        }
    }

    /// Waits for what the bot says next. What it said before is told if that takes long.
    async fn hear(&mut self, batch: &mut Vec<Sent>) -> usize {
        if self.machine.has_untold() {
            let heard = timeout(self.lull, self.queue.recv_many(batch, ROOM)).await;
            match heard {
                Ok(count) => return count,
                Err(_) => {
                    self.handle(Input::Lull);
                    self.log().await;
                }
            }
        }
        self.queue.recv_many(batch, ROOM).await
    }

    /// The changes that end the turn in this way, with those that were not logged yet.
    ///
    /// # Errors
    /// [`SendError`] if something that was said before them is not kept.
    pub(super) fn end(mut self, how: Input) -> Result<Vec<Update>, SendError> {
        told(self.fate, self.handle.task_id())?;
        self.handle(how);
        Ok(self.updates)
    }

    /// The same for one who spoke without being asked: a status that was left alone stays as it is.
    ///
    /// # Errors
    /// Those of [`Pump::end`].
    pub(super) fn leave(self) -> Result<Vec<Update>, SendError> {
        let has_status = self.has_status;
        let mut updates = self.end(Input::TurnEnded)?;
        updates.retain(|update| has_status || !is_status(update));
        Ok(updates)
    }

    fn take(&mut self, sent: Sent) {
        match sent {
            Sent::Activity(activity) => self.handle(Input::Activity(*activity)),
            Sent::Flush(done) => self.waiting.push(done),
        }
    }

    fn handle(&mut self, input: Input) {
        if let Err(LateActivity { activity }) = self.machine.handle(input) {
            dropped(self.handle.task_id(), &activity);
        }
        let outputs = std::iter::from_fn(|| self.machine.poll());
        self.updates.extend(outputs.filter_map(update));
        self.has_status |= self.updates.iter().any(is_status);
    }

    async fn log(&mut self) {
        let updates = std::mem::take(&mut self.updates);
        if self.fate == Fate::Open {
            self.fate = match self.handle.emit(updates).await {
                Ok(()) => Fate::Open,
                Err(EmitError::Ended { .. }) => Fate::Ended,
                Err(EmitError::Store(error)) => {
                    if !error.is_reported_by_store() {
                        let task = self.handle.task_id();
                        tracing::error!(task, %error, "what a bot said could not be logged");
                    }
                    self.queue.close();
                    Fate::Broken
                }
            };
        }
        for done in self.waiting.drain(..) {
            // Whoever asked may have gone.
            let _ = done.send(told(self.fate, self.handle.task_id()));
        }
    }
}

fn told(fate: Fate, task: &str) -> Result<(), SendError> {
    let task = task.to_owned();
    match fate {
        Fate::Open => Ok(()),
        Fate::Ended => Err(SendError::Ended { task }),
        Fate::Broken => Err(SendError::Unkept { task }),
    }
}

pub(super) fn is_status(update: &Update) -> bool {
    matches!(update, Update::Status { .. } | Update::Said(_))
}

/// The change of the task that is to be logged, if it is one.
pub(super) fn update(output: Output) -> Option<Update> {
    match output {
        Output::Status {
            state,
            message,
            metadata,
        } => Some(Update::Status {
            state,
            message,
            metadata,
        }),
        Output::Said(message) => Some(Update::Said(message)),
        Output::Artifact {
            artifact,
            append,
            last_chunk,
            metadata,
        } => Some(Update::Artifact {
            artifact,
            append,
            last_chunk,
            metadata,
        }),
        Output::Metadata(metadata) => Some(Update::Metadata(metadata)),
        Output::Revised {
            message_id,
            message,
            metadata,
            is_quiet,
        } => Some(Update::Revised {
            revised: Revised {
                message_id,
                message,
                is_quiet,
            },
            metadata,
        }),
        Output::Ended => None,
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use bridge_protocol::{
        a2a::TaskState,
        activity::{Activity, ChannelAccount, ConversationAccount},
        translate::{SilentEnd, TurnContext as Place},
    };

    use super::*;
    use crate::{
        bot::outbox::Outbox,
        caller::Caller,
        store::{Head, MemoryStore},
    };

    fn machine() -> Machine {
        let place = Place {
            task_id: "t".into(),
            context_id: "c".into(),
            channel_id: "a2a".into(),
            service_url: "urn:x".into(),
            conversation: ConversationAccount::new("t"),
            user: ChannelAccount::default(),
            bot: ChannelAccount::default(),
            activity_id: "a".into(),
            now: "2026-01-01T00:00:00Z".into(),
            locale: None,
            delivery_mode: None,
            in_full: false,
        };
        Machine::new(place, SilentEnd::default())
    }

    #[tokio::test]
    async fn a_log_that_fails_is_told_to_the_bot_and_ends_the_turn() {
        // The store does not know the task: it refuses everything.
        let store = Arc::new(MemoryStore::new());
        let head = Head {
            task: "t".into(),
            owner: Caller::anonymous(),
            agent: "a".into(),
            context_id: "c".into(),
            client_id: None,
            seq: 1,
            state: TaskState::Submitted,
            status_time: "2026-01-01T00:00:00Z".parse().unwrap(),
            last_turn: 0,
            turns: Vec::new(),
        };
        let handle = TaskHandle::new(store, Arc::new(head));
        let (outbox, queue) = Outbox::open("t", "a");
        let mut pump = Pump::new(machine(), handle, queue);
        let message = || Box::new(Activity::message("hi"));
        let speaking = async move {
            let queued = outbox.send(message()).await;
            (queued, outbox.flush().await, outbox.send(message()).await)
        };
        let (told, ()) = tokio::join!(speaking, pump.run());
        let unkept = || SendError::Unkept { task: "t".into() };
        assert_eq!(told, (Ok(()), Err(unkept()), Err(unkept())));
        assert_eq!(pump.end(Input::TurnEnded), Err(unkept()));
    }
}
