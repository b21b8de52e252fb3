//! Decides whether a new turn can run at once or must wait, before its message is logged.

use std::sync::Arc;

use super::{
    TurnError, Turns,
    conversation_slot::ConversationSlot,
    memory_budget::{self, BudgetReservation},
    queue::{ConversationKey, Placed, TurnJob, conversation_key},
    run::{BegunTurn, Held, ReadyTurn},
    submit::{IncomingMessage, Target},
};
use crate::{agent::Agent, executor::CancelSignal, store::Head};

/// The place of a new turn.
pub(super) enum Placement {
    /// The turn runs at once.
    AtOnce { slot: ConversationSlot, cancel_signal: CancelSignal, held: Held },
    /// The turn has its conversation, but its agent runs as many turns as it may.
    AgentFull { slot: ConversationSlot, cancel_signal: CancelSignal },
    /// The turn waits for others of its conversation in this process.
    Queued(QueuePlace),
    /// Another process may work on the conversation, or have left turns in it.
    Shared(ConversationKey),
}

impl Placement {
    pub(super) fn runs_at_once(&self) -> bool {
        matches!(self, Self::AtOnce { .. })
    }

    /// Goes on when the message is in the log. Returns the turn if it can run now.
    pub(super) fn logged(
        self,
        turns: &Turns,
        job: Arc<TurnJob>,
        head: Arc<Head>,
    ) -> Option<ReadyTurn> {
        match self {
            Self::AtOnce { slot, cancel_signal, held } => {
                let begun = Some(BegunTurn { head, held });
                Some(ReadyTurn { slot, job, cancel_signal, begun })
            }
            Self::AgentFull { slot, cancel_signal } => {
                turns.spawn(ReadyTurn::queued(slot, job, cancel_signal));
                None
            }
            Self::Queued(place) => place.keep(),
            Self::Shared(key) => {
                turns.take_up_later(&key);
                None
            }
        }
    }

    /// Gives up the place when the log has refused the message. Other turns of the conversation continue.
    pub(super) fn refused(self, turns: &Turns) {
        match self {
            Self::Shared(key) => turns.take_up_later(&key),
            Self::AtOnce { .. } | Self::AgentFull { .. } | Self::Queued(_) => {}
        }
    }
}

impl Turns {
    /// Finds a place for a new turn.
    pub(super) async fn place(
        &self,
        agent: &Agent,
        incoming: &IncomingMessage,
        target: &Target,
        job: &Arc<TurnJob>,
        reservation: Option<BudgetReservation>,
    ) -> Result<Placement, TurnError> {
        let key = conversation_key(agent, &incoming.caller, &target.task, &target.context);
        // A waiting turn takes its place before it is logged, so that turns run in the order of the log.
        let cancel_signal = match self.0.queues.enter(&key, job, false) {
            Ok(cancel_signal) => cancel_signal,
            Err(waiting) => {
                let place = QueuePlace::new(self, &key, job);
                Box::pin(self.check_queue(agent, incoming, waiting)).await?;
                return Ok(Placement::Queued(place));
            }
        };
        let mut slot = ConversationSlot::new(self, Arc::clone(&key));
        if let Some(waiting) = Box::pin(slot.hold_alone()).await? {
            let checked = Box::pin(self.check_queue(agent, incoming, waiting)).await;
            let is_leased = slot.is_leased;
            slot.abandon();
            if is_leased && checked.is_err() {
                // Otherwise no process would work on the turns of which this one has the lease.
                self.take_up_later(&key);
            }
            return checked.map(|()| Placement::Shared(key));
        }
        let bytes = memory_budget::bytes_with_message(target.size, &incoming.message);
        let available = || self.0.memory_budget.try_reserve(&incoming.caller, bytes);
        let Some(reservation) = reservation.or_else(available) else {
            let refusal = TurnError::OutOfMemory { bytes };
            return Err(self.unless_repeated(incoming, refusal).await);
        };
        Ok(match self.0.places.try_run(&agent.name) {
            permit @ Some(_) => {
                Placement::AtOnce { slot, cancel_signal, held: (permit, Some(reservation)) }
            }
            None => Placement::AgentFull { slot, cancel_signal },
        })
    }

    /// Refuses a turn if too many wait in its conversation.
    async fn check_queue(
        &self,
        agent: &Agent,
        incoming: &IncomingMessage,
        waiting: usize,
    ) -> Result<(), TurnError> {
        match waiting < agent.settings.queue {
            true => Ok(()),
            false => Err(self.unless_repeated(incoming, TurnError::Busy { waiting }).await),
        }
    }
}

/// The place of a turn in its conversation's queue, from before the turn is logged. If the turn were logged first, a later
/// message of the same task could be logged, queued and even answered before. The turn leaves the queue when this is
/// dropped.
pub(super) struct QueuePlace {
    turns: Turns,
    key: ConversationKey,
    job: Arc<TurnJob>,
    is_settled: bool,
}

impl QueuePlace {
    fn new(turns: &Turns, key: &ConversationKey, job: &Arc<TurnJob>) -> Self {
        Self { turns: turns.clone(), key: Arc::clone(key), job: Arc::clone(job), is_settled: false }
    }

    /// Keeps the place, because the turn is in the log now. Returns the turn if the turns before it have ended
    /// meanwhile.
    fn keep(mut self) -> Option<ReadyTurn> {
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
