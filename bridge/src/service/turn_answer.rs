//! Where a turn's answer stands in the log: whoever waited for it is shown the task as it was then, and not
//! what a turn that waited behind it has begun since.

use super::{Context, Service};
use crate::{
    store::{Event, Head, Seq, Snapshot, StoreError, StoredEvent},
    turns::{Submitted, snapshot_at},
};

/// How many events of a log are read at a time.
const PAGE: usize = 256;

impl Service {
    /// The task as it stood when the turn of this message was over or asked for something, of which `head`
    /// told.
    pub(super) async fn task_at_answer(
        &self,
        context: &Context,
        submitted: &Submitted,
        head: &Head,
    ) -> Result<Snapshot, StoreError> {
        let (store, caller, task) = (self.turns.store(), &context.caller, &submitted.task);
        let now = store.task(caller, task).await?;
        // Mostly nobody has said anything since; and who says the same again wants to know how it stands.
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

/// Looks for the place, event by event.
struct AnswerScan {
    turn: u64,
    /// The last event that was logged with the message.
    last: Seq,
    has_begun: bool,
    /// The last event that belongs to the answer.
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
            // What comes with the next message is no part of the answer to this one.
            Event::Message(_) | Event::TurnQueued { .. } | Event::TurnStarted { .. } => {
                self.is_done = self.answer_end.is_some();
                false
            }
            Event::Created(_)
            | Event::Said(_)
            | Event::Artifact { .. }
            | Event::Metadata { .. } => false,
        };
        if !self.is_done && (is_settled || self.answer_end.is_some()) {
            self.answer_end = Some(stored.seq);
        }
    }
}
