//! Passes bodies back piece by piece: streams of events, and bodies too large to be kept.

use std::error::Error;

use axum::body::Body;
use bytes::Bytes;
use futures_util::{
    StreamExt,
    stream::{self, BoxStream},
};
use tokio::sync::watch;

use super::{
    exchange::{Exchange, Phase, cut},
    sse::SseParser,
};

/// The pieces of a body as they come from the upstream.
pub(super) type Pieces = BoxStream<'static, reqwest::Result<Bytes>>;

/// Why a body that is passed back breaks off. Nobody reads it: the server closes the connection.
#[derive(Debug, thiserror::Error)]
#[error("the body breaks off: {0}")]
pub(super) struct BreaksOff(pub(super) String);

/// A body on its way back.
struct Relay {
    pieces: Pieces,
    /// Reads the events of a stream; `None` for a body that is not kept.
    parser: Option<SseParser>,
    /// The bytes still to come, where the upstream announced how many.
    left: Option<u64>,
    phase: watch::Receiver<Phase>,
    exchange: Exchange,
}

type Passed = Option<(Result<Bytes, BreaksOff>, Option<Relay>)>;

/// Passes a stream of events back, recording each before the bytes that complete it.
///
/// `length` is what the upstream announced, in bytes, if it did.
/// Events of more than `limit` bytes are passed back like the others and not kept.
pub(super) fn events(
    pieces: Pieces,
    length: Option<u64>,
    exchange: Exchange,
    limit: usize,
) -> Body {
    relay(pieces, length, Some(SseParser::new(limit)), exchange)
}

/// Passes a body back that is not kept; `length` as for [`events`].
pub(super) fn bytes(pieces: Pieces, length: Option<u64>, exchange: Exchange) -> Body {
    relay(pieces, length, None, exchange)
}

/// A body that breaks off after `beginning`, as the upstream's did.
pub(super) fn broken(beginning: Bytes, error: String) -> Body {
    let pieces = stream::once(async { Ok(beginning) });
    Body::from_stream(pieces.chain(stream::once(async { Err(break_off(error).await) })))
}

/// What is said of an upstream that could not be asked. URLs may hold secrets, so there is none in it.
pub(super) fn no_answer(error: reqwest::Error) -> String {
    format!(
        "the upstream did not answer: {}",
        in_full(&error.without_url())
    )
}

/// What is said of an upstream that did not finish its reply.
pub(super) fn broke_off(error: reqwest::Error) -> String {
    format!("the upstream broke off: {}", in_full(&error.without_url()))
}

/// An error in full, with the errors that caused it.
pub(super) fn in_full(error: &dyn Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        text = format!("{text}: {error}");
        cause = error.source();
    }
    text
}

fn relay(pieces: Pieces, left: Option<u64>, parser: Option<SseParser>, exchange: Exchange) -> Body {
    let relay = Relay {
        pieces,
        parser,
        left,
        phase: exchange.book().phase.clone(),
        exchange,
    };
    Body::from_stream(stream::unfold(Some(relay), |relay| async {
        relay?.pass().await
    }))
}

impl Relay {
    /// The next piece, recorded, and the relay for those after it.
    async fn pass(mut self) -> Passed {
        let piece = tokio::select! {
            piece = self.pieces.next() => piece,
            // The exchange records by itself that it was not closed.
            () = cut(&mut self.phase) => return Some((Err(break_off("stopped".to_owned()).await), None)),
        };
        match piece {
            Some(Ok(piece)) => {
                self.note(&piece);
                if self.left == Some(0) {
                    // The server asks for no more than was announced, so it would never see the end.
                    self.end();
                    return Some((Ok(piece), None));
                }
                Some((Ok(piece), Some(self)))
            }
            Some(Err(error)) => {
                let error = broke_off(error);
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
        self.left = self
            .left
            .map(|left| left.saturating_sub(piece.len() as u64));
        match &mut self.parser {
            Some(parser) => {
                for event in parser.push(piece) {
                    self.exchange.event(event);
                }
            }
            None => self.exchange.book().transcript.touch(),
        }
    }

    fn end(self) {
        match self.parser {
            Some(parser) => self.exchange.end(parser.unfinished()),
            None => self.exchange.close(),
        }
    }
}

/// Lets the server write out what was passed before, which it would throw away on an error.
async fn break_off(error: String) -> BreaksOff {
    tokio::task::yield_now().await;
    BreaksOff(error)
}
