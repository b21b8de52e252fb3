//! Follows a task event by event: from its stream; from another one, opened with SubscribeToTask, after that broke; or by
//! polling, at growing intervals while nothing changes.

use std::{collections::VecDeque, sync::Arc, time::Duration};

use bridge_protocol::{
    a2a::{GetTaskRequest, StreamResponse, SubscribeToTaskRequest, Task},
    dialect::Call,
    wire::FieldError,
};
use futures_util::{
    StreamExt as _,
    stream::{self, BoxStream},
};
use tokio::time::{sleep, timeout};

use super::reported::ReportedTask;
use crate::{
    Fault, Polls,
    agent::Agent,
    http::HEAVIEST,
    transport::{Item, Items},
    without_user,
};

/// The time in which a resumed stream has to begin before the task is polled instead. A stream of 1.0 begins at once, with
/// the task (specification 3.1.6).
const BEGIN: Duration = Duration::from_secs(5);

/// Events, or the fault that ends them.
pub(super) type Events = BoxStream<'static, Result<StreamResponse, Fault>>;

pub(super) enum Source {
    /// A stream of the agent.
    Stream(Items),
    /// Polling the task.
    Polls(Polling),
    /// No source; everything was read.
    Ended,
}

/// The state of following a call.
pub(super) struct Follower {
    agent: Arc<Agent>,
    /// The tenant of the call.
    tenant: Option<String>,
    /// Whether the task is followed to its end (SubscribeToTask), or to that of the turn that a message started.
    to_end: bool,
    reported: ReportedTask,
    source: Source,
    ready: VecDeque<StreamResponse>,
    /// The number of attempts to resume the stream since the last new event.
    attempt: u32,
    /// The stream was resumed, so its end no longer means that the turn has ended.
    again: bool,
}

impl Follower {
    pub(super) fn new(
        agent: Arc<Agent>,
        call: &Call,
        source: Source,
        reported: ReportedTask,
    ) -> Self {
        Self {
            agent,
            tenant: call.tenant().map(str::to_owned),
            to_end: matches!(call, Call::SubscribeToTask(_)),
            reported,
            source,
            ready: VecDeque::new(),
            attempt: 0,
            again: false,
        }
    }

    /// Returns the events from now on.
    pub(super) fn into_events(self) -> Events {
        let events = stream::try_unfold(self, |mut follower| async move {
            let event = follower.next().await?;
            Ok::<_, Fault>(event.map(|event| (event, follower)))
        });
        events.boxed()
    }

    /// Returns the next event; `None` at the end.
    async fn next(&mut self) -> Result<Option<StreamResponse>, Fault> {
        loop {
            if let Some(event) = self.ready.pop_front() {
                return Ok(Some(event));
            }
            match &mut self.source {
                Source::Ended => return Ok(None),
                Source::Stream(items) => {
                    let item = items.next().await;
                    self.take(item).await?;
                }
                Source::Polls(polling) => {
                    let pause = polling.pause;
                    self.poll(pause).await?;
                }
            }
        }
    }

    async fn take(&mut self, item: Option<Result<Item, Fault>>) -> Result<(), Fault> {
        match item {
            Some(Ok(item)) => self.hear(item),
            Some(Err(fault)) => self.broken(fault).await,
            // The end of the first stream ends the turn. The end of a resumed stream does so only if the
            // task's state agrees.
            None if !self.again || self.is_over() => {
                self.source = Source::Ended;
                Ok(())
            }
            None => self.ask_instead(Fault::StreamBroken("it ended before its task".into())),
        }
    }

    fn hear(&mut self, item: Item) -> Result<(), Fault> {
        // A message is a whole answer, unless it comes in the stream of a task: some agents of 0.3 send texts so.
        let is_answer =
            matches!(item.event, StreamResponse::Message(_)) && self.reported.task().is_none();
        let events = self.reported.take(item);
        // One answer with the whole task may not be larger, either.
        let most = self.agent.endpoint.limits.body.saturating_add(HEAVIEST);
        if self.reported.is_larger_than(most) {
            let expected = format!("a task that takes at most {} MiB of memory", most >> 20);
            return Err(Fault::Invalid(FieldError::new(expected, "more")));
        }
        self.show(events);
        // The first stream ends by itself, possibly with further events after the state that ends the turn.
        let is_streaming = matches!(self.source, Source::Stream(_)) && !self.again;
        if is_answer || (!is_streaming && self.is_over()) {
            self.source = Source::Ended;
        }
        Ok(())
    }

