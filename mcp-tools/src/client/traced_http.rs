//! An HTTP client that repeats the trace context of a tool call as a header of its request, for servers whose framework
//! reads it there, and makes a connection for each request if that costs little.

use std::sync::Arc;

use futures_util::stream::BoxStream;
use reqwest_0_13::{
    Client,
    header::{CONNECTION, HeaderName, HeaderValue},
};
use rmcp::{
    model::{ClientJsonRpcMessage, ClientRequest, JsonRpcMessage, RequestParamsMeta as _},
    transport::streamable_http_client::{
        StreamableHttpClient, StreamableHttpError, StreamableHttpPostResponse,
    },
};
use sse_stream::{Error as SseError, Sse};

#[expect(clippy::disallowed_types, reason = "rmcp names it")]
type Headers = std::collections::HashMap<HeaderName, HeaderValue>;
type Outcome<T> = Result<T, StreamableHttpError<reqwest_0_13::Error>>;
type Events = BoxStream<'static, Result<Sse, SseError>>;

/// The client; everything but these headers is reqwest's.
#[derive(Clone)]
pub(super) struct TracedClient(pub(super) Client);

/// The name of the header, W3C Trace Context.
const TRACEPARENT: HeaderName = HeaderName::from_static("traceparent");

/// Adds the trace context of a tool call, unless the connection details have one. Has the server close the connection after a
/// request without TLS: a server on Node.js whose only thread was busy for 5 s closes kept connections before it reads the
/// calls that wait there, and nobody knows whether a call can be repeated.
fn add_headers(uri: &str, message: &ClientJsonRpcMessage, headers: &mut Headers) {
    if let JsonRpcMessage::Request(request) = message
        && let ClientRequest::CallToolRequest(call) = &request.request
        && let Some(Ok(value)) = call.params.traceparent().map(HeaderValue::from_str)
    {
        headers.entry(TRACEPARENT).or_insert(value);
    }
    if uri.starts_with("http:") {
        headers.insert(CONNECTION, HeaderValue::from_static("close"));
    }
}

impl StreamableHttpClient for TracedClient {
    type Error = reqwest_0_13::Error;

    async fn post_message(
        &self,
        uri: Arc<str>,
        message: ClientJsonRpcMessage,
        session: Option<Arc<str>>,
        auth: Option<String>,
        mut headers: Headers,
    ) -> Outcome<StreamableHttpPostResponse> {
        add_headers(&uri, &message, &mut headers);
        self.0.post_message(uri, message, session, auth, headers).await
    }

    async fn post_message_with_max_sse_event_size(
        &self,
        uri: Arc<str>,
        message: ClientJsonRpcMessage,
        session: Option<Arc<str>>,
        auth: Option<String>,
        mut headers: Headers,
        limit: usize,
    ) -> Outcome<StreamableHttpPostResponse> {
        add_headers(&uri, &message, &mut headers);
        self.0
            .post_message_with_max_sse_event_size(uri, message, session, auth, headers, limit)
            .await
    }

    async fn delete_session(
        &self,
        uri: Arc<str>,
        session: Arc<str>,
        auth: Option<String>,
        headers: Headers,
    ) -> Outcome<()> {
        self.0.delete_session(uri, session, auth, headers).await
    }

    async fn get_stream(
        &self,
        uri: Arc<str>,
        session: Option<Arc<str>>,
        last_event_id: Option<String>,
        auth: Option<String>,
        headers: Headers,
    ) -> Outcome<Events> {
        self.0.get_stream(uri, session, last_event_id, auth, headers).await
    }

    async fn get_stream_with_max_sse_event_size(
        &self,
        uri: Arc<str>,
        session: Option<Arc<str>>,
        last_event_id: Option<String>,
        auth: Option<String>,
        headers: Headers,
        limit: usize,
    ) -> Outcome<Events> {
        self.0
            .get_stream_with_max_sse_event_size(uri, session, last_event_id, auth, headers, limit)
            .await
    }
}
