//! Follows the evaluator's task until no further events can arrive.

use std::sync::Arc;

use bridge_client::{Client, ClientError, EventStream, Fault};
use bridge_protocol::a2a::SendMessageRequest;
use futures_util::StreamExt as _;

use super::observed_task::{EvaluationStage, ObservedTask};

/// Sends a message that causes new events. The answer of an evaluator without streaming is processed here.
pub(super) async fn say(
    client: &Client,
    request: SendMessageRequest,
    observed_task: &ObservedTask,
) -> Result<Option<EventStream>, ClientError> {
    if client.card().capabilities.streams() {
        let events = client.send_streaming_message(request).await?;
        observed_task.reopen();
        return Ok(Some(events));
    }
    let answer = client.send_message(request).await?;
    observed_task.reopen();
    observed_task.take(answer.into());
    Ok(None)
}

/// Processes events until no more can arrive. The caller sets the time limit; dropping the future stops.
pub(super) async fn follow(
    client: Arc<Client>,
    events: Option<EventStream>,
    observed_task: Arc<ObservedTask>,
) {
    let mut broken = match events {
        Some(events) => listen(events, &observed_task).await.err(),
        None => None,
    };
    // A stream that ended early, or was silent for too long, lost no messages: the task has them.
    if broken.as_ref().is_none_or(is_silence)
        && is_open(&observed_task)
        && let Some(task) = observed_task.task()
    {
        broken = listen(client.poll_task(task), &observed_task).await.err();
    }
    if is_open(&observed_task) {
        observed_task.broken(match broken {
            Some(error) => error.to_string(),
            None => "the stream ended without a message".to_owned(),
        });
    }
}

async fn listen(mut events: EventStream, observed_task: &ObservedTask) -> Result<(), ClientError> {
    while let Some(item) = events.next().await {
        observed_task.take(item?);
    }
    Ok(())
}

fn is_open(observed_task: &ObservedTask) -> bool {
    *observed_task.stage().borrow() == EvaluationStage::Open
}

fn is_silence(error: &ClientError) -> bool {
    matches!(error.fault, Fault::Timeout(_))
}
