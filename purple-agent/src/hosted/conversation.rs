//! One conversation: an inbox, and a policy that works on what is in it.

use bridge::executor::Turn;
use bridge_protocol::a2a::{Message, Role, Task};
use mcp_tools::{context::AgentContext, inbox::Receipt};
use std::sync::{Arc, Mutex, PoisonError};
use tokio::sync::{Mutex as Desk, MutexGuard as AtDesk};

use super::acknowledge::{self, InTask};
use crate::agent::{Notice, Outcome, Progress, PurpleAgent, Work};

/// Who speaks, as `incoming_messages` says.
const FROM: &str = "green";

/// What belongs to one context.
#[derive(Debug)]
pub(super) struct Conversation {
    context: AgentContext,
    /// The work that was begun. Whoever works on it keeps it locked.
    desk: Desk<Option<Work>>,
    /// The task whose turn works on it, or did last.
    task: Mutex<String>,
}

/// What a turn is answered with.
#[derive(Debug)]
pub(super) enum Answer {
    /// The message went to the work that goes on in this task.
    Noted { by: String },
    /// The message was received before, so it changes nothing.
    Known,
    /// The policy waits for a message.
    Waits { missing: String },
    /// The policy's work has ended.
    Ended(Outcome),
    /// The task was canceled.
    Canceled,
}

/// A conversation that knows what its caller has said in the task so far: after a restart there is no
/// more left of it.
pub(super) fn restored(agent: &PurpleAgent, task: &Task) -> Conversation {
    let context = agent.context();
    let said = task.history.iter().filter(|one| one.role == Role::User);
    // The last of them is the turn's own message, which the turn takes in itself.
    let before = said.clone().count().saturating_sub(1);
    for message in said.take(before) {
        receive(&context, message);
    }
    Conversation {
        context,
        desk: Desk::new(None),
        task: Mutex::default(),
    }
}

/// A server's progress is in its log.
fn log(notice: &Notice) {
    tracing::debug!("{notice}");
}

fn receive(context: &AgentContext, message: &Message) -> Receipt {
    // A protocol object has string keys and finite numbers, so writing it cannot fail.
    let message = serde_json::to_value(message).unwrap_or_default();
    context
        .incoming_messages()
        .receive(FROM, message, context.now())
}

impl Conversation {
    /// Takes in a turn's message and works on it, unless another turn does already.
    pub(super) async fn take(self: Arc<Self>, agent: &PurpleAgent, mut turn: Turn) -> Answer {
        if let Receipt::Again(_) = receive(&self.context, &turn.message) {
            return Answer::Known;
        }
        loop {
            let Ok(mut desk) = self.desk.try_lock() else {
                return Answer::Noted { by: self.task() };
            };
            self.sit_down(&turn);
            let answer = self.work(agent, &mut turn, &mut desk).await;
            drop(desk);
            match answer {
                // A message that came at the very end was only noted, so that this turn goes on with it.
                (Answer::Waits { .. }, seen)
                    if self.context.incoming_messages().newest() > seen => {}
                (answer, _) => return answer,
            }
        }
    }

    fn sit_down(&self, turn: &Turn) {
        turn.task.id.clone_into(&mut self.task_lock());
        if acknowledge::is_wanted(&turn.message) {
            let in_task = InTask(turn.handle.clone());
            self.context.set_acknowledger(Arc::new(in_task));
        }
    }

    /// Works until the policy waits or ends, or the task is canceled; says which messages it knew of.
    async fn work(
        &self,
        agent: &PurpleAgent,
        turn: &mut Turn,
        desk: &mut AtDesk<'_, Option<Work>>,
    ) -> (Answer, u64) {
        let work = desk.get_or_insert_with(|| agent.work(self.context.clone(), Arc::new(log)));
        let progress = tokio::select! {
            progress = work.advance() => Some(progress),
            () = turn.inbox.canceled() => None,
        };
        let answer = match progress {
            Some(Progress::Waits { missing, seen }) => return (Answer::Waits { missing }, seen),
            Some(Progress::Ended(outcome)) => Answer::Ended(outcome),
            None => Answer::Canceled,
        };
        **desk = None;
        self.context.disconnect().await;
        (answer, 0)
    }

    /// Ends the work if it is this task's and rests; a turn that works on it ends it itself.
    pub(super) async fn cancel(&self, task: &str) {
        if self.task() != task {
            return;
        }
        if let Ok(mut desk) = self.desk.try_lock() {
            *desk = None;
            self.context.disconnect().await;
        }
    }

    /// Whether nobody works on it now.
    pub(super) fn rests(&self) -> bool {
        self.desk.try_lock().is_ok()
    }

    fn task(&self) -> String {
        self.task_lock().clone()
    }

    fn task_lock(&self) -> std::sync::MutexGuard<'_, String> {
        self.task.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
