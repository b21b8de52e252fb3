//! Passes bodies back in chunks: event streams, slow bodies, and those too large to be kept.

use axum::{
    body::Body,
    http::{HeaderMap, StatusCode},
};
use bridge_http::root_cause_with_proxy;
use bridge_protocol::sse::SseParser;
use bytes::{Bytes, BytesMut};
use futures_util::{
    StreamExt,
    stream::{self, BoxStream},
};
use tokio::sync::watch;

use super::{
    body,
    exchange::{Exchange, Phase, cut},
    lines::LineParser,
};

/// The chunks of a body as they come from the upstream.
pub(super) type BodyChunks = BoxStream<'static, reqwest::Result<Bytes>>;

/// The error that interrupts a body that is passed back. It is not shown; the server closes the connection.
#[derive(Debug, thiserror::Error)]
#[error("the body breaks off: {0}")]
pub(super) struct BodyError(pub(super) String);

/// A body that is being passed back.
struct Relay {
    pieces: BodyChunks,
    reading: Reading,
    /// The bytes still to come, if the upstream announced a length.
    left: Option<u64>,
    phase: watch::Receiver<Phase>,
    exchange: Exchange,
}

/// The way in which a body is read while it is passed on.
pub(super) enum Reading {
    /// As events, each recorded before the bytes that complete it are passed back.
    Events(SseParser),
    /// As lines, each recorded before the bytes that complete it are passed back.
    Lines(LineParser),
    /// As a slow body, recorded before its last chunk is passed back.
    Slow(Slow),
    /// The body is not read, because it is not kept.
    Nothing,
}

/// A reply whose body is not complete yet.
pub(super) struct Slow {
    pub(super) status: StatusCode,
    pub(super) headers: HeaderMap,
    /// The bytes received so far.
    pub(super) kept: BytesMut,
    /// The largest body that is kept, in bytes.
    pub(super) limit: usize,
}

type Passed = Option<(Result<Bytes, BodyError>, Option<Relay>)>;

/// Returns a body that breaks off after `beginning`, as the upstream's did.
pub(super) fn broken(beginning: Bytes, error: String) -> Body {
    let pieces = stream::once(async { Ok(beginning) });
    Body::from_stream(pieces.chain(stream::once(async { Err(break_off(error).await) })))
}

/// The beginning of the message for a request that the upstream cannot have got.
pub const NOT_REACHED: &str = "the upstream could not be reached";

/// Returns the message for an upstream that could not be reached or did not answer. It contains no URL, because URLs may
/// contain secrets.
pub(super) fn no_answer(error: &reqwest::Error) -> String {
    let what = if error.is_connect() { NOT_REACHED } else { "the upstream did not answer" };
    format!("{what}: {}", root_cause_with_proxy(error))
}

/// Returns the message for an upstream that did not finish its reply.
pub(super) fn broke_off(error: &reqwest::Error) -> String {
    format!("the upstream broke off: {}", root_cause_with_proxy(error))
}

/// Passes a body back in chunks; `length` is the length of these chunks in bytes, if the upstream announced
/// it.
pub(super) fn relay(
    pieces: BodyChunks,
    length: Option<u64>,
    reading: Reading,
    exchange: Exchange,
) -> Body {
    let relay =
        Relay { pieces, reading, left: length, phase: exchange.book.phase.clone(), exchange };
    Body::from_stream(stream::unfold(Some(relay), |relay| async { relay?.pass().await }))
}

impl Relay {
    /// Records and returns the next chunk, and the relay for those after it.
    async fn pass(mut self) -> Passed {
        let piece = tokio::select! {
            piece = self.pieces.next() => piece,
            // The exchange itself records that it was not closed.
            () = cut(&mut self.phase) => return Some((Err(break_off("stopped".to_owned()).await), None)),
        };
        match piece {
            Some(Ok(piece)) => {
                self.note(&piece);
                if self.left == Some(0) {
                    // The server reads no more than the announced length, so it would never see the end of
                    // the stream.
                    self.end();
                    return Some((Ok(piece), None));
                }
                Some((Ok(piece), Some(self)))
            }
            Some(Err(error)) => {
                let error = broke_off(&error);
                if let Reading::Slow(slow) = &self.reading {
                    let cut = body::cut_short(&slow.kept);
                    self.exchange.reply(slow.status, &slow.headers, Some(cut));
                }
                self.exchange.fail(&error);
                Some((Err(break_off(error).await), None))
            }
            None => {
                self.end();
                None
            }
        }
    }

    fn note(&mut self, piece: &[u8]) {
        self.left = self.left.map(|left| left.saturating_sub(piece.len() as u64));
        // Any bytes are a sign of life, even if they complete no event.
        self.exchange.book.transcript.touch();
        match &mut self.reading {
            Reading::Events(parser) => {
                let events = parser.push(piece);
                events.into_iter().for_each(|event| self.exchange.event(event));
            }
            Reading::Lines(parser) => {
                let lines = parser.push(piece);
                lines.into_iter().for_each(|line| self.exchange.event(line));
            }
            Reading::Slow(slow) => {
                slow.kept.extend_from_slice(piece);
                if slow.kept.len() > slow.limit {
                    let kept = body::too_large(&slow.headers, &slow.kept);
                    self.exchange.reply(slow.status, &slow.headers, Some(kept));
                    self.reading = Reading::Nothing;
                }
            }
            Reading::Nothing => {}
        }
    }

    fn end(self) {
        match self.reading {
            Reading::Events(parser) => self.exchange.end(parser.unfinished()),
            Reading::Lines(mut parser) => {
                parser.finish().into_iter().for_each(|line| self.exchange.event(line));
                self.exchange.end(None);
            }
            Reading::Slow(slow) => {
                let kept = body::keep(&slow.kept);
                self.exchange.reply(slow.status, &slow.headers, kept);
                self.exchange.close();
            }
            Reading::Nothing => self.exchange.close(),
        }
    }
}

/// Lets the server send the previous chunks, which it would discard on an immediate error.
async fn break_off(error: String) -> BodyError {
    tokio::task::yield_now().await;
    BodyError(error)
}
