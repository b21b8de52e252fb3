//! The events of a streaming operation.

use std::{
    pin::Pin,
    task::{Context, Poll},
};

use bridge_protocol::{
    a2a::StreamResponse,
    dialect::{Call, Version},
};
use futures_util::{Stream, StreamExt as _, stream::BoxStream};
use reqwest_eventsource::{Error, Event, EventSource, retry};

use crate::{
    ClientError, Credentials, Fault, Limits,
    rpc::{Endpoint, open_event, read_reply},
};

/// Events as they arrive, in the types of 1.0. It ends after the stream's end or the first error.
///
/// Dropping it closes the connection; the task goes on at the agent.
pub struct EventStream(BoxStream<'static, Result<StreamResponse, ClientError>>);

impl Stream for EventStream {
    type Item = Result<StreamResponse, ClientError>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.0.poll_next_unpin(cx)
    }
}

impl std::fmt::Debug for EventStream {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("EventStream")
    }
}

/// Opens the stream of a call. A refusal is told here already, not by the first event.
pub(crate) async fn open(endpoint: &Endpoint, call: &Call) -> Result<EventStream, Fault> {
    let limits = endpoint.limits;
    let request = endpoint.request(call)?;
    let mut source =
        EventSource::new(request).map_err(|error| Fault::StreamBroken(error.to_string()))?;
    // A reconnect would send the message again, and so start a second turn.
    source.set_retry_policy(Box::new(retry::Never));
    match next(&mut source, &limits, limits.reply).await? {
        Some(Event::Open) => {}
        Some(Event::Message(_)) | None => {
            return Err(Fault::StreamBroken("it ended before it began".into()));
        }
    }
    let reader = Reader {
        source,
        limits,
        credentials: endpoint.credentials.clone(),
        version: endpoint.version,
        agent: endpoint.url.to_string(),
        operation: call.operation().name(),
    };
    Ok(EventStream(
        futures_util::stream::unfold(Some(reader), read).boxed(),
    ))
}

struct Reader {
    source: EventSource,
    limits: Limits,
    credentials: Credentials,
    version: Version,
    agent: String,
    operation: &'static str,
}

type Item = Result<StreamResponse, ClientError>;

/// One step of the stream: the next event and the reader, which is gone after the end.
async fn read(reader: Option<Reader>) -> Option<(Item, Option<Reader>)> {
    let mut reader = reader?;
    match reader.next_item().await {
        Ok(Some(item)) => Some((Ok(item), Some(reader))),
        Ok(None) => None,
        Err(fault) => Some((
            Err(reader
                .credentials
                .hide_in(fault)
                .of(&reader.agent, reader.operation)),
            None,
        )),
    }
}

impl Reader {
    async fn next_item(&mut self) -> Result<Option<StreamResponse>, Fault> {
        loop {
            match next(&mut self.source, &self.limits, self.limits.idle).await? {
                None => return Ok(None),
                Some(Event::Open) => {}
                // Keep-alives of some servers are events without data.
                Some(Event::Message(event)) if event.data.is_empty() => {}
                Some(Event::Message(event)) => return self.open(&event.data).map(Some),
            }
        }
    }

    fn open(&self, data: &str) -> Result<StreamResponse, Fault> {
        if data.len() > self.limits.body {
            let limit = self.limits.body;
            return Err(Fault::TooLarge { limit });
        }
        let item = open_event(data)?;
        self.version.stream_item_to_v1(item).map_err(Fault::Invalid)
    }
}

async fn next(
    source: &mut EventSource,
    limits: &Limits,
    wait: std::time::Duration,
) -> Result<Option<Event>, Fault> {
    match tokio::time::timeout(wait, source.next()).await {
        Err(_) => Err(Fault::Timeout(wait)),
        Ok(None) | Ok(Some(Err(Error::StreamEnded))) => Ok(None),
        Ok(Some(Ok(event))) => Ok(Some(event)),
        Ok(Some(Err(Error::Transport(error)))) => Err(Fault::transport(&error, wait)),
        Ok(Some(Err(Error::InvalidStatusCode(_, reply) | Error::InvalidContentType(_, reply)))) => {
            Err(refusal(reply, limits).await)
        }
        Ok(Some(Err(
            error @ (Error::Utf8(_) | Error::Parser(_) | Error::InvalidLastEventId(_)),
        ))) => Err(Fault::StreamBroken(error.to_string())),
    }
}

/// What a reply that is no stream says.
async fn refusal(reply: reqwest::Response, limits: &Limits) -> Fault {
    match crate::rpc::within(limits.reply, read_reply(reply, limits)).await {
        Err(fault) => fault,
        Ok(_) => Fault::StreamBroken("the answer is a single object, not a stream".into()),
    }
}
