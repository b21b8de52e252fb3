//! The place of a turn in its conversation's queue, from before the turn is logged.
//!
//! If a turn were logged first, a later message of the same task could be logged, queued and even answered before this
//! turn is queued. So the place is taken first, and given up if the log refuses the message.

use std::sync::Arc;

use super::{
    Turns,
    conversation_slot::ConversationSlot,
    queue::{ConversationKey, Placed, TurnJob},
    run::ReadyTurn,
};

/// The place of a turn that is not in the log yet. The turn leaves the queue when this is dropped.
pub(super) struct QueuePlace {
    turns: Turns,
    key: ConversationKey,
    job: Arc<TurnJob>,
    is_settled: bool,
}

impl QueuePlace {
    pub(super) fn new(turns: &Turns, key: &ConversationKey, job: &Arc<TurnJob>) -> Self {
        Self { turns: turns.clone(), key: Arc::clone(key), job: Arc::clone(job), is_settled: false }
    }

    /// Keeps the place, because the turn is in the log now. Returns the turn if the turns before it have ended
    /// meanwhile.
    pub(super) fn keep(mut self) -> Option<ReadyTurn> {
        let (key, job) = (Arc::clone(&self.key), Arc::clone(&self.job));
        match self.settle(true) {
            Placed::Waiting => None,
            Placed::Due(cancel_signal) => {
                let slot = ConversationSlot::new(&self.turns, key);
                Some(ReadyTurn::queued(slot, job, cancel_signal))
            }
            // The conversation was left to another process, or the task was canceled.
            Placed::Gone => {
                self.turns.wait_or_run(key, job);
                None
            }
        }
    }

    fn settle(&mut self, is_logged: bool) -> Placed {
        self.is_settled = true;
        self.turns.0.queues.settle(&self.key, &self.job, is_logged)
    }
}

impl Drop for QueuePlace {
    fn drop(&mut self) {
        if !self.is_settled
            && let Placed::Due(_) = self.settle(false)
        {
            // The next turn starts when the slot is dropped.
            drop(ConversationSlot::new(&self.turns, Arc::clone(&self.key)));
        }
    }
}
