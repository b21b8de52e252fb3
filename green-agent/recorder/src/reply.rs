//! Passes the replies of a hop back and records them.

use axum::{
    body::Body,
    http::{HeaderMap, Method, StatusCode, header},
    response::Response,
};
use bridge_protocol::sse::SseParser;
use bytes::{Bytes, BytesMut};
use futures_util::{StreamExt, stream};
use serde_json::Value;
use tokio::time::timeout;

use super::{
    body::{self, Ended},
    card,
    exchange::Exchange,
    headers,
    lines::LineParser,
    oauth,
    origin::Origins,
    proxy::Proxy,
    relay::{self, BodyChunks, Reading, Slow},
};

/// The properties of a request that decide how its reply is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct RequestInfo {
    /// Whether the reply has no body, whatever its headers say.
    pub(super) head_only: bool,
    /// The document in the reply.
    pub(super) document: Document,
}

/// A document whose addresses are rewritten.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Document {
    /// The reply is none.
    None,
    Card,
    /// The result of a JSON-RPC reply is a card.
    CardInResult,
    /// The metadata of a protected resource or of its authorization server.
    OauthMetadata,
}

/// The way in which the body of a reply is passed back.
enum Form {
    /// As a whole, if it is neither too large nor too slow.
    Whole,
    /// Event by event, or line by line.
    Stream(Reading),
    /// Unread, since it is encoded; contains the content coding.
    Encoded(String),
}

impl RequestInfo {
    /// Reads the properties; `kept` is the request's body in the transcript's form.
    pub(super) fn new(
        method: &Method,
        path: &str,
        kept: Option<&green_agent_transcript::Body>,
        origins: &Origins,
    ) -> Self {
        let request = kept.and_then(green_agent_transcript::Body::json);
        let is_card = card::is_card_path(path) || origins.is_card(path);
        let document = if method == Method::GET && is_card {
            Document::Card
        } else if method == Method::GET && oauth::is_metadata_path(path) {
            Document::OauthMetadata
        } else if request.is_some_and(card::asks_for_card) {
            Document::CardInResult
        } else {
            Document::None
        };
        Self { head_only: method == Method::HEAD, document }
    }
}

impl Proxy {
    /// Passes a reply back once its head has come.
    pub(super) async fn pass_back(
        &self,
        asked: RequestInfo,
        exchange: Exchange,
        mut reply: reqwest::Response,
    ) -> Response {
        let (status, theirs) = (reply.status(), std::mem::take(reply.headers_mut()));
        let length = headers::content_length(&theirs);
        let pieces = reply.bytes_stream().boxed();
        let body = match form(asked, status, &theirs, self.body_limit) {
            Form::Stream(reading) => {
                exchange.reply(status, &theirs, None);
                relay::relay(pieces, length, reading, exchange)
            }
            Form::Encoded(coding) => {
                let why = format!("encoded with {coding}");
                let kept = body::omit(length.unwrap_or_default(), why);
                exchange.reply(status, &theirs, Some(kept));
                relay::relay(pieces, length, Reading::Nothing, exchange)
            }
            Form::Whole => {
                let document = if status.is_success() { asked.document } else { Document::None };
                self.read_whole(pieces, exchange, status, &theirs, document).await
            }
        };
        let mut ours = headers::to_caller(theirs, &self.origins);
        if asked.document != Document::None {
            // A rewritten document has another length; the server adds the header again.
            ours.remove(header::CONTENT_LENGTH);
        }
        let mut response = Response::new(body);
        *response.status_mut() = status;
        *response.headers_mut() = ours;
        response
    }

