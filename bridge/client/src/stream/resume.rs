//! Resumes a broken stream with SubscribeToTask, or else by polling the task.

use std::time::Duration;

use bridge_protocol::{
    a2a::{StreamResponse, SubscribeToTaskRequest},
    dialect::Call,
};
use futures_util::{StreamExt as _, stream};
use tokio::time::{sleep, timeout};

use super::{
    follow::{Follower, Source},
    poll::Polling,
};
use crate::{Fault, agent::Agent, transport::Items, without_user};

/// The time in which a resumed stream has to begin before the task is polled instead. A stream of 1.0 begins at once, with
/// the task (specification 3.1.6).
const BEGIN: Duration = Duration::from_secs(5);

impl Follower {
    /// Handles a broken stream: if the turn is over the stream ends, else it is resumed.
    pub(super) async fn broken(&mut self, fault: Fault) -> Result<(), Fault> {
        if self.is_over() {
            self.source = Source::Ended;
            return Ok(());
        }
        // An agent that says nothing until the limit is given up.
        let is_broken = fault.may_pass() && !matches!(fault, Fault::Timeout(_));
        let Some(task) = self.reported.task().filter(|_| is_broken) else {
            return Err(fault);
        };
        let tenant = self.tenant.clone();
        let request =
            SubscribeToTaskRequest { tenant, ..SubscribeToTaskRequest::new(task.id.as_str()) };
        self.again = true;
        self.reported.again();
        self.subscribe(&Call::SubscribeToTask(request), fault).await
    }

    async fn subscribe(&mut self, call: &Call, mut fault: Fault) -> Result<(), Fault> {
        while let Some(pause) = self.agent.retries.pause(self.attempt) {
            self.attempt += 1;
            tracing::debug!(agent = %without_user(&self.agent.endpoint.url), %fault, attempt = self.attempt, "a stream broke");
            sleep(pause).await;
            match open(&self.agent, call, self.reported.last_id()).await {
                Ok(items) => return self.resume(items).await,
                Err(Fault::Timeout(_)) if self.agent.polls.is_some() => {
                    return self.ask_instead(fault);
                }
                // The reason why the stream broke is more informative than the lack of events since.
                Err(Fault::Timeout(_)) => {}
                Err(passing) if passing.is_transient() => fault = passing,
                // The agent refused, or did not answer with a stream.
                Err(refusal) => return self.ask_instead(refusal),
            }
        }
        Err(fault)
    }

    /// Continues with another stream. Its first event must have an id or be the task: otherwise nothing shows
    /// what was missed in between, and the task is polled.
    async fn resume(&mut self, mut items: Items) -> Result<(), Fault> {
        let first = match self.agent.polls {
            Some(_) => match timeout(BEGIN, items.next()).await {
                Ok(first) => first,
                Err(_) => return self.ask_instead(Fault::StreamBroken("it is silent".into())),
            },
            None => items.next().await,
        };
        let is_known = match &first {
            Some(Ok(item)) => item.id.is_some() || matches!(item.event, StreamResponse::Task(_)),
            Some(Err(_)) | None => true,
        };
        if !is_known {
            return self.ask_instead(Fault::StreamBroken("it does not begin with the task".into()));
        }
        self.source = Source::Stream(items);
        match first {
            Some(Ok(item)) => self.hear(item),
            // A stream that breaks before its first event counts as a failed attempt; the next round makes
            // another.
            Some(Err(fault)) => {
                self.source = Source::Stream(stream::once(async { Err(fault) }).boxed());
            }
            None => return self.ask_instead(Fault::StreamBroken("it ended at once".into())),
        }
        Ok(())
    }

    /// Polls the task from now on, if polling is enabled.
    pub(super) fn ask_instead(&mut self, fault: Fault) -> Result<(), Fault> {
        let polls = self.agent.polls.ok_or(fault)?;
        self.source = Source::Polls(Polling::at_once(polls));
        Ok(())
    }
}

/// Opens another stream. Some servers send nothing before the first event, so that this takes as long.
async fn open(agent: &Agent, call: &Call, after: Option<&str>) -> Result<Items, Fault> {
    let opening = agent.open(call, after);
    let limit = agent.endpoint.limits.connect.saturating_add(BEGIN);
    match agent.polls {
        Some(_) => timeout(limit, opening).await.unwrap_or(Err(Fault::Timeout(limit))),
        None => opening.await,
    }
}
