//! Finds the end of a turn's answer in the log, so that a client that waited for the turn gets the task as of then,
//! without the effects of later turns.

use super::{Context, Service};
use crate::{
    store::{Event, Head, Seq, Snapshot, StoreError, StoredEvent},
    turns::{Submitted, snapshot_at},
};

/// The number of events that are read at a time.
const PAGE: usize = 256;

impl Service {
    /// Returns the task as of the event with which the turn of this message ended or asked for input. `head` is a
    /// head at or after that event.
    pub(super) async fn task_at_answer(
        &self,
        context: &Context,
        submitted: &Submitted,
        head: &Head,
    ) -> Result<Snapshot, StoreError> {
        let (store, caller, task) = (self.turns.store(), &context.caller, &submitted.task);
        let now = store.task(caller, task).await?;
        // Usually there are no later events. A repeated message gets the current state.
        let is_last = now.seq == head.seq && head.last_turn == submitted.turn;
        if is_last || submitted.repeated {
            return Ok(now);
        }
        let mut scan = AnswerScan::of(submitted);
        let mut seen = submitted.message;
        while seen < now.seq && !scan.is_done {
            let page = store.read(caller, task, seen, PAGE).await?;
            let Some(last) = page.last() else {
                break;
            };
            seen = last.seq;
            page.iter().for_each(|stored| scan.observe(stored));
        }
        match scan.answer_end {
            Some(answer_end) => snapshot_at(&**store, caller, task, answer_end).await,
            None => Ok(now),
        }
    }
}

/// Searches for the end of the answer, event by event.
struct AnswerScan {
    turn: u64,
    /// The last event that was logged with the message.
    last: Seq,
    has_begun: bool,
    /// The last event of the answer.
    answer_end: Option<Seq>,
    is_done: bool,
}

impl AnswerScan {
    fn of(submitted: &Submitted) -> Self {
        Self {
            turn: submitted.turn,
            last: submitted.last,
            has_begun: false,
            answer_end: None,
            is_done: false,
        }
    }

    fn observe(&mut self, stored: &StoredEvent) {
        if self.is_done {
            return;
        }
        let is_settled = match &stored.event {
            Event::TurnStarted { turn, .. } if *turn == self.turn => {
                self.has_begun = true;
                false
            }
            Event::TurnEnded { turn } => *turn == self.turn,
            Event::Status { status, .. } => {
                let asks = self.has_begun && status.state.is_interrupted();
                stored.seq > self.last && (asks || status.state.is_terminal())
            }
            // Events that come with the next message are not part of this answer.
            Event::Message(_) | Event::TurnQueued { .. } | Event::TurnStarted { .. } => {
                self.is_done = self.answer_end.is_some();
                false
            }
            _ => false,
        };
        if !self.is_done && (is_settled || self.answer_end.is_some()) {
            self.answer_end = Some(stored.seq);
        }
    }
}
