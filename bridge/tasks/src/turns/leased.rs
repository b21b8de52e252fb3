//! Turns of several processes on one store: the process with a conversation's lease runs its turns.
//!
//! A message for a conversation of another process waits in the log. The holder of the lease looks there before it
//! releases the conversation; so the message is found by the holder, or its process gets the lease.

use std::{
    sync::{Arc, Weak},
    time::Duration,
};

use bridge_protocol::a2a::TaskState;
use bridge_telemetry::TraceContext;
use tokio::{sync::Notify, task::JoinSet, time::sleep};

use super::{
    TurnError, Turns, TurnsInner,
    cancel::ended,
    conversation_slot::ConversationSlot,
    queue::{ConversationKey, NextTurn, TurnJob, conversation_key},
    run::ReadyTurn,
};
use crate::{
    executor::CancelSignal,
    store::{Conversation, Head, Lease, Leases, Result},
};

/// The pause after which a failed operation of the store is repeated, and the number of attempts to return a lease.
const AGAIN: Duration = Duration::from_secs(1);
const ATTEMPTS: usize = 60;

/// The interval at which open turns are checked without a reason. After a failure of the store, such as a failover to a
/// standby that lacks the last changes, a lease that was returned may belong to this process again, which does not know it.
const CHECK_INTERVAL: Duration = Duration::from_secs(10);

fn conversation(key: &ConversationKey) -> Conversation<'_> {
    let (agent, caller, id) = &**key;
    Conversation { agent, caller, id }
}

impl ConversationSlot {
    /// Takes the conversation's lease for turns that are in the log, and queues them. Returns their number; `None` if
    /// another process has the lease. Then the slot is given up, because that process finds the turns.
    pub(super) async fn hold(&mut self) -> Option<usize> {
        let turns = self.turns.clone();
        let Some(leases) = turns.leases().filter(|_| !self.is_leased) else {
            return Some(0);
        };
        match Box::pin(leases.acquire(conversation(&self.key))).await {
            Ok(Lease::Held(heads)) => {
                self.is_leased = true;
                return Some(Box::pin(turns.queue_open(&heads)).await);
            }
            Ok(Lease::Elsewhere(_)) => {}
            Err(error) => {
                tracing::debug!(%error, "a conversation waits for the next check of the log");
                turns.0.look_again.notify_one();
            }
        }
        self.abandon();
        None
    }

    /// Takes the lease for a turn that is not in the log yet. Returns `None` if the turn can start, else the number of
    /// tasks that it must wait for.
    pub(super) async fn hold_alone(&mut self) -> Result<Option<usize>> {
        let Some(leases) = self.turns.leases() else {
            return Ok(None);
        };
        Ok(match leases.acquire(conversation(&self.key)).await? {
            Lease::Held(heads) if heads.is_empty() => {
                self.is_leased = true;
                None
            }
            Lease::Held(heads) => {
                self.is_leased = true;
                Some(heads.len())
            }
            Lease::Elsewhere(count) => Some(count),
        })
    }

    /// Passes the slot to the next turn that waits here or in the log. If there is none, the lease is returned.
    pub(super) async fn next_leased(
        &mut self,
        leases: &Arc<dyn Leases>,
    ) -> Option<(Arc<TurnJob>, CancelSignal)> {
        let turns = self.turns.clone();
        let (mut failures, mut is_stuck) = (0, false);
        loop {
            match turns.0.queues.next_waiting(&self.key) {
                NextTurn::Nothing => {}
                next => {
                    let next = self.taken(next)?;
                    // A release that failed may have returned the lease all the same.
                    self.hold().await?;
                    return Some(next);
                }
            }
            self.is_leased = false;
            let is_any_left = match leases.release(conversation(&self.key)).await {
                Ok(is_any_left) => is_any_left,
                // Otherwise other processes would wait for this one, which has nothing to do there.
                Err(error) if failures < ATTEMPTS => {
                    tracing::debug!(%error, "the lease of a conversation is given back later");
                    failures += 1;
                    sleep(AGAIN).await;
                    continue;
                }
                Err(error) => {
                    tracing::warn!(%error, "the lease of a conversation was not given back");
                    turns.0.look_again.notify_one();
                    break;
                }
            };
            if !is_any_left && turns.0.queues.close(&self.key) {
                self.is_released = true;
                return None;
            }
            if is_stuck {
                break;
            }
            // Turns may remain that cannot be continued here, such as a turn of an agent that is not hosted any more.
            is_stuck = self.hold().await? == 0;
        }
        self.abandon();
        None
    }

    /// Leaves the conversation to the process with its lease. Turns that wait here are in the log.
    pub(super) fn abandon(&mut self) {
        self.is_released = true;
        if self.turns.0.queues.abandon(&self.key) {
            self.turns.take_up_later(&self.key);
        }
    }

