//! The caller has enough: the task is canceled at once, and the agent is told afterwards.

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

use bridge_protocol::a2a::{Task, TaskState};
use tokio::time::{Duration, timeout};

use super::{TurnError, Turns, queue::key, unfinished};
use crate::{
    agent::Agent,
    caller::Caller,
    executor::{EmitError, TaskHandle, Update},
    store::{Event, Head, Snapshot, Turn, TurnState},
};

/// How long an agent may take to clean up after a task that was canceled.
const CLEANING: Duration = Duration::from_secs(30);

impl Turns {
    /// Cancels a task. It overtakes a running turn: what the agent still says is dropped.
    ///
    /// # Errors
    /// [`TurnError::Ended`] if the task is terminal.
    pub async fn cancel(
        &self,
        agent: &str,
        caller: &Caller,
        task: &str,
    ) -> Result<Snapshot, TurnError> {
        let agent = self.known_agent(agent)?;
        let head = self.0.store.head(caller, task).await?;
        if head.agent != agent.name {
            return Err(TurnError::NotFound { task: task.into() });
        }
        let handle = TaskHandle::new(self.0.store.clone(), Arc::clone(&head));
        let is_known = AtomicBool::new(true);
        let events = |head: &Head, closing: &[Event]| {
            // What is made last is what is appended.
            is_known.store(knows(head), Ordering::Relaxed);
            [closing, &cancelation(&handle, head)].concat()
        };
        let canceled = unfinished::append_closing(&handle, &[], events).await;
        canceled.map_err(|error| match error {
            EmitError::Ended { task } => TurnError::Ended { task },
            EmitError::Store(error) => error.into(),
        })?;
        self.0
            .queues
            .cancel(&key(&agent, caller, task, &head.context_id), task);
        let snapshot = self.0.store.task(caller, task).await?;
        if is_known.into_inner() {
            tell(agent, snapshot.task.clone(), caller.clone());
        }
        Ok(snapshot)
    }
}

/// The task is canceled, and with it every turn that has not ended.
fn cancelation(handle: &TaskHandle, head: &Head) -> Vec<Event> {
    let ended = head
        .turns
        .iter()
        .map(|turn| Event::TurnEnded { turn: turn.turn });
    let canceled = handle.events(vec![Update::state(TaskState::Canceled)]);
    canceled.into_iter().chain(ended).collect()
}

/// Whether the agent may have seen anything of the task: not if its turns, all of them, still wait. A task
/// without turns was begun by the agent.
fn knows(head: &Head) -> bool {
    let waiting = |turn: &Turn| turn.state == TurnState::Queued;
    let waiting = head.turns.iter().filter(|turn| waiting(turn)).count() as u64;
    head.state != TaskState::Submitted || head.last_turn == 0 || waiting < head.last_turn
}

/// Tells the agent, without anybody waiting for it.
pub(super) fn tell(agent: Arc<Agent>, task: Arc<Task>, caller: Caller) {
    tokio::spawn(async move {
        let id = task.id.clone();
        if timeout(CLEANING, agent.executor.canceled(task, caller))
            .await
            .is_err()
        {
            tracing::warn!(
                task = id,
                "the agent takes too long to clean up after a canceled task"
            );
        }
    });
}
