//! Passes requests to the upstream of a hop and replies back, and records both as they pass.
//!
//! A request is recorded before it is passed on and a reply before it is passed back, so the
//! transcript never shows an effect before its cause.

use std::sync::Arc;

use axum::{
    Json, Router,
    body::Body,
    extract::{Request, State},
    http::{HeaderMap, Method, StatusCode, header, request::Parts},
    response::{IntoResponse, Response},
};
use bytes::Bytes;
use futures_util::{StreamExt, stream};
use serde_json::{Value, json};
use tokio::sync::{Semaphore, TryAcquireError};

use super::{
    body::{self, Collected},
    card,
    exchange::{Book, Exchange, cut},
    headers,
    origin::Origins,
    relay,
};
use crate::transcript;

/// One hop of the recorder.
#[derive(Debug)]
pub(super) struct Proxy {
    pub(super) book: Arc<Book>,
    pub(super) origins: Origins,
    pub(super) client: reqwest::Client,
    pub(super) permits: Arc<Semaphore>,
    /// The largest body, and the largest event, that is kept, in bytes.
    pub(super) body_limit: usize,
}

/// Where a reply may hold an agent card.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum CardAt {
    Nowhere,
    /// The body is one.
    Body,
    /// The result of a JSON-RPC reply is one.
    Result,
}

/// The whole of a hop as an app: every path and every method is passed on.
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
        let exchange = match Arc::clone(&self.permits).try_acquire_owned() {
            Ok(permit) => Exchange::open(&self.book, Some(permit)),
            Err(TryAcquireError::NoPermits | TryAcquireError::Closed) => {
                let why = "too many exchanges are open on this hop: end some, or call less at once";
                return refuse(
                    Exchange::open(&self.book, None),
                    &parts,
                    StatusCode::SERVICE_UNAVAILABLE,
                    why,
                );
            }
        };
        if parts.method == Method::CONNECT || headers::upgrade(&parts.headers).is_some() {
            let why = "the recorder passes on HTTP requests only: connections cannot be upgraded or tunnelled";
            return refuse(exchange, &parts, StatusCode::NOT_IMPLEMENTED, why);
        }
        let mut pieces = body.into_data_stream();
        let (kept, body) = match body::collect(&mut pieces, self.body_limit).await {
            Collected::Whole(bytes) => (body::keep(&bytes, &self.book.masker), whole(bytes)),
            Collected::Larger(beginning) => {
                let kept = too_large(&parts.headers, &beginning);
                let rest = stream::once(async { Ok(beginning) }).chain(pieces);
                (Some(kept), Some(reqwest::Body::wrap_stream(rest)))
            }
            Collected::Broken(beginning, error) => {
                exchange.request(&parts, Some(cut_short(&beginning)));
                let error = format!("the request broke off: {}", relay::in_full(&error));
                exchange.fail_by_caller(&error);
                return refusal(StatusCode::BAD_REQUEST, &error);
            }
        };
        let card_at = card_at(&parts, kept.as_ref());
        exchange.request(&parts, kept);
        match self.send(&parts, body).await {
            Ok(reply) => self.pass_back(exchange, card_at, reply).await,
            Err(error) => {
                let error = format!(
                    "the upstream did not answer: {}",
                    relay::in_full(&error.without_url())
                );
                exchange.fail(&error);
                refusal(StatusCode::BAD_GATEWAY, &self.book.masker.mask_text(&error))
            }
        }
    }

    async fn send(
        &self,
        parts: &Parts,
        body: Option<reqwest::Body>,
    ) -> reqwest::Result<reqwest::Response> {
        let target = self.origins.target(parts.uri.path(), parts.uri.query());
        let mut request = self
            .client
            .request(parts.method.clone(), target)
            .headers(headers::to_upstream(&parts.headers));
        if let Some(body) = body {
            request = request.body(body);
        }
        request.send().await
    }

    async fn pass_back(
        &self,
        exchange: Exchange,
        card_at: CardAt,
        reply: reqwest::Response,
    ) -> Response {
        let (status, headers) = (reply.status(), reply.headers().clone());
        let coding = headers::content_coding(&headers);
        let mut pieces = reply.bytes_stream().boxed();
        let respond = |body| response(status, headers::to_caller(&headers, &self.origins), body);
        if let Some(coding) = coding {
            let bytes = headers::content_length(&headers).unwrap_or_default();
            exchange.reply(
                status,
                &headers,
                Some(body::omit(bytes, format!("encoded with {coding}"))),
            );
            return respond(relay::bytes(pieces, exchange));
        }
        if headers::is_event_stream(&headers) {
            exchange.reply(status, &headers, None);
            return respond(relay::events(pieces, exchange, self.body_limit));
        }
        match body::collect(&mut pieces, self.body_limit).await {
            Collected::Whole(bytes) => {
                exchange.reply(status, &headers, body::keep(&bytes, &self.book.masker));
                exchange.close();
                match self.rewritten(card_at, status, &bytes) {
                    Some(card) => with_length_of_its_own(respond(Body::from(card))),
                    None => respond(Body::from(bytes)),
                }
            }
            Collected::Larger(beginning) => {
                exchange.reply(status, &headers, Some(too_large(&headers, &beginning)));
                let rest = stream::once(async { Ok(beginning) }).chain(pieces);
                respond(relay::bytes(rest.boxed(), exchange))
            }
            Collected::Broken(beginning, error) => {
                exchange.reply(status, &headers, Some(cut_short(&beginning)));
                let error = format!(
                    "the upstream broke off: {}",
                    relay::in_full(&error.without_url())
                );
                exchange.fail(&error);
                respond(relay::broken(beginning, error))
            }
        }
    }

    /// The reply with its card rewritten; `None` where there is no card or nothing to change in it.
    fn rewritten(&self, card_at: CardAt, status: StatusCode, bytes: &[u8]) -> Option<Vec<u8>> {
        if card_at == CardAt::Nowhere || !status.is_success() {
            return None;
        }
        let mut reply: Value = serde_json::from_slice(bytes).ok()?;
        let card = match card_at {
            CardAt::Nowhere => return None,
            CardAt::Body => &mut reply,
            CardAt::Result => reply.get_mut("result")?,
        };
        let outcome = card::rewrite(card, &self.origins);
        for url in outcome.elsewhere {
            let hop = &self.book.hop;
            tracing::warn!(%hop, %url, "the agent's card leads past the recorder: what goes there is not recorded");
        }
        if outcome.changed {
            serde_json::to_vec(&reply).ok()
        } else {
            None
        }
    }
}

