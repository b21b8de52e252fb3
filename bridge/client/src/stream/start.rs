//! Starts to follow a call: with a stream if the agent supports it, else by polling after the first answer.

use std::sync::Arc;

use bridge_protocol::{
    a2a::{
        ErrorKind, GetTaskRequest, SendMessageRequest, SendMessageResponse, StreamResponse, Task,
    },
    dialect::Call,
};
use futures_util::{StreamExt as _, stream};

use super::{
    follow::{Follower, Polling, Source},
    reported::ReportedTask,
};
use crate::{Fault, Polls, agent::Agent, transport::Items};

/// Starts to follow a call.
pub(super) async fn with(agent: Arc<Agent>, call: &Call) -> Result<Follower, Fault> {
    let polls = agent.polls.filter(|_| !agent.must_stream);
    if let (Some(polls), Some(false)) = (polls, agent.streaming) {
        return asking(agent, call, polls).await;
    }
    match (open(&agent, call).await, polls) {
        (Err(fault), Some(polls)) if cannot_stream(call, &fault) => {
            asking(agent, call, polls).await
        }
        (opened, _) => {
            let source = Source::Stream(opened?);
            Ok(Follower::new(agent, call, source, ReportedTask::default()))
        }
    }
}

/// Opens the stream of a call. Most agents refuse a message's in its first event, which is told as any other refusal;
/// the first event of a subscription may be long in coming.
async fn open(agent: &Agent, call: &Call) -> Result<Items, Fault> {
    let items = agent.open(call, None).await?;
    if !matches!(call, Call::SendStreamingMessage(_)) {
        return Ok(items);
    }
    let mut items = items.fuse();
    match items.next().await {
        Some(Err(fault @ Fault::Rpc(_))) => Err(fault),
        first => Ok(stream::iter(first).chain(items).boxed()),
    }
}

/// Starts to follow a task in a known state by polling. If the task does not wait for input, it is polled
/// until its turn is over. `call` is the one that polls it.
pub(super) fn at(agent: Arc<Agent>, call: &Call, task: Task) -> Follower {
    let polls = agent.polls.unwrap_or_default();
    let source = Source::Polls(Polling::new(polls));
    let mut follower = Follower::new(agent, call, source, ReportedTask::of(task));
    follower.end_if_over();
    follower
}

/// Starts with the answer of an agent that does not stream.
async fn asking(agent: Arc<Agent>, call: &Call, polls: Polls) -> Result<Follower, Fault> {
    let first = answer(&agent, call).await?;
    // The answer is that to the message, so its state is that of the message's turn.
    let (source, reported) = match &first {
        Some(StreamResponse::Task(task)) => {
            (Source::Polls(Polling::new(polls)), ReportedTask::of(task.clone()))
        }
        Some(
            StreamResponse::Message(_)
            | StreamResponse::StatusUpdate(_)
            | StreamResponse::ArtifactUpdate(_),
        )
        | None => (Source::Ended, ReportedTask::default()),
    };
    let mut follower = Follower::new(agent, call, source, reported);
    follower.show(first.into_iter().collect());
    follower.end_if_over();
    Ok(follower)
}

/// Returns the first event; `None` for calls without events. A message that continues a task is answered when its turn
/// is over, because the state of the previous turn could be mistaken for that of its own.
async fn answer(agent: &Agent, call: &Call) -> Result<Option<StreamResponse>, Fault> {
    Ok(Some(match call {
        Call::SendStreamingMessage(request) => {
            let call = Call::SendMessage(without_stream(request.clone()));
            StreamResponse::from(agent.ask::<SendMessageResponse>(&call).await?)
        }
        Call::SubscribeToTask(request) => {
            let mut get = GetTaskRequest::new(request.id.as_str());
            get.tenant.clone_from(&request.tenant);
            StreamResponse::Task(agent.ask(&Call::GetTask(get)).await?)
        }
        _ => return Ok(None),
    }))
}

fn without_stream(mut request: SendMessageRequest) -> SendMessageRequest {
    let goes_on = request.message.task_id.is_some();
    let configuration = request.configuration.get_or_insert_default();
    configuration.return_immediately = !goes_on;
    request
}

/// Returns whether an error says that the agent does not stream. For a subscription the same error can mean that the
/// task has ended, which the caller must see.
fn cannot_stream(call: &Call, fault: &Fault) -> bool {
    let kind = if let Fault::Rpc(error) = fault { error.kind() } else { None };
    let is_refusal = match kind {
        Some(kind) => [ErrorKind::UnsupportedOperation, ErrorKind::MethodNotFound].contains(&kind),
        None => matches!(fault, Fault::Http { status: 404 | 405 | 501, .. }),
    };
    is_refusal && matches!(call, Call::SendStreamingMessage(_))
}
