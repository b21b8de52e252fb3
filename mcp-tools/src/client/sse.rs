//! HTTP+SSE, the transport of MCP 2024-11-05: an event stream whose first event names the URL to post to.
//! Streamable HTTP replaced it; if a server rejects the client's first POST, the client tries a GET (2025-11-25,
//! transports, backwards compatibility).

use std::{collections::VecDeque, io};

use bridge_protocol::sse::{SseData, SseEvent, SseParser};
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
    parser: SseParser,
    parsed: VecDeque<SseEvent>,
}

impl Sse {
    /// Opens the stream, and waits for the event that names the URL to post to. That URL must have the same host,
    /// because the headers are sent there.
    pub(super) async fn open(client: Client, url: &Url, headers: Headers) -> io::Result<Self> {
        let request = client.get(url.clone()).header(ACCEPT, "text/event-stream");
        let response = with(request, &headers).send().await.map_err(failed)?;
        expect_success(response.status())?;
        let mut events =
            Events { response, parser: SseParser::new(MAX_EVENT), parsed: VecDeque::new() };
        let post = loop {
            let event = events.next().await?;
            let (name, data) =
                event.ok_or_else(|| io_error("the stream ended before it named an endpoint"))?;
            if name == "endpoint" {
                break url.join(data.trim()).map_err(io_error)?;
            }
        };
        if post.origin() != url.origin() {
            return Err(io_error("the endpoint that it names is on another host"));
        }
        Ok(Self { events, client, post, headers })
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
            let (name, data) = self.events.next().await.ok().flatten()?;
            if matches!(name.as_str(), "" | "message")
                && let Ok(message) = serde_json::from_str(&data)
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
    /// Returns the name and the data of the next event, or `None` once the stream has ended. Cancel-safe.
    async fn next(&mut self) -> io::Result<Option<(String, String)>> {
        let too_long = || io_error("an event is longer than 16 MiB");
        loop {
            if let Some(event) = self.parsed.pop_front() {
                let SseData::Whole(data) = event.data else {
                    return Err(too_long());
                };
                return Ok(Some((event.event.unwrap_or_default(), data)));
            }
            if self.parser.unfinished() > Some(MAX_EVENT as u64) {
                return Err(too_long());
            }
            match self.response.chunk().await.map_err(failed)? {
                Some(chunk) => self.parsed.extend(self.parser.push(&chunk)),
                None => return Ok(None),
            }
        }
    }
}

fn with(request: reqwest_0_13::RequestBuilder, headers: &Headers) -> reqwest_0_13::RequestBuilder {
    request.headers(headers.iter().cloned().collect())
}

fn expect_success(status: StatusCode) -> io::Result<()> {
    match status.is_success() {
        true => Ok(()),
        // `failure` recognises a rejected token by this wording.
        false => Err(io_error(format!("unexpected server response: HTTP {status}"))),
    }
}

/// Converts an HTTP error. The URL is omitted, because its query may contain a token.
fn failed(error: reqwest_0_13::Error) -> io::Error {
    io_error(error.without_url())
}

fn io_error(error: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> io::Error {
    io::Error::other(error)
}
