//! Reads server-sent events.

use std::time::Duration;

use bridge_protocol::a2a::StreamResponse;
use futures_util::{StreamExt as _, stream};
use reqwest::RequestBuilder;
use reqwest_eventsource::{Error, Event, EventSource, retry};

use super::{Item, Items};
use crate::{
    Fault, Limits,
    http::{Answer, Endpoint, within},
};

/// Opens a stream. `read` converts the data of an event; `refused` converts an answer that is no stream.
pub(super) async fn open(
    endpoint: &Endpoint,
    request: RequestBuilder,
    after: Option<&str>,
    read: impl Fn(&str) -> Result<StreamResponse, Fault> + Send + 'static,
    refused: impl Fn(&Answer) -> Fault,
) -> Result<Items, Fault> {
    let limits = endpoint.limits;
    let request = match after {
        Some(id) => request.header("Last-Event-ID", id),
        None => request,
    };
    let mut source = EventSource::new(endpoint.with_headers(request))
        .map_err(|error| Fault::StreamBroken(error.to_string()))?;
    // A reconnect would send the message again, and so start a second turn.
    source.set_retry_policy(Box::new(retry::Never));
    match next(&mut source, limits.reply).await {
        Ok(Some(Event::Open)) => {}
        Ok(Some(Event::Message(_)) | None) => {
            return Err(Fault::StreamBroken("it ended before it began".into()));
        }
        Err(Broken::By(fault)) => return Err(fault),
        Err(Broken::ReplyValue(reply)) => {
            let answer = within(limits.reply, Answer::read(*reply, &limits)).await?;
            return Err(refused(&answer));
        }
    }
    let reader = SseReader {
        source,
        limits,
        read,
    };
    Ok(stream::unfold(Some(reader), step).boxed())
}

/// The fault of an answer that is a single object instead of a stream.
pub(super) fn no_stream() -> Fault {
    Fault::StreamBroken("the answer is a single object, not a stream".into())
}

struct SseReader<R> {
    source: EventSource,
    limits: Limits,
    read: R,
}

/// Reads the next item. The reader is dropped after the end or an error.
async fn step<R>(
    reader: Option<SseReader<R>>,
) -> Option<(Result<Item, Fault>, Option<SseReader<R>>)>
where
    R: Fn(&str) -> Result<StreamResponse, Fault>,
{
    let mut reader = reader?;
    match reader.next_item().await {
        Ok(Some(item)) => Some((Ok(item), Some(reader))),
        Ok(None) => None,
        Err(fault) => Some((Err(fault), None)),
    }
}

impl<R: Fn(&str) -> Result<StreamResponse, Fault>> SseReader<R> {
    async fn next_item(&mut self) -> Result<Option<Item>, Fault> {
        loop {
            let message = match next(&mut self.source, self.limits.idle).await {
                Ok(None) => return Ok(None),
                Ok(Some(Event::Open)) => continue,
                Ok(Some(Event::Message(message))) => message,
                Err(Broken::By(fault)) => return Err(fault),
                Err(Broken::ReplyValue(_)) => return Err(no_stream()),
            };
            // Some servers send events without data as keep-alives.
            if message.data.is_empty() {
                continue;
            }
            let event = self.event(&message.data)?;
            let id = Some(message.id).filter(|id| !id.is_empty());
            return Ok(Some(Item::new(id, event)));
        }
    }

    fn event(&self, data: &str) -> Result<StreamResponse, Fault> {
        // VoltAgent's server starts each event with the record separator of JSON text sequences (RFC 7464).
        let data = data.trim_start_matches('\u{1e}');
        let limit = self.limits.body;
        match data.len() > limit {
            true => Err(Fault::TooLarge { limit }),
            false => (self.read)(data),
        }
    }
}

/// The reason why there is no next event.
enum Broken {
    /// The answer is no stream.
    ReplyValue(Box<reqwest::Response>),
    /// Any other fault.
    By(Fault),
}

async fn next(source: &mut EventSource, wait: Duration) -> Result<Option<Event>, Broken> {
    match tokio::time::timeout(wait, source.next()).await {
        Err(_) => Err(Broken::By(Fault::Timeout(wait))),
        Ok(None) | Ok(Some(Err(Error::StreamEnded))) => Ok(None),
        Ok(Some(Ok(event))) => Ok(Some(event)),
        Ok(Some(Err(Error::Transport(error)))) => Err(Broken::By(Fault::transport(&error, wait))),
        Ok(Some(Err(Error::InvalidStatusCode(_, reply) | Error::InvalidContentType(_, reply)))) => {
            Err(Broken::ReplyValue(Box::new(reply)))
        }
        Ok(Some(Err(
            error @ (Error::Utf8(_) | Error::Parser(_) | Error::InvalidLastEventId(_)),
        ))) => Err(Broken::By(Fault::StreamBroken(error.to_string()))),
    }
}
