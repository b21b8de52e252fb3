//! Cancels tasks: the task ends at once, and the agent is notified afterwards.

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

use bridge_protocol::a2a::TaskState;
use tokio::time::{Duration, sleep, timeout};

use super::{TurnError, Turns, open_artifacts, queue::possible_keys};
use crate::{
    agent::Agent,
    caller::Caller,
    executor::{EmitError, TaskHandle, Update},
    store::{Event, Head, Turn, TurnState},
};

/// The time in which an agent must be notified of a cancelation and have cleaned up.
const CLEANUP_TIME: Duration = Duration::from_secs(30);

/// The pause after which a canceled task that could not be read is read again.
const AGAIN: Duration = Duration::from_secs(1);

impl Turns {
    /// Cancels a task. It does not wait for a running turn, and later changes of its agent are dropped. The agent is notified
    /// if it is still hosted.
    ///
    /// # Errors
    /// Returns [`TurnError::Ended`] if the task is in a terminal state.
    pub async fn cancel(&self, agent: &str, caller: &Caller, task: &str) -> Result<(), TurnError> {
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
        if agent_is_aware.into_inner()
            && let Some(agent) = self.agent(agent)
        {
            self.notify_agent(agent, caller.clone(), Arc::clone(&head.task)).await;
        }
        Ok(())
    }

    /// Notifies the agent of a canceled task as soon as the task can be read. The caller does not wait for the agent.
    pub(super) async fn notify_agent(&self, agent: Arc<Agent>, caller: Caller, task: Arc<str>) {
        let store = Arc::clone(&self.0.store);
        // The task is read here if possible, because it may be deleted afterwards.
        let mut read = store.task(&caller, &task).await;
        tokio::spawn(async move {
            let notifying = async {
                let canceled = loop {
                    match read {
                        Ok(snapshot) => break snapshot.task,
                        Err(error) => {
                            tracing::debug!(task = &*task, %error, "an agent is notified later");
                        }
                    }
                    sleep(AGAIN).await;
                    read = store.task(&caller, &task).await;
                };
                agent.executor.canceled(canceled, caller.clone()).await;
            };
            if timeout(CLEANUP_TIME, notifying).await.is_err() {
                tracing::warn!(
                    task = &*task,
                    "the agent did not clean up in time after a canceled task"
                );
            }
        });
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