    /// Continues in a separate task, with a slot in place of this one.
    pub(super) fn go_on_later(&mut self) {
        self.is_released = true;
        let (turns, key) = (self.turns.clone(), Arc::clone(&self.key));
        tokio::spawn(async move {
            let mut slot = ConversationSlot::new(&turns, key);
            if let Some((job, cancel_signal)) = slot.next().await {
                turns.run_all(ReadyTurn::queued(slot, job, cancel_signal)).await;
            }
        });
    }
}

impl Turns {
    /// Returns the leases, if other processes share the store.
    pub(super) fn leases(&self) -> Option<&Arc<dyn Leases>> {
        self.0.leases.as_ref()
    }

    /// Runs the logged turns of a conversation, unless another process does.
    pub(super) fn take_up_later(&self, key: &ConversationKey) {
        let (turns, key) = (self.clone(), Arc::clone(key));
        tokio::spawn(async move { turns.take_up(key).await });
    }

    async fn take_up(&self, key: ConversationKey) {
        let (agent, caller, _) = &*key;
        // This job holds the place until a turn is found.
        let nothing = Arc::new(TurnJob {
            agent: agent.clone(),
            caller: caller.clone(),
            task: Arc::default(),
            turn: 0,
            is_watched: false,
            cause: TraceContext::default(),
            unended: None,
        });
        if !self.0.queues.occupy(&key, nothing) {
            return;
        }
        let mut slot = ConversationSlot::new(self, key);
        if slot.hold().await.is_some() {
            slot.go_on_later();
        }
    }

    /// Queues the open turns of these tasks, and ends those that are lost. Returns the number of turns that are not in
    /// this process.
    async fn queue_open(&self, heads: &[Head]) -> usize {
        let mut count = 0;
        for head in heads {
            match self.recover_task(head).await {
                Ok(recovered) => count += recovered,
                Err(error) => {
                    tracing::error!(task = &*head.task, %error, "an open task was not recovered");
                    self.0.look_again.notify_one();
                }
            }
        }
        count
    }

    /// Takes up those of these tasks whose conversations have no process.
    pub(super) async fn take_up_unheld(
        &self,
        leases: &Arc<dyn Leases>,
        heads: &[Head],
    ) -> Result<usize, TurnError> {
        let mut keys: Vec<ConversationKey> = Vec::new();
        for head in heads {
            if let Some(agent) = self.agent(&head.agent) {
                let key = conversation_key(&agent, &head.owner, &head.task, &head.context_id);
                if !keys.contains(&key) {
                    keys.push(key);
                }
            }
        }
        let conversations: Vec<Conversation<'_>> = keys.iter().map(conversation).collect();
        let elsewhere = leases.are_elsewhere(&conversations).await?;
        let mut taken_up = 0;
        for (key, is_elsewhere) in keys.into_iter().zip(elsewhere) {
            if !is_elsewhere {
                taken_up += 1;
                self.take_up(key).await;
            }
        }
        Ok(taken_up)
    }

    /// Takes up the turns of other processes that have ended, as long as these turns exist.
    pub(super) fn take_up_from_others(&self) {
        if let Some(leases) = self.leases() {
            let (leases, turns) = (Arc::clone(leases), Arc::downgrade(&self.0));
            let look_again = Arc::clone(&self.0.look_again);
            tokio::spawn(take_up_periodically(leases, turns, look_again));
        }
    }

    /// Cancels a turn here when another process cancels its task, until the result is dropped.
    pub(super) fn watch_for_cancelation(
        &self,
        job: &TurnJob,
        cancel_signal: &CancelSignal,
    ) -> Option<JoinSet<()>> {
        self.leases()?;
        let (store, cancel_signal) = (Arc::clone(&self.0.store), cancel_signal.clone());
        let (caller, task) = (job.caller.clone(), job.task.clone());
        let mut watching = JoinSet::new();
        watching.spawn(async move {
            let ended = ended(&*store, &caller, &task).await;
            if ended.is_some_and(|head| head.state == TaskState::Canceled) {
                cancel_signal.cancel();
            }
        });
        Some(watching)
    }
}

/// Checks open turns when leases became free, when a failure here may have left a turn, and at intervals.
async fn take_up_periodically(
    leases: Arc<dyn Leases>,
    turns: Weak<TurnsInner>,
    look_again: Arc<Notify>,
) {
    let (mut seen, mut has_failed) = (0, false);
    loop {
        tokio::select! {
            count = leases.freed(seen) => seen = count,
            () = look_again.notified() => sleep(AGAIN).await,
            () = sleep(CHECK_INTERVAL) => {}
        }
        let Some(inner) = turns.upgrade() else {
            return;
        };
        let taken_up = Turns(inner).recover_open_tasks(|_| true).await;
        if let Err(error) = &taken_up {
            // An outage of the store is logged once.
            if !has_failed {
                tracing::warn!(%error, "the turns of other bridges are taken up later");
            }
            look_again.notify_one();
        }
        has_failed = taken_up.is_err();
    }
}
