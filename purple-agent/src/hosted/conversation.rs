//! One conversation: an inbox, and a policy that works on its messages.

use bridge::executor::Turn;
use bridge_program::lock;
use bridge_protocol::{
    a2a::{Message, Role, Task},
    wire::to_value,
};
use mcp_tools::{context::AgentContext, inbox::Receipt};
use std::sync::{
    Arc, Mutex,
    atomic::{AtomicBool, Ordering},
};
use tokio::sync::{Mutex as AsyncMutex, MutexGuard as AsyncMutexGuard};

use super::acknowledge::{self, StatusAcknowledger};
use crate::agent::{Notice, Progress, PurpleAgent, Work};

/// The sender's name in `incoming_messages`.
const FROM: &str = "green";

/// The state of one A2A context.
pub(super) struct Conversation {
    context: AgentContext,
    /// The policy's work, once it has begun. It is locked while a turn runs it.
    work_slot: AsyncMutex<Option<Work>>,
    /// The task whose turn runs the work, or ran it last.
    task: Mutex<String>,
    /// Whether the work has ended and its connection is being closed.
    is_ending: AtomicBool,
}

/// The reply to a turn.
#[derive(Debug)]
pub(super) enum Answer {
    /// The message was added to the inbox of the work that runs in this task.
    Queued { by: String },
    /// The message was received before and changes nothing.
    Duplicate,
    /// The policy has worked.
    Worked(Progress),
    /// The task was canceled.
    Canceled,
}

/// Restores a conversation from the caller's messages in the task so far; after a restart nothing else is left of
/// it.
pub(super) fn restored(agent: &PurpleAgent, task: &Task) -> Conversation {
    let context = agent.context();
    let said = task.history.iter().filter(|one| one.role == Role::User);
    // The last message is the turn's own, which the turn adds itself.
    let before = said.clone().count().saturating_sub(1);
    for message in said.take(before) {
        receive(&context, message);
    }
    Conversation {
        context,
        work_slot: AsyncMutex::new(None),
        task: Mutex::default(),
        is_ending: AtomicBool::new(false),
    }
}

/// Writes the progress of a server's agent to its log.
fn log(notice: &Notice) {
    tracing::debug!("{notice}");
}

fn receive(context: &AgentContext, message: &Message) -> Receipt {
    context.incoming_messages().receive(FROM, to_value(message), context.now())
}

impl Conversation {
    /// Adds a turn's message to the inbox and runs the work, unless another turn is running it.
    pub(super) async fn take(self: Arc<Self>, agent: &PurpleAgent, turn: &Turn) -> Answer {
        if let Receipt::Duplicate(_) = receive(&self.context, &turn.message) {
            return Answer::Duplicate;
        }
        loop {
            let mut work_slot = match self.work_slot.try_lock() {
                Ok(work_slot) => work_slot,
                Err(_) if self.is_ending.load(Ordering::Acquire) => self.work_slot.lock().await,
                Err(_) => return Answer::Queued { by: self.task() },
            };
            self.begin_turn(turn);
            let progress = self.work(agent, turn, &mut work_slot).await;
            drop(work_slot);
            match progress {
                // Another turn's message may have been added just before the work ended; this turn then continues
                // with it.
                Some(Progress::Waits { seen, .. })
                    if self.context.incoming_messages().newest() > seen => {}
                Some(progress) => return Answer::Worked(progress),
                None => return Answer::Canceled,
            }
        }
    }

    fn begin_turn(&self, turn: &Turn) {
        // The turn that ended the work may have been stopped before it could say so.
        self.is_ending.store(false, Ordering::Release);
        turn.task.id.clone_into(&mut lock(&self.task));
        if acknowledge::is_wanted(&turn.message) {
            let acknowledger = StatusAcknowledger(turn.handle.clone());
            self.context.set_acknowledger(Arc::new(acknowledger));
        }
    }

    /// Runs the work until the policy waits or ends; returns `None` if the task is canceled first.
    async fn work(
        &self,
        agent: &PurpleAgent,
        turn: &Turn,
        work_slot: &mut AsyncMutexGuard<'_, Option<Work>>,
    ) -> Option<Progress> {
        let work = work_slot.get_or_insert_with(|| agent.work(self.context.clone(), Arc::new(log)));
        let progress = tokio::select! {
            progress = work.advance() => Some(progress),
            () = turn.cancel_signal.canceled() => None,
        };
        if !matches!(progress, Some(Progress::Waits { .. })) {
            self.end(work_slot).await;
        }
        progress
    }

    /// Ends the work. Closing its connection may take seconds, in which further messages are not for this work any more.
    async fn end(&self, work_slot: &mut AsyncMutexGuard<'_, Option<Work>>) {
        self.is_ending.store(true, Ordering::Release);
        **work_slot = None;
        self.context.disconnect().await;
        self.is_ending.store(false, Ordering::Release);
    }

    /// Ends the work if it belongs to this task and is idle; otherwise the turn that runs it ends it.
    pub(super) async fn cancel(&self, task: &str) {
        if self.task() != task {
            return;
        }
        if let Ok(mut work_slot) = self.work_slot.try_lock() {
            self.end(&mut work_slot).await;
        }
    }

    /// Returns whether the work is idle.
    pub(super) fn is_idle(&self) -> bool {
        self.work_slot.try_lock().is_ok()
    }

    fn task(&self) -> String {
        lock(&self.task).clone()
    }
}
