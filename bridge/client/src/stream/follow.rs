//! Follows a task from event to event: by the stream that was opened, by another one after that broke, or
//! by asking for the task.

use std::{collections::VecDeque, sync::Arc, time::Duration};

use bridge_protocol::{
    a2a::{
        ErrorKind, GetTaskRequest, Metadata, SendMessageConfiguration, SendMessageRequest,
        SendMessageResponse, StreamResponse, SubscribeToTaskRequest, Task,
    },
    dialect::Call,
};
use futures_util::{
    StreamExt as _,
    stream::{self, BoxStream},
};
use tokio::time::sleep;

use super::seen::Seen;
use crate::{
    Fault, Polls,
    agent::Agent,
    tenant,
    transport::{Item, Items},
};

/// Events, or the fault that ends them.
type Events = BoxStream<'static, Result<StreamResponse, Fault>>;

/// Where events come from.
enum Source {
    /// A stream of the agent's.
    Stream(Items),
    /// Asking for the task.
    Polls(Polling),
    /// Nowhere any more.
    Ended,
}

struct Polling {
    polls: Polls,
    pause: Duration,
    /// How long nothing has changed.
    idle: Duration,
}

/// When there is nothing more to follow.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Until {
    /// The turn that a message began has ended: SendStreamingMessage.
    Turn,
    /// The task has ended: SubscribeToTask.
    End,
}

struct Follower {
    agent: Arc<Agent>,
    until: Until,
    seen: Seen,
    source: Source,
    ready: VecDeque<StreamResponse>,
    /// Attempts to take the stream up again since something new was heard.
    attempt: u32,
    /// The stream was taken up again, so its end is no longer the agent's word on the turn's.
    again: bool,
}

/// Begins to follow what a call is about.
pub(super) async fn begin(agent: Arc<Agent>, call: Call) -> Result<Events, Fault> {
    let polls = agent.polls;
    let source = match polls {
        Some(polls) if agent.streaming == Some(false) => asked(&agent, &call, polls).await?,
        Some(polls) => match agent.open(&call, None).await {
            Err(fault) if cannot_stream(&call, &fault) => asked(&agent, &call, polls).await?,
            opened => (Source::Stream(opened?), None),
        },
        None => (Source::Stream(agent.open(&call, None).await?), None),
    };
    let (source, first) = source;
    let mut follower = Follower {
        agent,
        until: match matches!(call, Call::SubscribeToTask(_)) {
            true => Until::End,
            false => Until::Turn,
        },
        seen: Seen::default(),
        source,
        ready: VecDeque::new(),
        attempt: 0,
        again: false,
    };
    if let Some(first) = first {
        follower.hear(Item {
            id: None,
            event: first,
        });
    }
    Ok(stream::unfold(follower, step).boxed())
}

async fn step(mut follower: Follower) -> Option<(Result<StreamResponse, Fault>, Follower)> {
    match follower.next().await {
        Ok(event) => event.map(|event| (Ok(event), follower)),
        Err(fault) => {
            follower.source = Source::Ended;
            Some((Err(fault), follower))
        }
    }
}

/// What the agent answers without a stream: the first event, after which the task is asked for. A message
/// that goes on with a task is answered when its turn is over, because until then the state of the turn
/// before could be taken for its own.
async fn asked(
    agent: &Agent,
    call: &Call,
    polls: Polls,
) -> Result<(Source, Option<StreamResponse>), Fault> {
    let first = match call {
        Call::SendStreamingMessage(request) => {
            let call = Call::SendMessage(at_once(request.clone()));
            StreamResponse::from(agent.ask::<SendMessageResponse>(&call).await?)
        }
        Call::SubscribeToTask(request) => {
            let mut get = GetTaskRequest::new(request.id.as_str());
            get.tenant.clone_from(&request.tenant);
            StreamResponse::Task(agent.ask(&Call::GetTask(get)).await?)
        }
        Call::SendMessage(_)
        | Call::GetTask(_)
        | Call::ListTasks(_)
        | Call::CancelTask(_)
        | Call::CreateTaskPushNotificationConfig(_)
        | Call::GetTaskPushNotificationConfig(_)
        | Call::ListTaskPushNotificationConfigs(_)
        | Call::DeleteTaskPushNotificationConfig(_)
        | Call::GetExtendedAgentCard(_) => return Ok((Source::Ended, None)),
    };
    let source = match first {
        StreamResponse::Message(_) => Source::Ended,
        StreamResponse::Task(_)
        | StreamResponse::StatusUpdate(_)
        | StreamResponse::ArtifactUpdate(_) => Source::Polls(Polling::new(polls)),
    };
    Ok((source, Some(first)))
}

