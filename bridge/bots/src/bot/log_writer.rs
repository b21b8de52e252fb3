//! Writes a bot's activities to the task log: the receiving end of the queue that [`super::output`] fills.

use std::time::Duration;

use bridge_translate::{Input, LateActivity, Output, Translation};
use tokio::{
    sync::{mpsc, oneshot},
    time::timeout,
};

use super::output::{OutputItem, QUEUE_CAPACITY, SendError, log_dropped};
use crate::{
    executor::{EmitError, TaskHandle, Update},
    store::Revised,
};

/// The default silence of a bot after which text that the translation holds back is logged.
pub(super) const FLUSH_DELAY: Duration = Duration::from_secs(1);

/// Translates a bot's activities and writes the changes to the task's log, in order.
///
/// Everything that is ready at the same time is one append: while one append is in progress, the changes for the
/// next one accumulate.
pub(super) struct LogWriter {
    machine: Translation,
    handle: TaskHandle,
    queue: mpsc::Receiver<OutputItem>,
    flush_delay: Duration,
    /// Changes that are not logged yet.
    updates: Vec<Update>,
    /// Whether the bot has changed the task's status.
    has_status: bool,
    /// Callers that wait until everything is logged.
    flush_waiters: Vec<oneshot::Sender<Result<(), SendError>>>,
    /// Whether the log accepts changes, or why it drops them.
    log_state: Result<(), SendError>,
}

impl LogWriter {
    pub(super) fn new(
        machine: Translation,
        handle: TaskHandle,
        queue: mpsc::Receiver<OutputItem>,
    ) -> Self {
        Self {
            machine,
            handle,
            queue,
            flush_delay: FLUSH_DELAY,
            updates: Vec::new(),
            has_status: false,
            flush_waiters: Vec::new(),
            log_state: Ok(()),
        }
    }

    /// Sets the silence of the bot after which text that the translation holds back is logged.
    pub(super) fn flush_after(mut self, silence: Duration) -> Self {
        self.flush_delay = silence;
        self
    }

    /// Logs the bot's activities until the bot can send no more. The last ones are not logged here, but together with
    /// the end of the turn.
    pub(super) async fn run(&mut self) {
        let mut batch = Vec::with_capacity(QUEUE_CAPACITY);
        while self.receive(&mut batch).await > 0 {
            batch.drain(..).for_each(|sent| self.handle_item(sent));
            if self.queue.is_closed() && self.queue.is_empty() {
                return;
            }
            self.log().await;
        }
    }

    /// Waits for the bot's next activities. Logs held-back text if they take longer than the flush delay.
    async fn receive(&mut self, batch: &mut Vec<OutputItem>) -> usize {
        if self.machine.has_unsent() {
            let received = self.queue.recv_many(batch, QUEUE_CAPACITY);
            if let Ok(count) = timeout(self.flush_delay, received).await {
                return count;
            }
            self.handle(Input::Lull);
            self.log().await;
        }
        self.queue.recv_many(batch, QUEUE_CAPACITY).await
    }

    /// Returns the changes that end the turn in this way, preceded by those that were not logged yet.
    pub(super) fn end(mut self, how: Input) -> Result<Vec<Update>, SendError> {
        self.log_state.clone()?;
        self.handle(how);
        Ok(self.updates)
    }

    /// Returns the last changes of a bot that spoke outside of a turn. The task's status stays as it was unless the
    /// bot changed it.
    pub(super) fn finish_unprompted(self) -> Result<Vec<Update>, SendError> {
        let has_status = self.has_status;
        let mut updates = self.end(Input::TurnEnded)?;
        updates.retain(|update| has_status || !is_status(update));
        Ok(updates)
    }

    fn handle_item(&mut self, sent: OutputItem) {
        match sent {
            OutputItem::Activity(activity) => self.handle(Input::Activity(*activity)),
            OutputItem::Flush(done) => self.flush_waiters.push(done),
        }
    }

    fn handle(&mut self, input: Input) {
        if let Err(LateActivity { activity }) = self.machine.handle(input) {
            log_dropped(self.handle.task_id(), &activity);
        }
        let outputs = std::iter::from_fn(|| self.machine.poll());
        self.updates.extend(outputs.filter_map(update));
        self.has_status |= self.updates.iter().any(is_status);
    }

    async fn log(&mut self) {
        let updates = std::mem::take(&mut self.updates);
        if self.log_state.is_ok() {
            self.log_state = self.handle.emit(updates).await.map_err(|error| match error {
                EmitError::Ended { task } => SendError::Ended { task },
                EmitError::Store(error) => {
                    let task = self.handle.task_id().to_owned();
                    if !error.is_reported_by_store() {
                        tracing::error!(task, %error, "a bot's output could not be written to the task log");
                    }
                    self.queue.close();
                    SendError::Unkept { task }
                }
            });
        }
        for done in self.flush_waiters.drain(..) {
            // The receiver may be gone.
            let _ = done.send(self.log_state.clone());
        }
    }
}

pub(super) fn is_status(update: &Update) -> bool {
    matches!(update, Update::Status { .. } | Update::Said(_))
}

/// Converts an output of the translation into a change of the task, if it is one.
pub(super) fn update(output: Output) -> Option<Update> {
    match output {
        Output::Status { state, message, metadata } => {
            Some(Update::Status { state, message, metadata })
        }
        Output::Said(message) => Some(Update::Said(message)),
        Output::Artifact { artifact, append, last_chunk, metadata } => {
            Some(Update::Artifact { artifact, append, last_chunk, metadata })
        }
        Output::Metadata(metadata) => Some(Update::Metadata(metadata)),
        Output::Revised { message_id, message, metadata, is_quiet } => {
            Some(Update::Revised { revised: Revised { message_id, message, is_quiet }, metadata })
        }
        Output::Ended => None,
    }
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, atomic::Ordering};

    use bridge_protocol::activity::{Activity, ChannelAccount, ConversationAccount};
    use bridge_translate::{SilentEnd, TranslationContext};

    use super::*;
    use crate::{
        bot::{output::BotOutput, tests::head},
        store::{MemoryStore, testing::FailingStore},
    };

    fn machine() -> Translation {
        let place = TranslationContext {
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
        Translation::new(place, SilentEnd::default())
    }

    #[tokio::test]
    async fn a_failing_log_is_reported_to_the_bot_and_ends_the_turn() {
        let store = FailingStore::new(Arc::new(MemoryStore::new()));
        store.unwritable.store(usize::MAX, Ordering::SeqCst);
        let handle = TaskHandle::new(Arc::new(store), Arc::new(head()));
        let (output, queue) = BotOutput::open("t", "a");
        let mut log_writer = LogWriter::new(machine(), handle, queue);
        let message = || Box::new(Activity::message("hi"));
        let speaking = async move {
            let queued = output.send(message()).await;
            (queued, output.flush().await, output.send(message()).await)
        };
        let (log_result, ()) = tokio::join!(speaking, log_writer.run());
        let unkept = || SendError::Unkept { task: "t".into() };
        assert_eq!(log_result, (Ok(()), Err(unkept()), Err(unkept())));
        assert_eq!(log_writer.end(Input::TurnEnded), Err(unkept()));
    }
}
