//! After a restart: turns that waited start, turns whose agent may have been called fail, and say so. Only those of
//! an agent outside of this process that is known to have got its message stay open until their limit.

use std::{collections::BTreeSet, sync::Arc};

use super::{
    TurnError, Turns,
    queue::{TurnJob, conversation_key},
    run::{end, failed},
};
use crate::{
    agent::Agent,
    executor::{EmitError, TaskHandle},
    store::{Event, Head, Seq, StoreError, TurnState},
};

/// What is said of turns whose agent had died with the bridge, and of those whose agent had perhaps not been called.
const INTERRUPTED: &str = "The bridge was restarted while the agent worked on this message.";
const MAYBE_UNDELIVERED: &str = "The bridge was restarted before the agent was known to have this message. It is not sent again \
                      by itself, since the agent may have it.";

/// How many tasks are looked at at a time.
const PAGE: usize = 256;

impl Turns {
    /// Brings every task with open turns into a truthful state and takes up what waited. To be called once, before
    /// anything is served; tells how many tasks were looked at. Those that wait for their callers are only counted.
    pub async fn recover(&self) -> Result<usize, TurnError> {
        for (agent, count) in self.0.store.open_counts().await? {
            (0..count).for_each(|_| self.0.metrics.task_began(&agent));
        }
        self.recover_open_tasks(|_| true).await
    }

    /// The same for agents that were not hosted before, while others are served: their tasks were left as they
    /// were. Tells how many there were.
    ///
    /// # Errors
    /// If the store fails.
    pub async fn recover_agents(&self, agents: &BTreeSet<String>) -> Result<usize, TurnError> {
        self.recover_open_tasks(|head| agents.contains(&head.agent))
            .await
    }

    async fn recover_open_tasks(&self, wanted: impl Fn(&Head) -> bool) -> Result<usize, TurnError> {
        let mut seen = 0;
        let mut after = String::new();
        loop {
            let heads = self.0.store.open_turns(&after, PAGE).await?;
            let Some(last) = heads.last() else {
                return Ok(seen);
            };
            after = last.task.clone();
            for head in heads.iter().filter(|head| wanted(head)) {
                seen += 1;
                match self.recover_task(head).await {
                    // It costs nobody but its caller, who is told when they ask for it.
                    Err(TurnError::Store(error @ StoreError::Damaged { .. })) => {
                        tracing::error!(%error, "an open task is left as it is");
                    }
                    recovered => recovered?,
                }
            }
        }
    }

    async fn recover_task(&self, head: &Head) -> Result<(), TurnError> {
        let Some(agent) = self.agent(&head.agent) else {
            tracing::warn!(
                task = head.task,
                agent = head.agent,
                "an open task of an unknown agent"
            );
            return Ok(());
        };
        for turn in &head.turns {
            let job = Arc::new(TurnJob {
                agent: head.agent.clone(),
                caller: head.owner.clone(),
                task: head.task.clone(),
                turn: turn.turn,
                is_watched: false,
            });
            // A turn has its place before it is logged, so that one without a place is nobody's.
            if self.is_in_process(head, &job) {
                continue;
            }
            let lost = match &turn.state {
                TurnState::Queued => None,
                // The agent may have seen the message, and may have acted on it: it is not called again.
                TurnState::Started {
                    open_until,
                    reference,
                } => match survives_restart(&agent) && open_until.is_some() {
                    false => Some(INTERRUPTED),
                    true if reference.is_some()
                        || self.agent_has_spoken(head, turn.turn).await? =>
                    {
                        None
                    }
                    true => Some(MAYBE_UNDELIVERED),
                },
            };
            match lost {
                Some(text) => self.fail_lost(head, &job, text).await?,
                None => {
                    let key = conversation_key(&agent, &head.owner, &head.task, &head.context_id);
                    self.wait_or_run(key, job);
                }
            }
        }
        Ok(())
    }

    /// Whether the turn runs or waits in this process, as one of its task or of its context: that may have
    /// been another since it began.
    fn is_in_process(&self, head: &Head, job: &TurnJob) -> bool {
        let key = |conversation: &String| {
            let (agent, caller) = (job.agent.clone(), job.caller.clone());
            Arc::new((agent, caller, conversation.clone()))
        };
        let mut keys = [&head.task, &head.context_id].into_iter().map(key);
        keys.any(|key| self.0.queues.contains(&key, job))
    }

    async fn fail_lost(
        &self,
        head: &Head,
        job: &TurnJob,
        text: &'static str,
    ) -> Result<(), TurnError> {
        let handle = TaskHandle::new(self.0.store.clone(), Arc::new(head.clone()));
        let mut last = handle.events(failed(job, text));
        match end(&handle, job.turn, &mut last).await {
            Ok(()) | Err(EmitError::Ended { .. }) => Ok(()),
            // A full disk keeps nobody from being served.
            Err(EmitError::Store(error)) if error.is_passing() => {
                let (turns, job) = (self.clone(), job.clone());
                tokio::spawn(async move { turns.fail(&job, text).await });
                Ok(())
            }
            Err(EmitError::Store(error)) => Err(error.into()),
        }
    }

    /// Whether the agent has said anything since the turn was logged as started: then it has the message.
    async fn agent_has_spoken(&self, head: &Head, turn: u64) -> Result<bool, StoreError> {
        let (mut seen, mut is_started): (Seq, bool) = (0, false);
        loop {
            let store = &self.0.store;
            let page = store.read(&head.owner, &head.task, seen, PAGE).await?;
            let Some(last) = page.last() else {
                return Ok(false);
            };
            seen = last.seq;
            for stored in &page {
                match &stored.event {
                    Event::TurnStarted { turn: started, .. } => is_started |= *started == turn,
                    event if is_started && is_from_agent(event) => return Ok(true),
                    _ => {}
                }
            }
        }
    }
}

fn survives_restart(agent: &Agent) -> bool {
    agent.executor.survives_restart_for().is_some()
}

/// Whether it can only come from an agent.
fn is_from_agent(event: &Event) -> bool {
    match event {
        Event::Status { status, .. } => status.message.is_some(),
        Event::Artifact { .. } | Event::Metadata { .. } | Event::Said(_) => true,
        Event::Created(_)
        | Event::Message(_)
        | Event::TurnQueued { .. }
        | Event::TurnStarted { .. }
        | Event::TurnEnded { .. } => false,
    }
}