fn at_once(request: SendMessageRequest) -> SendMessageRequest {
    let goes_on = request.message.task_id.is_some();
    let configuration = request.configuration.unwrap_or(SendMessageConfiguration {
        accepted_output_modes: Vec::new(),
        task_push_notification_config: None,
        history_length: None,
        return_immediately: false,
        extra: Metadata::new(),
    });
    SendMessageRequest {
        configuration: Some(SendMessageConfiguration {
            return_immediately: !goes_on,
            ..configuration
        }),
        ..request
    }
}

/// Whether a refusal says that the agent has no streams. Of a subscription it can also mean that the task
/// has ended, which is for the user to know.
fn cannot_stream(call: &Call, fault: &Fault) -> bool {
    let kind = if let Fault::Rpc(error) = fault {
        error.kind()
    } else {
        None
    };
    let is_refusal = match kind {
        Some(kind) => [ErrorKind::UnsupportedOperation, ErrorKind::MethodNotFound].contains(&kind),
        None => matches!(
            fault,
            Fault::Http {
                status: 404 | 405 | 501,
                ..
            }
        ),
    };
    is_refusal && matches!(call, Call::SendStreamingMessage(_))
}

impl Polling {
    fn new(polls: Polls) -> Self {
        Self {
            polls,
            pause: polls.first,
            idle: Duration::ZERO,
        }
    }
}

