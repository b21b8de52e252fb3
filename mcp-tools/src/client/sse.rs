//! HTTP+SSE, the transport of MCP 2024-11-05: an event stream whose first event names the URL to post to.
//! Streamable HTTP replaced it; if a server rejects the client's first POST, the client tries a GET (2025-11-25,
//! transports, backwards compatibility).

use std::io;

use reqwest_0_13::{Client, Response, StatusCode, header::ACCEPT};
use rmcp::{
    RoleClient,
    service::{RxJsonRpcMessage, TxJsonRpcMessage},
    transport::Transport,
};
use url::Url;

use super::http::Headers;

/// The largest size of one event, in bytes.
const MAX_EVENT: usize = 16 << 20;

/// An open stream, and the URL to post to.
pub(super) struct Sse {
    events: Events,
    client: Client,
    post: Url,
    headers: Headers,
}

/// The events of a response.
struct Events {
    response: Response,
    unread: Vec<u8>,
}

#[derive(Debug, Default, PartialEq, Eq)]
struct Event {
    name: String,
    data: String,
}

impl Sse {
    /// Opens the stream, and waits for the event that names the URL to post to. That URL must have the same host,
    /// because the headers are sent there.
    pub(super) async fn open(client: Client, url: &Url, headers: Headers) -> io::Result<Self> {
        let request = client.get(url.clone()).header(ACCEPT, "text/event-stream");
        let response = with(request, &headers).send().await.map_err(failed)?;
        expect_success(response.status())?;
        let mut events = Events {
            response,
            unread: Vec::new(),
        };
        let post = loop {
            let event = events.next().await?;
            let event =
                event.ok_or_else(|| other("the stream ended before it named an endpoint"))?;
            if event.name == "endpoint" {
                break url.join(event.data.trim()).map_err(other)?;
            }
        };
        if post.origin() != url.origin() {
            return Err(other("the endpoint that it names is on another host"));
        }
        Ok(Self {
            events,
            client,
            post,
            headers,
        })
    }
}

impl Transport<RoleClient> for Sse {
    type Error = io::Error;

    fn send(
        &mut self,
        message: TxJsonRpcMessage<RoleClient>,
    ) -> impl Future<Output = io::Result<()>> + Send + 'static {
        let request = self.client.post(self.post.clone()).json(&message);
        let request = with(request, &self.headers);
        async move {
            let response = request.send().await.map_err(failed)?;
            expect_success(response.status())
        }
    }

    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleClient>> {
        loop {
            let event = self.events.next().await.ok().flatten()?;
            if matches!(event.name.as_str(), "" | "message")
                && let Ok(message) = serde_json::from_str(&event.data)
            {
                return Some(message);
            }
        }
    }

    async fn close(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Events {
    /// Returns the next event, or `None` once the stream has ended. Cancel-safe.
    async fn next(&mut self) -> io::Result<Option<Event>> {
        loop {
            if let Some(event) = take_event(&mut self.unread) {
                return Ok(Some(event));
            }
            if self.unread.len() > MAX_EVENT {
                return Err(other("an event is longer than 16 MiB"));
            }
            match self.response.chunk().await.map_err(failed)? {
                Some(chunk) => self.unread.extend_from_slice(&chunk),
                None => return Ok(None),
            }
        }
    }
}

/// Takes the first complete event out of the buffer.
fn take_event(unread: &mut Vec<u8>) -> Option<Event> {
    let ends = [&b"\n\n"[..], b"\r\n\r\n", b"\r\r"];
    let end = ends
        .iter()
        .filter_map(|end| {
            let at = unread.windows(end.len()).position(|bytes| bytes == *end)?;
            Some(at + end.len())
        })
        .min()?;
    let event: Vec<u8> = unread.drain(..end).collect();
    let mut read = Event::default();
    let text = String::from_utf8_lossy(&event).replace('\r', "\n");
    for line in text.lines() {
        let (field, value) = line.split_once(':').unwrap_or((line, ""));
        let value = value.strip_prefix(' ').unwrap_or(value);
        match field {
            "event" => value.clone_into(&mut read.name),
            "data" if read.data.is_empty() => value.clone_into(&mut read.data),
            "data" => read.data.extend(["\n", value]),
            _id_or_comment => {}
        }
    }
    Some(read)
}

fn with(request: reqwest_0_13::RequestBuilder, headers: &Headers) -> reqwest_0_13::RequestBuilder {
    request.headers(headers.iter().cloned().collect())
}

fn expect_success(status: StatusCode) -> io::Result<()> {
    match status.is_success() {
        true => Ok(()),
        // `failure` recognises a rejected token by this wording.
        false => Err(other(format!("unexpected server response: HTTP {status}"))),
    }
}

/// Converts an HTTP error. The URL is omitted, because its query may contain a token.
fn failed(error: reqwest_0_13::Error) -> io::Error {
    other(error.without_url())
}

fn other(error: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> io::Error {
    io::Error::other(error)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_are_taken_whole_however_lines_end() {
        let mut unread =
            b"event: endpoint\r\ndata: /messages\r\n\r\n: ping\n\ndata: 1\ndata: 2\n\ndata: x"
                .to_vec();
        let mut read = || take_event(&mut unread).map(|event| (event.name, event.data));
        let event = |name: &str, data: &str| Some((name.to_owned(), data.to_owned()));
        assert_eq!(read(), event("endpoint", "/messages"));
        assert_eq!(read(), event("", ""));
        assert_eq!(read(), event("", "1\n2"));
        assert_eq!(read(), None);
    }
}
