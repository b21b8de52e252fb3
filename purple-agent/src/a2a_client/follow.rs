//! Follows the evaluator's task until there is nothing more to be heard.

use std::sync::Arc;

use bridge_client::{Client, ClientError, EventStream, Fault};
use bridge_protocol::a2a::SendMessageRequest;
use futures_util::StreamExt as _;

use super::heard::{Heard, Stage};

/// Says something, so that there is more to be heard. What an evaluator without streams answers is heard here
/// already.
pub(super) async fn say(
    client: &Client,
    request: SendMessageRequest,
    heard: &Heard,
) -> Result<Option<EventStream>, ClientError> {
    if client.card().capabilities.streams() {
        let events = client.send_streaming_message(request).await?;
        heard.reopen();
        return Ok(Some(events));
    }
    let answer = client.send_message(request).await?;
    heard.reopen();
    heard.take(answer.into());
    Ok(None)
}

/// Hears all there is to be heard. Whoever waits for it has the limits; dropping ends it.
pub(super) async fn follow(client: Arc<Client>, events: Option<EventStream>, heard: Arc<Heard>) {
    let mut broken = match events {
        Some(events) => listen(events, &heard).await.err(),
        None => None,
    };
    // A stream that ended early, or fell silent for too long, lost nothing: the task knows what was said.
    if broken.as_ref().is_none_or(is_silence)
        && is_open(&heard)
        && let Some(task) = heard.task()
    {
        broken = listen(client.poll_task(task), &heard).await.err();
    }
    if is_open(&heard) {
        heard.broken(match broken {
            Some(error) => error.to_string(),
            None => "the stream ended before it said anything".to_owned(),
        });
    }
}

async fn listen(mut events: EventStream, heard: &Heard) -> Result<(), ClientError> {
    while let Some(item) = events.next().await {
        heard.take(item?);
    }
    Ok(())
}

fn is_open(heard: &Heard) -> bool {
    *heard.stage().borrow() == Stage::Open
}

fn is_silence(error: &ClientError) -> bool {
    matches!(error.fault, Fault::Timeout(_))
}