impl Follower {
    /// The next event; none at the end.
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
            Some(Ok(item)) => {
                self.hear(item);
                Ok(())
            }
            Some(Err(fault)) => self.broken(fault).await,
            // The agent ended the stream that it began; of another one only the state says what it means.
            None if !self.again || self.is_over() => {
                self.source = Source::Ended;
                Ok(())
            }
            None => self.ask_instead(Fault::StreamBroken("it ended before its task".into())),
        }
    }

    fn hear(&mut self, item: Item) {
        let is_message = matches!(item.event, StreamResponse::Message(_));
        let events = self.seen.take(item);
        self.show(events);
        // A stream that was opened for the turn ends by itself, after what the agent has left to say.
        let is_streaming = matches!(self.source, Source::Stream(_)) && !self.again;
        if is_message || (!is_streaming && self.is_over()) {
            self.source = Source::Ended;
        }
    }

    fn show(&mut self, events: Vec<StreamResponse>) {
        if !events.is_empty() {
            self.attempt = 0;
        }
        self.ready.extend(events);
    }

    fn is_over(&self) -> bool {
        match self.until {
            Until::Turn => self.seen.is_settled(),
            Until::End => self.seen.is_ended(),
        }
    }

    /// The stream broke: at its end that means nothing, else it is taken up again.
    async fn broken(&mut self, fault: Fault) -> Result<(), Fault> {
        if self.is_over() {
            self.source = Source::Ended;
            return Ok(());
        }
        let is_broken = matches!(fault, Fault::StreamBroken(_) | Fault::Unreachable(_));
        let Some(task) = self.seen.task().filter(|_| is_broken) else {
            return Err(fault);
        };
        let request = SubscribeToTaskRequest::new(task.id.as_str());
        self.again = true;
        self.seen.again();
        self.subscribe(&Call::SubscribeToTask(request), fault).await
    }

    async fn subscribe(&mut self, call: &Call, mut fault: Fault) -> Result<(), Fault> {
        let call = tenant::name(call.clone(), self.agent.tenant.as_deref());
        while let Some(pause) = self.agent.retries.pause(self.attempt) {
            self.attempt += 1;
            tracing::debug!(agent = %self.agent.url, %fault, attempt = self.attempt, "a stream broke");
            sleep(pause).await;
            match self.agent.open(&call, self.seen.last_id()).await {
                Ok(items) => return self.resume(items).await,
                Err(passing) if is_passing(&passing) => fault = passing,
                // Refused, or answered with something that is no stream.
                Err(refusal) => return self.ask_instead(refusal),
            }
        }
        Err(fault)
    }

    /// Goes on with another stream. It must begin where the one before broke off, or with the task: else
    /// nobody knows what was said between the two, and the task itself is asked.
    async fn resume(&mut self, mut items: Items) -> Result<(), Fault> {
        let first = items.next().await;
        let is_known = match &first {
            Some(Ok(item)) => item.id.is_some() || matches!(item.event, StreamResponse::Task(_)),
            Some(Err(_)) | None => true,
        };
        if !is_known {
            return self.ask_instead(Fault::StreamBroken(
                "it does not begin with the task".into(),
            ));
        }
        self.source = Source::Stream(items);
        match first {
            Some(Ok(item)) => self.hear(item),
            // A stream that broke before it said anything was an attempt; the next round makes another.
            Some(Err(fault)) => {
                self.source = Source::Stream(stream::once(async { Err(fault) }).boxed());
            }
            None => return self.ask_instead(Fault::StreamBroken("it ended at once".into())),
        }
        Ok(())
    }

    /// Asks for the task from now on, if that is wanted.
    fn ask_instead(&mut self, fault: Fault) -> Result<(), Fault> {
        let polls = self.agent.polls.ok_or(fault)?;
        self.source = Source::Polls(Polling {
            pause: Duration::ZERO,
            ..Polling::new(polls)
        });
        Ok(())
    }

    async fn poll(&mut self, pause: Duration) -> Result<(), Fault> {
        sleep(pause).await;
        let Some(task) = self.seen.task() else {
            self.source = Source::Ended;
            return Ok(());
        };
        let call = Call::GetTask(GetTaskRequest::new(task.id.as_str()));
        let call = tenant::name(call, self.agent.tenant.as_deref());
        match self.agent.ask::<Task>(&call).await {
            Ok(task) => self.compare(task, pause),
            Err(fault) if is_passing(&fault) => {
                let next = self.agent.retries.pause(self.attempt);
                self.attempt += 1;
                self.wait(next.ok_or(fault)?);
                Ok(())
            }
            Err(fault) => Err(fault),
        }
    }

    fn compare(&mut self, task: Task, pause: Duration) -> Result<(), Fault> {
        let events = self.seen.catch_up(task);
        let limit = self.agent.limits.idle;
        if let Source::Polls(polling) = &mut self.source {
            polling.idle = match events.is_empty() {
                true => polling.idle + pause,
                false => Duration::ZERO,
            };
            polling.pause = match events.is_empty() {
                true => (pause * 2).clamp(Duration::from_millis(1), polling.polls.longest),
                false => polling.polls.first,
            };
            if polling.idle >= limit {
                return Err(Fault::Timeout(limit));
            }
        }
        self.show(events);
        if self.is_over() {
            self.source = Source::Ended;
        }
        Ok(())
    }

    fn wait(&mut self, pause: Duration) {
        if let Source::Polls(polling) = &mut self.source {
            polling.pause = pause;
        }
    }
}

/// Whether another attempt may fare better.
fn is_passing(fault: &Fault) -> bool {
    match fault {
        Fault::Unreachable(_) | Fault::Timeout(_) => true,
        Fault::Http { status, .. } => matches!(status, 408 | 429 | 500..=599) && *status != 501,
        Fault::StreamBroken(_)
        | Fault::Private { .. }
        | Fault::TooLarge { .. }
        | Fault::Unauthenticated { .. }
        | Fault::Forbidden { .. }
        | Fault::Rpc(_)
        | Fault::Invalid(_)
        | Fault::Asked(_)
        | Fault::NoInterface { .. }
        | Fault::Certificate(_)
        | Fault::Untrusted(_)
        | Fault::NoCredentials { .. }
        | Fault::Elsewhere { .. }
        | Fault::NotInVersion(_) => false,
    }
}
