//! Continues after a restart: queued turns start, and turns whose agent may have been called fail with an
//! explanation. Only turns of agents outside of this process that are known to have the message stay open until
//! their limit.

use std::{collections::BTreeSet, sync::Arc};

use super::{
    TurnError, Turns,
    queue::{TurnJob, conversation_key, possible_keys},
    run::{end, failed},
};
use crate::{
    executor::{EmitError, TaskHandle},
    log_reader::LogReader,
    metered::reports_open_tasks,
    store::{Event, Head, Result, StoreError, TurnState},
    trace,
};
use bridge_telemetry::Instrument as _;

/// The texts for turns whose agent may have been called, and for turns whose agent may not have the message. A turn of this
/// process is found here, too, if it could not learn in time that its message was logged.
const INTERRUPTED: &str = "The bridge was restarted or did not reach its task log while it handled this message. The agent \
                           may have worked on it, so it is not called again: send a new message to repeat it.";
const MAYBE_UNDELIVERED: &str = "The bridge was restarted or did not reach its task log before it knew that the agent has \
                                 this message. The message is not sent again automatically, since the agent may have \
                                 it: send a new message to repeat it.";

/// The number of tasks that are read at a time.
const PAGE: usize = 256;

impl Turns {
    /// Recovers all tasks with open turns and continues queued turns. It must be called once, before requests are
    /// served. Returns the number of recovered tasks. Tasks that wait for their callers are only counted in the
    /// metrics.
    ///
    /// # Errors
    /// If the store fails.
    pub async fn recover(&self) -> Result<usize, TurnError> {
        if !reports_open_tasks(&*self.0.store) {
            for (agent, counts) in self.0.store.counts().await? {
                self.0.metrics.set_tasks_open(&agent, counts.open);
            }
        }
        self.take_up_from_others();
        self.recover_open_tasks(|_| true).await
    }

    /// Recovers the tasks of agents that were not hosted before, while other agents are being served. Returns the
    /// number of recovered tasks.
    ///
    /// # Errors
    /// Returns an error if the store fails.
    pub async fn recover_agents(&self, agents: &BTreeSet<String>) -> Result<usize, TurnError> {
        self.recover_open_tasks(|head| agents.contains(&*head.agent)).await
    }

    pub(super) async fn recover_open_tasks(
        &self,
        wanted: impl Fn(&Head) -> bool,
    ) -> Result<usize, TurnError> {
        let mut seen = 0;
        let mut after: Arc<str> = Arc::default();
        loop {
            let heads = self.0.store.open_turns(&after, PAGE).await?;
            let Some(last) = heads.last() else {
                return Ok(seen);
            };
            after = Arc::clone(&last.task);
            if let Some(leases) = self.leases() {
                let heads: Vec<Head> = heads.into_iter().filter(|head| wanted(head)).collect();
                seen += self.take_up_unheld(leases, &heads).await?;
                continue;
            }
            for head in heads.iter().filter(|head| wanted(head)) {
                seen += 1;
                match self.recover_task(head).await {
                    // Only the task's caller is affected, and gets an error on reading the task.
                    Err(TurnError::Store(error @ StoreError::Damaged { .. })) => {
                        tracing::error!(%error, "an open task was not recovered");
                    }
                    recovered => drop(recovered?),
                }
            }
        }
    }

    /// Continues the turns of a task that no process works on, and ends those that are lost. Returns their number.
    pub(super) async fn recover_task(&self, head: &Head) -> Result<usize, TurnError> {
        let mut recovered = 0;
        let Some(agent) = self.agent(&head.agent) else {
            tracing::warn!(
                task = &*head.task,
                agent = &*head.agent,
                "an open task of an unknown agent"
            );
            return Ok(0);
        };
        for turn in &head.turns {
            let job = Arc::new(TurnJob {
                agent: Arc::clone(&head.agent),
                caller: head.owner.clone(),
                task: Arc::clone(&head.task),
                turn: turn.turn,
                is_watched: false,
                cause: trace::of_message(turn.traceparent.as_deref()),
                unended: Some(self.0.places.enter_anyway(&head.agent, 0)),
            });
            // A turn is in the queue before it is logged. One that is logged but not in the queue is abandoned.
            if possible_keys(head).iter().any(|key| self.0.queues.contains(key, &job)) {
                continue;
            }
            recovered += 1;
            let lost = match &turn.state {
                TurnState::Queued => None,
                // The agent may have seen the message and acted on it, so it is not called again.
                TurnState::Started { open_until, reference } => {
                    let survives = agent.executor.survives_restart_for().is_some();
                    let lost = if !survives || open_until.is_none() {
                        Some(INTERRUPTED)
                    } else if reference.is_some() || self.agent_has_spoken(head, turn.turn).await? {
                        None
                    } else {
                        Some(MAYBE_UNDELIVERED)
                    };
                    let outcome = if lost.is_some() { "failed" } else { "continued" };
                    self.0.metrics.turn_taken_over(&head.agent, outcome);
                    lost
                }
            };
            match lost {
                Some(text) => {
                    let span = trace::turn(&job.agent, &job.task, job.turn, &job.cause);
                    bridge_telemetry::fail(&span, text);
                    self.fail_lost(head, &job, text).instrument(span).await?;
                }
                None => {
                    let key = conversation_key(&agent, &head.owner, &head.task, &head.context_id);
                    self.wait_or_run(key, job);
                }
            }
        }
        Ok(recovered)
    }

    async fn fail_lost(
        &self,
        head: &Head,
        job: &Arc<TurnJob>,
        text: &'static str,
    ) -> Result<(), TurnError> {
        let handle = TaskHandle::new(self.0.store.clone(), Arc::new(head.clone()));
        let mut last = handle.events(failed(job, text));
        match end(&handle, job.turn, &mut last).await {
            Ok(()) | Err(EmitError::Ended { .. }) => Ok(()),
            // A full disk must not prevent the start.
            Err(EmitError::Store(error)) if error.is_temporary() => {
                let (turns, job) = (self.clone(), Arc::clone(job));
                tokio::spawn(async move { turns.fail(&job, text).await });
                Ok(())
            }
            Err(EmitError::Store(error)) => Err(error.into()),
        }
    }

    /// Returns whether the agent has emitted anything since the turn was logged as started, which shows that it has
    /// the message.
    async fn agent_has_spoken(&self, head: &Head, turn: u64) -> Result<bool> {
        let (mut is_started, mut queued) = (false, None);
        let mut log = LogReader::after(0, &*self.0.store, &head.owner, &head.task);
        while let Some(stored) = log.next().await? {
            match &stored.event {
                Event::TurnStarted { turn: started, .. } => is_started |= *started == turn,
                Event::TurnQueued { .. } => queued = Some(stored.time),
                // A later message of the caller, whose metadata is logged at the same time.
                Event::Metadata { .. } if queued == Some(stored.time) => {}
                event if is_started && is_from_agent(event) => return Ok(true),
                _ => {}
            }
        }
        Ok(false)
    }
}

/// Returns whether only an agent can have caused an event that was not logged with a message.
fn is_from_agent(event: &Event) -> bool {
    match event {
        Event::Status { status, .. } => status.message.is_some(),
        Event::Artifact { .. } | Event::Metadata { .. } | Event::Said(_) => true,
        _ => false,
    }
}
