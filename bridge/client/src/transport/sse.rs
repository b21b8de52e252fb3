//! Reads server-sent events.

use std::{collections::VecDeque, time::Duration};

use bridge_protocol::{
    a2a::StreamResponse,
    dialect::Call,
    sse::{SseData, SseEvent, SseParser},
};
use bytes::Bytes;
use futures_util::{
    StreamExt as _,
    stream::{self, BoxStream},
};
use reqwest::{
    RequestBuilder, Response, StatusCode,
    header::{ACCEPT, CONTENT_TYPE},
};
use tokio::time::{Instant, timeout_at};

use super::{Item, Items};
use crate::{
    Fault, Limits,
    http::{Endpoint, HttpResponse, check_weight, within},
};

const EVENT_STREAM: &str = "text/event-stream";

/// The longest wait for an event. Clocks cannot express the end of a wait without limit.
const LONGEST: Duration = Duration::from_secs(365 * 24 * 60 * 60);

/// Opens the stream of a call. `read` converts the data of an event; `refused` converts an answer that is no stream.
///
/// An agent may answer a message with the data of one event, although its card promises streams. Its task is then followed as
/// after any stream that breaks.
pub(super) async fn open(
    endpoint: &Endpoint,
    request: RequestBuilder,
    call: &Call,
    after: Option<&str>,
    read: impl Fn(&str) -> Result<StreamResponse, Fault> + Send + 'static,
    refused: impl Fn(&HttpResponse) -> Fault,
) -> Result<Items, Fault> {
    let limits = endpoint.limits;
    let request = match after {
        Some(id) => request.header("Last-Event-ID", id),
        None => request,
    };
    let request = request.header(ACCEPT, EVENT_STREAM);
    let response = within(limits.reply, endpoint.send(request)).await?;
    if !is_stream(&response) {
        let answer = within(limits.reply, HttpResponse::read(response, &limits)).await?;
        let is_message = matches!(call, Call::SendStreamingMessage(_));
        let only = (is_message && answer.is_success())
            .then(|| read(&String::from_utf8_lossy(&answer.body)));
        return match only {
            Some(Ok(event)) => {
                Ok(stream::iter([Ok(Item::new(None, event)), Err(no_stream())]).boxed())
            }
            Some(Err(_)) | None => Err(refused(&answer)),
        };
    }
    let reader = SseReader {
        pieces: response.bytes_stream().boxed(),
        parser: SseParser::new(limits.body),
        parsed: VecDeque::new(),
        limits,
        read,
    };
    // The reader is dropped after the end or an error.
    let items = stream::try_unfold(reader, |mut reader| async move {
        let item = reader.next_item().await?;
        Ok::<_, Fault>(item.map(|item| (item, reader)))
    });
    Ok(items.boxed())
}

fn is_stream(response: &Response) -> bool {
    let media_type = response.headers().get(CONTENT_TYPE);
    let media_type = media_type.and_then(|value| value.to_str().ok()?.split(';').next());
    response.status() == StatusCode::OK
        && media_type.is_some_and(|value| value.trim().eq_ignore_ascii_case(EVENT_STREAM))
}

/// Returns the fault of an answer that is a single object instead of a stream.
pub(super) fn no_stream() -> Fault {
    Fault::StreamBroken("the answer is a single object, not a stream".into())
}

struct SseReader<R> {
    pieces: BoxStream<'static, reqwest::Result<Bytes>>,
    parser: SseParser,
    /// The events that came with one piece.
    parsed: VecDeque<SseEvent>,
    limits: Limits,
    read: R,
}

impl<R: Fn(&str) -> Result<StreamResponse, Fault>> SseReader<R> {
    async fn next_item(&mut self) -> Result<Option<Item>, Fault> {
        let deadline = Instant::now() + self.limits.idle.min(LONGEST);
        loop {
            let Some(event) = self.next_event(deadline).await? else {
                return Ok(None);
            };
            let data = match &event.data {
                SseData::Whole(data) => data,
                SseData::TooLarge(_) => return Err(self.too_large()),
            };
            // Some servers send events without data as keep-alives.
            if data.is_empty() {
                continue;
            }
            check_weight(data.as_bytes())?;
            // VoltAgent's server starts each event with the record separator of JSON text sequences (RFC 7464).
            let item = (self.read)(data.trim_start_matches('\u{1e}'))?;
            let id = event.id.filter(|id| !id.is_empty());
            return Ok(Some(Item::new(id, item)));
        }
    }

    async fn next_event(&mut self, deadline: Instant) -> Result<Option<SseEvent>, Fault> {
        while self.parsed.is_empty() {
            let piece = match timeout_at(deadline, self.pieces.next()).await {
                Ok(Some(Ok(piece))) => piece,
                Ok(Some(Err(error))) => return Err(Fault::transport(&error, self.limits.idle)),
                Ok(None) => return self.end(),
                Err(_) => return Err(Fault::Timeout(self.limits.idle)),
            };
            self.parsed.extend(self.parser.push(&piece));
            // An agent could send an endless event or endless comments so fast that the reader never waits.
            if self.parser.unfinished() > Some(self.limits.body as u64) {
                return Err(self.too_large());
            }
            if self.parsed.is_empty() && Instant::now() >= deadline {
                return Err(Fault::Timeout(self.limits.idle));
            }
        }
        Ok(self.parsed.pop_front())
    }

    /// Returns the end of the stream. A server that announces no length ends a connection in the same way when it breaks, which
    /// only shows if it does so within an event.
    fn end(&self) -> Result<Option<SseEvent>, Fault> {
        match self.parser.unfinished() {
            None => Ok(None),
            Some(_) => Err(Fault::StreamBroken("it ended within an event".into())),
        }
    }

    fn too_large(&self) -> Fault {
        Fault::TooLarge(self.limits.body)
    }
}