    /// Ends the following if its condition is met.
    pub(super) fn end_if_over(&mut self) {
        if self.is_over() {
            self.source = Source::Ended;
        }
    }

    /// Queues events to be returned next.
    pub(super) fn show(&mut self, events: Vec<StreamResponse>) {
        if !events.is_empty() {
            self.attempt = 0;
        }
        self.ready.extend(events);
    }

    /// Returns whether the task's state meets the condition that ends the following.
    fn is_over(&self) -> bool {
        if self.to_end { self.reported.is_ended() } else { self.reported.is_settled() }
    }
}

/// Resumes a broken stream.
impl Follower {
    /// Handles a broken stream: if the turn is over the stream ends, else it is resumed.
    async fn broken(&mut self, fault: Fault) -> Result<(), Fault> {
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
        self.reported.again = true;
        self.subscribe(&Call::SubscribeToTask(request), fault).await
    }

    async fn subscribe(&mut self, call: &Call, mut fault: Fault) -> Result<(), Fault> {
        while let Some(pause) = self.agent.retries.pause(self.attempt) {
            self.attempt += 1;
            tracing::debug!(agent = %without_user(&self.agent.endpoint.url), %fault, attempt = self.attempt, "a stream broke");
            sleep(pause).await;
            match open(&self.agent, call, self.reported.last_id.as_deref()).await {
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
            Some(Ok(item)) => self.hear(item)?,
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
    fn ask_instead(&mut self, fault: Fault) -> Result<(), Fault> {
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

/// Polls the task.
impl Follower {
    /// Polls the task after this pause.
    async fn poll(&mut self, pause: Duration) -> Result<(), Fault> {
        sleep(pause).await;
        let Some(task) = self.reported.task() else {
            self.source = Source::Ended;
            return Ok(());
        };
        let tenant = self.tenant.clone();
        let call = GetTaskRequest { tenant, ..GetTaskRequest::new(task.id.as_str()) };
        match self.agent.ask::<Task>(&Call::GetTask(call)).await {
            Ok(other) if other.id != task.id => Err(another(&task.id, &other.id)),
            Ok(task) => self.compare(task),
            Err(fault) if fault.may_pass() => {
                let next = self.agent.retries.pause(self.attempt);
                self.attempt += 1;
                let pause = next.ok_or(fault)?;
                if let Source::Polls(polling) = &mut self.source {
                    polling.pause = pause;
                }
                Ok(())
            }
            Err(fault) => Err(fault),
        }
    }

    fn compare(&mut self, task: Task) -> Result<(), Fault> {
        let events = self.reported.catch_up(task);
        let limit = self.agent.endpoint.limits.idle;
        if let Source::Polls(polling) = &mut self.source {
            polling.note(!events.is_empty());
            if polling.idle >= limit {
                return Err(Fault::Timeout(limit));
            }
        }
        self.show(events);
        self.end_if_over();
        Ok(())
    }
}

/// Returns the fault of an agent that answers with another task than the one that it was asked for.
fn another(asked: &str, found: &str) -> Fault {
    let expected = format!("{asked:?}, the id of the task that was asked for");
    Fault::Invalid(FieldError::new(expected, format!("{found:?}")).inside("id"))
}

/// The interval of the next poll.
pub(super) struct Polling {
    polls: Polls,
    pause: Duration,
    /// The time since the last change.
    idle: Duration,
}

impl Polling {
    pub(super) fn new(polls: Polls) -> Self {
        Self { polls, pause: polls.first, idle: Duration::ZERO }
    }

    /// Starts with an immediate poll, because events may have been missed.
    fn at_once(polls: Polls) -> Self {
        Self { pause: Duration::ZERO, ..Self::new(polls) }
    }

    /// Records whether the last poll brought a change.
    fn note(&mut self, changed: bool) {
        (self.idle, self.pause) = match changed {
            true => (Duration::ZERO, self.polls.first),
            false => (self.idle + self.pause, self.polls.after(self.pause).max(self.polls.first)),
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_grow_from_the_first() {
        let polls = Polls { first: Duration::from_secs(1), longest: Duration::from_secs(3) };
        let mut polling = Polling::at_once(polls);
        let mut pauses = Vec::new();
        for _ in 0..4 {
            pauses.push(polling.pause.as_secs());
            polling.note(false);
        }
        assert_eq!(pauses, [0, 1, 2, 3]);
    }
}
