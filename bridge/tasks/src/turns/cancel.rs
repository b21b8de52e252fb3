//! Cancels tasks: the task ends at once, and the agent is notified afterwards.

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

use bridge_protocol::a2a::TaskState;
use jiff::Timestamp;
use tokio::time::{Duration, sleep, timeout};

use super::{TurnError, Turns, open_artifacts, queue::possible_keys};
use crate::{
    agent::Agent,
    caller::Caller,
    clock,
    executor::{EmitError, TaskHandle, Update},
    store::{Event, Head, Store, StoreError, Turn, TurnState},
};

/// The time in which an agent must be notified of a cancelation and have cleaned up.
const CLEANUP_TIME: Duration = Duration::from_secs(30);

/// The time after which a cancelation whose result was lost counts as not made.
const RESULT_WAIT: Duration = Duration::from_secs(600);

/// The number of cancelations at once whose lost results are waited for. More come only from a client that repeats its requests while
/// the store fails.
pub(super) const LOST_RESULTS: usize = 1_000;

/// The pause after which a task that could not be read is read again.
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
        let since = clock::now();
        let canceled = open_artifacts::append_closing(&handle, &[], events).await;
        let agent = agent_is_aware.into_inner().then(|| self.agent(agent)).flatten();
        match canceled {
            Ok(()) => {
                self.stop_and_notify(&head, agent).await;
                Ok(())
            }
            Err(EmitError::Ended { task }) => Err(TurnError::Ended { task }),
            Err(EmitError::Store(error)) => {
                self.stop_and_notify_if_canceled(&error, head, agent, since);
                Err(error.into())
            }
        }
    }

    /// Stops the turns of a canceled task, and notifies the agent.
    async fn stop_and_notify(&self, head: &Head, agent: Option<Arc<Agent>>) {
        let Head { owner, task, .. } = head;
        possible_keys(head).iter().for_each(|key| self.0.queues.cancel(key, task));
        if let Some(agent) = agent {
            self.notify_agent(agent, owner.clone(), Arc::clone(task)).await;
        }
    }

    /// Does the same later, if a cancelation that began at `since` is in the log although the store returned this error: the result may
    /// have been lost.
    pub(super) fn stop_and_notify_if_canceled(
        &self,
        error: &StoreError,
        head: Arc<Head>,
        agent: Option<Arc<Agent>>,
        since: Timestamp,
    ) {
        let (StoreError::Unavailable { .. }, Ok(permit)) =
            (error, Arc::clone(&self.0.lost_results).try_acquire_owned())
        else {
            return;
        };
        // A later cancelation notifies the agent itself. The log has milliseconds.
        let attempt = since.as_millisecond()..=clock::now().as_millisecond();
        let turns = self.clone();
        tokio::spawn(async move {
            let _permit = permit;
            let ended = ended(&*turns.0.store, &head.owner, &head.task);
            if let Ok(Some(ended)) = timeout(RESULT_WAIT, ended).await
                && ended.state == TaskState::Canceled
                && attempt.contains(&ended.status_time.as_millisecond())
            {
                turns.stop_and_notify(&head, agent).await;
            }
        });
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

/// Waits until a task has ended, and returns its head; `None` if the task cannot be read any more.
pub(super) async fn ended(store: &dyn Store, caller: &Caller, task: &str) -> Option<Arc<Head>> {
    let mut watch = loop {
        match store.watch(caller, task).await {
            Ok(watch) => break watch,
            Err(error) if error.is_temporary() => sleep(AGAIN).await,
            Err(_) => return None,
        }
    };
    let mut seen = 0;
    loop {
        let head = watch.after(seen).await?;
        if head.state.is_terminal() {
            return Some(head);
        }
        seen = head.seq;
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