    /// Reads and records a body. A document is read to its end. The chunks of another body that is slow are passed on as they
    /// come, because callers stop waiting for a reply that stays silent. A body that is too large is only passed on.
    async fn read_whole(
        &self,
        mut pieces: BodyChunks,
        exchange: Exchange,
        status: StatusCode,
        headers: &HeaderMap,
        document: Document,
    ) -> Body {
        let mut kept = BytesMut::new();
        let alive = || self.book.transcript.touch();
        let reading = body::collect(&mut kept, &mut pieces, self.body_limit, alive);
        let ended = match document {
            Document::None => timeout(self.hold, reading).await.ok(),
            Document::Card | Document::CardInResult | Document::OauthMetadata => {
                Some(reading.await)
            }
        };
        let (read, length) = (kept.freeze(), headers::content_length(headers));
        match ended {
            None => {
                let slow = Slow {
                    status,
                    headers: headers.clone(),
                    kept: BytesMut::new(),
                    limit: self.body_limit,
                };
                let all = with_beginning(read, pieces);
                relay::relay(all, length, Reading::Slow(slow), exchange)
            }
            Some(Ended::Whole) => {
                exchange.reply(status, headers, body::keep(&read));
                exchange.close();
                let rewritten = self.rewritten(document, &read);
                rewritten.map_or_else(|| Body::from(read), Body::from)
            }
            Some(Ended::Larger) => {
                exchange.reply(status, headers, Some(body::too_large(headers, &read)));
                relay::relay(with_beginning(read, pieces), length, Reading::Nothing, exchange)
            }
            Some(Ended::Broken(error)) => {
                exchange.reply(status, headers, Some(body::cut_short(&read)));
                let error = relay::broke_off(&error);
                exchange.fail(&error);
                relay::broken(read, error)
            }
        }
    }

    /// Returns the body with its addresses rewritten; `None` if it is no document, or if it needs no change.
    fn rewritten(&self, document: Document, bytes: &[u8]) -> Option<Vec<u8>> {
        if document == Document::None {
            return None;
        }
        let mut reply: Value = serde_json::from_slice(bytes).ok()?;
        let is_changed = match document {
            Document::None => false,
            Document::Card => self.rewrite_card(&mut reply),
            Document::CardInResult => self.rewrite_card(reply.get_mut("result")?),
            Document::OauthMetadata => oauth::rewrite(&mut reply, &self.origins),
        };
        is_changed.then(|| serde_json::to_vec(&reply).ok())?
    }

    /// Rewrites a card, and warns of addresses that bypass the recorder. Returns whether anything was changed.
    fn rewrite_card(&self, card: &mut Value) -> bool {
        let outcome = card::rewrite(card, &self.origins);
        for url in outcome.elsewhere {
            let (hop, url) = (&self.book.hop, self.book.masker.mask_path(&url));
            tracing::warn!(%hop, %url, "the agent's card names an address that bypasses the recorder: calls to it \
                                        are recorded only with --rewrite-cards");
        }
        outcome.changed
    }
}

/// Returns a stream of the part of a body that was read, followed by the rest.
fn with_beginning(beginning: Bytes, rest: BodyChunks) -> BodyChunks {
    let beginning = (!beginning.is_empty()).then_some(Ok(beginning));
    stream::iter(beginning).chain(rest).boxed()
}

fn form(asked: RequestInfo, status: StatusCode, headers: &HeaderMap, limit: usize) -> Form {
    let bodiless = matches!(status, StatusCode::NO_CONTENT | StatusCode::NOT_MODIFIED);
    if asked.head_only || bodiless {
        Form::Whole
    } else if let Some(coding) = headers::content_coding(headers) {
        Form::Encoded(coding.to_owned())
    } else if headers::is_event_stream(headers) {
        Form::Stream(Reading::Events(SseParser::new(limit)))
    } else if headers::is_line_stream(headers) {
        Form::Stream(Reading::Lines(LineParser::new(limit)))
    } else {
        Form::Whole
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reply_without_a_body_is_no_stream() {
        let content_type = (header::CONTENT_TYPE, "text/event-stream".parse().unwrap());
        let headers = HeaderMap::from_iter([content_type]);
        for (head_only, status, is_whole) in [
            (false, StatusCode::OK, false),
            (true, StatusCode::OK, true),
            (false, StatusCode::NO_CONTENT, true),
            (false, StatusCode::NOT_MODIFIED, true),
        ] {
            let asked = RequestInfo { head_only, document: Document::None };
            let form = form(asked, status, &headers, 100);
            assert_eq!(matches!(form, Form::Whole), is_whole, "{status}");
        }
    }
}
