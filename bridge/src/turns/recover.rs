//! After a restart: turns that waited start, turns whose agent had been called fail, and say so, unless
//! the agent is outside of this process: its turns stay open until their limit.

use std::{collections::BTreeSet, sync::Arc};

use super::{
    TurnError, Turns,
    queue::{Job, key},
    run::{end, failed},
};
use crate::{
    executor::{EmitError, TaskHandle},
    store::{Head, TurnState},
};

/// How many tasks are looked at at a time.
const PAGE: usize = 256;

impl Turns {
    /// Brings every open task into a truthful state and takes up what waited. To be called once, before
    /// anything is served; tells how many tasks were looked at.
    pub async fn recover(&self) -> Result<usize, TurnError> {
        let look = |head: &Head| {
            if !head.state.is_terminal() {
                self.0.metrics.task_began(&head.agent);
            }
            true
        };
        self.look_at_open(look).await
    }

    /// The same for agents that were not hosted before, while others are served: their tasks were left as they
    /// were. Tells how many there were.
    ///
    /// # Errors
    /// If the store fails.
    pub async fn take_up(&self, agents: &BTreeSet<String>) -> Result<usize, TurnError> {
        self.look_at_open(|head| agents.contains(&head.agent)).await
    }

    async fn look_at_open(&self, wanted: impl Fn(&Head) -> bool) -> Result<usize, TurnError> {
        let mut seen = 0;
        let mut after = String::new();
        loop {
            let heads = self.0.store.open_tasks(&after, PAGE).await?;
            let Some(last) = heads.last() else {
                return Ok(seen);
            };
            after = last.task.clone();
            for head in heads.iter().filter(|head| wanted(head)) {
                seen += 1;
                self.recover_task(head).await?;
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
            let job = Job {
                agent: head.agent.clone(),
                caller: head.owner.clone(),
                task: head.task.clone(),
                turn: turn.turn,
            };
            // A turn has its place before it is logged, so that one without a place is nobody's.
            if self.is_held(head, &job) {
                continue;
            }
            match turn.state {
                // The agent may have seen the message, and may have acted on it: it is not called again.
                TurnState::Started { open_until, .. }
                    if open_until.is_none() || agent.executor.outlives().is_none() =>
                {
                    self.fail(head, &job).await?;
                }
                TurnState::Queued | TurnState::Started { .. } => {
                    let key = key(&agent, &head.owner, &head.task, &head.context_id);
                    self.wait_or_run(key, job);
                }
            }
        }
        Ok(())
    }

    /// Whether the turn runs or waits in this process, as one of its task or of its context: that may have
    /// been another since it began.
    fn is_held(&self, head: &Head, job: &Job) -> bool {
        let key =
            |conversation: &String| (job.agent.clone(), job.caller.clone(), conversation.clone());
        let mut keys = [&head.task, &head.context_id].into_iter().map(key);
        keys.any(|key| self.0.queues.has(&key, job))
    }

    async fn fail(&self, head: &Head, job: &Job) -> Result<(), TurnError> {
        let handle = TaskHandle::new(self.0.store.clone(), Arc::new(head.clone()));
        let text = "The bridge was restarted while the agent worked on this message.";
        match end(&handle, job.turn, failed(job, text)).await {
            Ok(()) | Err(EmitError::Ended { .. }) => Ok(()),
            Err(EmitError::Store(error)) => Err(error.into()),
        }
    }
}
