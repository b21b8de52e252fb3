//! Passes the requests of a hop on to its upstream and records them as they pass.
//!
//! A request is recorded before it is passed on and a reply before it is passed back, so the
//! transcript never shows an effect before its cause.

use std::{sync::Arc, time::Duration};

use axum::{
    Router,
    body::BodyDataStream,
    extract::{Request, State},
    http::{Method, StatusCode, request::Parts},
    response::{IntoResponse, Response},
};
use bridge_http::Connections;
use bridge_program::Json;
use bridge_telemetry::{Instrument as _, Kind, Span, TraceContext, fail, set, span};
use bytes::BytesMut;
use futures_util::{StreamExt, stream};
use green_agent_transcript as transcript;
use serde_json::json;
use tokio::sync::Semaphore;

use super::{
    body::{self, Ended},
    exchange::{Exchange, HopRecord, cut},
    headers,
    origin::Origins,
    relay,
    reply::RequestInfo,
};

/// A request's body: the form for the transcript, and the body for the upstream.
struct Read {
    kept: Option<transcript::Body>,
    sent: Option<reqwest::Body>,
}

/// Returns the routes of a hop: every path and method is passed on.
pub(super) fn app(proxy: Proxy) -> Router {
    Router::new().fallback(serve).with_state(Arc::new(proxy))
}

async fn serve(State(proxy): State<Arc<Proxy>>, request: Request) -> Response {
    let mut phase = proxy.book.phase.clone();
    tokio::select! {
        response = Box::pin(proxy.pass(request)) => response,
        () = cut(&mut phase) => refusal(StatusCode::SERVICE_UNAVAILABLE, "the recorder was stopped"),
    }
}

impl Proxy {
    async fn pass(&self, request: Request) -> Response {
        let (parts, body) = request.into_parts();
        let permit = Arc::clone(&self.permits).try_acquire_owned().ok();
        let refused = refuses(&parts, permit.is_some());
        let exchange = Exchange::open(&self.book, permit);
        if let Some((status, why)) = refused {
            exchange.request(&parts, None);
            exchange.fail_by_caller(why);
            return refusal(status, why);
        }
        let Read { kept, sent } = match self.read(&parts, body.into_data_stream()).await {
            Ok(read) => read,
            Err((kept, error)) => {
                exchange.request(&parts, Some(kept));
                exchange.fail_by_caller(&error);
                return refusal(StatusCode::BAD_REQUEST, &error);
            }
        };
        let asked = RequestInfo::new(&parts.method, parts.uri.path(), kept.as_ref(), &self.origins);
        exchange.request(&parts, kept);
        let span = self.span(&parts);
        let sending = self.send(parts, sent).instrument(span.clone());
        match sending.await {
            Ok(reply) => {
                answered(&span, reply.status());
                self.pass_back(asked, exchange, reply).await
            }
            Err(error) => {
                fail(&span, "no answer");
                let error = relay::no_answer(&error);
                exchange.fail(&error);
                refusal(StatusCode::BAD_GATEWAY, &error)
            }
        }
    }

    /// Begins the span of an exchange, in its caller's trace.
    fn span(&self, parts: &Parts) -> Span {
        let span = span(Kind::Client, || self.book.hop.to_string());
        let caller = match TraceContext::read(&parts.headers) {
            caller if caller.is_some() => caller,
            _ => self.trial.clone(),
        };
        set(&span, "http.request.method", parts.method.as_str());
        caller.adopt(span)
    }

    /// Reads a request's body. One that is too large is passed on in chunks as it comes.
    async fn read(
        &self,
        parts: &Parts,
        mut pieces: BodyDataStream,
    ) -> Result<Read, (transcript::Body, String)> {
        let mut read = BytesMut::new();
        let alive = || self.book.transcript.touch();
        match body::collect(&mut read, &mut pieces, self.body_limit, alive).await {
            Ended::Whole => Ok(Read {
                kept: body::keep(&read),
                sent: (!read.is_empty()).then(|| read.freeze().into()),
            }),
            Ended::Larger => {
                let kept = body::too_large(&parts.headers, &read);
                let all = stream::once(async move { Ok(read.freeze()) }).chain(pieces);
                Ok(Read { kept: Some(kept), sent: Some(reqwest::Body::wrap_stream(all)) })
            }
            Ended::Broken(error) => {
                let error = format!("the request broke off: {}", bridge_program::chain(&error));
                Err((body::cut_short(&read), error))
            }
        }
    }

    async fn send(
        &self,
        parts: Parts,
        body: Option<reqwest::Body>,
    ) -> reqwest::Result<reqwest::Response> {
        let target = self.origins.target(parts.uri.path(), parts.uri.query());
        // The map is built at once, because a builder would copy the headers one by one.
        let mut request = reqwest::Request::new(parts.method, target);
        *request.headers_mut() = headers::to_upstream(parts.headers);
        TraceContext::current().write(request.headers_mut());
        *request.body_mut() = body;
        self.upstream.execute(request).await
    }
}

/// Records the upstream's status in the span. A status of 4xx is no error of the exchange: clients request resources
/// that may be absent, such as a card at another path or a stream.
fn answered(span: &Span, status: StatusCode) {
    set(span, "http.response.status_code", status.as_u16());
    if status.is_server_error() {
        fail(span, status.as_u16());
    }
}

/// Returns the reason why a request is refused, if it is.
fn refuses(parts: &Parts, permitted: bool) -> Option<(StatusCode, &'static str)> {
    if !permitted {
        let why = "too many exchanges are open on this hop: end some, or make fewer calls at the same time";
        Some((StatusCode::SERVICE_UNAVAILABLE, why))
    } else if parts.method == Method::CONNECT || headers::upgrade(&parts.headers).is_some() {
        let why = "the recorder forwards plain HTTP: it cannot upgrade or tunnel a connection";
        Some((StatusCode::NOT_IMPLEMENTED, why))
    } else {
        None
    }
}

/// Returns a refusal by the recorder itself.
fn refusal(status: StatusCode, why: &str) -> Response {
    (status, Json(json!({ "error": why }))).into_response()
}

/// One hop of the recorder.
#[derive(Debug)]
pub(super) struct Proxy {
    pub(super) book: Arc<HopRecord>,
    pub(super) origins: Origins,
    pub(super) upstream: Connections,
    pub(super) permits: Arc<Semaphore>,
    /// The largest body, and the largest event, that is kept, in bytes.
    pub(super) body_limit: usize,
    /// The time for which a reply is held back until it is complete, before its chunks are passed on.
    pub(super) hold: Duration,
    /// The trial, to whose trace a request without trace context belongs.
    pub(super) trial: TraceContext,
}
