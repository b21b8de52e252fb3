//! Runs a conversation's turns one after the other: the holder of the slot runs its turn, and then passes the slot on.

use std::sync::Arc;

use super::{
    Turns,
    queue::{ConversationKey, NextTurn, TurnJob},
    run::ReadyTurn,
};
use crate::executor::CancelSignal;

/// The right to run turns in a conversation. When it is dropped, the next waiting turn starts.
pub(super) struct ConversationSlot {
    pub(super) turns: Turns,
    pub(super) key: ConversationKey,
    pub(super) is_released: bool,
    /// Whether this process has the conversation's lease, if it needs one.
    pub(super) is_leased: bool,
}

impl ConversationSlot {
    pub(super) fn new(turns: &Turns, key: ConversationKey) -> Self {
        Self { turns: turns.clone(), key, is_released: false, is_leased: false }
    }

    /// Passes the slot to the next waiting turn; if there is none, the conversation becomes free. A turn that is not in
    /// the log yet takes over the slot.
    pub(super) async fn next(&mut self) -> Option<(Arc<TurnJob>, CancelSignal)> {
        match self.turns.leases().cloned() {
            None => self.next_here(),
            Some(leases) => Box::pin(self.next_leased(&leases)).await,
        }
    }

    /// Does the same in a process that does not share the store.
    fn next_here(&mut self) -> Option<(Arc<TurnJob>, CancelSignal)> {
        let next = self.turns.0.queues.next(&self.key);
        self.taken(next)
    }

    /// Returns the turn that now has the slot, if it can run; otherwise the slot has nothing more to release.
    pub(super) fn taken(&mut self, next: NextTurn) -> Option<(Arc<TurnJob>, CancelSignal)> {
        match next {
            NextTurn::Ready(job, cancel_signal) => Some((job, cancel_signal)),
            NextTurn::Unlogged | NextTurn::Nothing => {
                self.is_released = true;
                None
            }
        }
    }
}

impl Drop for ConversationSlot {
    fn drop(&mut self) {
        // Without a runtime the program is ending, and waiting turns continue after a restart.
        if self.is_released || tokio::runtime::Handle::try_current().is_err() {
            return;
        }
        if self.turns.leases().is_some() {
            self.go_on_later();
        } else if let Some((job, cancel_signal)) = self.next_here() {
            let slot = Self::new(&self.turns, Arc::clone(&self.key));
            self.turns.spawn(ReadyTurn::queued(slot, job, cancel_signal));
        }
    }
}
