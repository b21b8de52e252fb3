//! Cancels tasks: the task ends at once, and the agent is notified afterwards.

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

use bridge_protocol::a2a::{Task, TaskState};
use tokio::time::{Duration, timeout};

use super::{TurnError, Turns, open_artifacts, queue::possible_keys};
use crate::{
    agent::Agent,
    caller::Caller,
    executor::{EmitError, TaskHandle, Update},
    store::{Event, Head, Snapshot, Turn, TurnState},
};

/// The time limit for an agent's cleanup after a cancelation.
const CLEANUP_TIME: Duration = Duration::from_secs(30);

impl Turns {
    /// Cancels a task. It does not wait for a running turn, and later changes of its agent are dropped. The agent is notified
    /// if it is still hosted.
    ///
    /// # Errors
    /// Returns [`TurnError::Ended`] if the task is in a terminal state.
    pub async fn cancel(
        &self,
        agent: &str,
        caller: &Caller,
        task: &str,
    ) -> Result<Snapshot, TurnError> {
        let head = self.0.store.head(caller, task).await?;
        if *head.agent != *agent {
            return Err(TurnError::NotFound { task: task.into() });
        }
        let handle = TaskHandle::new(self.0.store.clone(), Arc::clone(&head));
        let agent_is_aware = AtomicBool::new(true);
        let events = |head: &Head, closing: &[Event]| {
            // The result of the last evaluation is the one that is appended.
            agent_is_aware.store(agent_knows(head), Ordering::Relaxed);
            [closing, &cancelation(&handle, head)].concat()
        };
        let canceled = open_artifacts::append_closing(&handle, &[], events).await;
        canceled.map_err(|error| match error {
            EmitError::Ended { task } => TurnError::Ended { task },
            EmitError::Store(error) => error.into(),
        })?;
        possible_keys(&head).iter().for_each(|key| self.0.queues.cancel(key, task));
        let snapshot = self.0.store.task(caller, task).await?;
        if agent_is_aware.into_inner()
            && let Some(agent) = self.agent(agent)
        {
            notify_agent(agent, snapshot.task.clone(), caller.clone());
        }
        Ok(snapshot)
    }
}

/// Returns the events that cancel the task and end all of its open turns.
fn cancelation(handle: &TaskHandle, head: &Head) -> Vec<Event> {
    let ended = head.turns.iter().map(|turn| Event::TurnEnded { turn: turn.turn });
    let canceled = handle.events(vec![Update::state(TaskState::Canceled)]);
    canceled.into_iter().chain(ended).collect()
}

/// Returns whether the agent may have seen the task. It has not if all of the task's turns are still queued. A task
/// without turns was created by the agent.
fn agent_knows(head: &Head) -> bool {
    let waiting = |turn: &Turn| turn.state == TurnState::Queued;
    let waiting = head.turns.iter().filter(|turn| waiting(turn)).count() as u64;
    head.state != TaskState::Submitted || head.last_turn == 0 || waiting < head.last_turn
}

/// Notifies the agent in a separate task.
pub(super) fn notify_agent(agent: Arc<Agent>, task: Arc<Task>, caller: Caller) {
    tokio::spawn(async move {
        let id = task.id.clone();
        if timeout(CLEANUP_TIME, agent.executor.canceled(task, caller)).await.is_err() {
            tracing::warn!(task = id, "the agent takes too long to clean up after a canceled task");
        }
    });
}