fn card_at(parts: &Parts, request: Option<&transcript::Body>) -> CardAt {
    if parts.method == Method::GET && card::is_card_path(parts.uri.path()) {
        return CardAt::Body;
    }
    match request.and_then(transcript::Body::json) {
        Some(request) if card::asks_for_card(request) => CardAt::Result,
        Some(_) | None => CardAt::Nowhere,
    }
}

fn whole(bytes: Bytes) -> Option<reqwest::Body> {
    (!bytes.is_empty()).then(|| bytes.into())
}

fn too_large(headers: &HeaderMap, beginning: &Bytes) -> transcript::Body {
    let bytes = headers::content_length(headers).unwrap_or(beginning.len() as u64);
    body::omit(bytes, "larger than the recorder's limit")
}

fn cut_short(beginning: &Bytes) -> transcript::Body {
    body::omit(
        beginning.len() as u64,
        "the connection broke before the body's end",
    )
}

fn response(status: StatusCode, headers: HeaderMap, body: Body) -> Response {
    let mut response = Response::new(body);
    *response.status_mut() = status;
    *response.headers_mut() = headers;
    response
}

fn with_length_of_its_own(mut response: Response) -> Response {
    response.headers_mut().remove(header::CONTENT_LENGTH);
    response
}

/// Records a request that is not passed on, and why.
fn refuse(exchange: Exchange, parts: &Parts, status: StatusCode, why: &str) -> Response {
    exchange.request(parts, None);
    exchange.fail_by_caller(why);
    refusal(status, why)
}

/// An answer of the recorder itself.
fn refusal(status: StatusCode, why: &str) -> Response {
    (status, Json(json!({ "error": why }))).into_response()
}
