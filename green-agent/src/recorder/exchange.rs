//! One request and all that comes back for it, as it is written down.

use std::sync::Arc;

use axum::http::{HeaderMap, StatusCode, request::Parts};
use tokio::sync::{OwnedSemaphorePermit, watch};

use super::{
    body,
    mask::Masker,
    sse::{SseData, SseEvent},
};
use crate::transcript::{Body, Content, Direction, Hop, Transcript};

/// How far the recorder has come in its life.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Phase {
    /// Everything is passed on.
    Serving,
    /// No new connections; open exchanges may end.
    Draining,
    /// Whatever is still open is broken off.
    Cut,
}

/// Waits until open exchanges must be broken off; a recorder that was dropped counts as that.
pub(super) async fn cut(phase: &mut watch::Receiver<Phase>) {
    let _ = phase.wait_for(|phase| *phase == Phase::Cut).await;
}

/// What the exchanges of one hop have in common.
#[derive(Debug)]
pub(super) struct Book {
    pub(super) hop: Hop,
    pub(super) transcript: Transcript,
    pub(super) masker: Masker,
    pub(super) phase: watch::Receiver<Phase>,
}

impl Book {
    /// Records a content whose body is not masked yet.
    pub(super) fn record(&self, exchange: u64, direction: Direction, mut content: Content) {
        let body = content.body_mut();
        let said = body.and_then(|body| self.masker.mask_body(body));
        self.transcript
            .record_masked(&self.hop, exchange, direction, &content, said);
    }
}

/// An exchange that is going on.
///
/// One that is dropped before it is closed was given up by the caller, or by the recorder at its
/// end, and is recorded as a failure: nothing ends without a trace.
#[derive(Debug)]
pub(super) struct Exchange {
    book: Arc<Book>,
    number: u64,
    open: bool,
    _permit: Option<OwnedSemaphorePermit>,
}

impl Exchange {
    /// Opens an exchange; `permit` is given back at its end.
    pub(super) fn open(book: &Arc<Book>, permit: Option<OwnedSemaphorePermit>) -> Self {
        Self {
            book: Arc::clone(book),
            number: book.transcript.next_exchange(),
            open: true,
            _permit: permit,
        }
    }

    /// What this exchange shares with the others of its hop.
    pub(super) fn book(&self) -> &Book {
        &self.book
    }

    /// Records the request. Must come before it is passed on.
    pub(super) fn request(&self, parts: &Parts, body: Option<Body>) {
        let path = parts.uri.path_and_query().map_or("/", |path| path.as_str());
        let content = Content::Request {
            method: parts.method.to_string(),
            path: self.book.masker.mask_path(path),
            headers: self.book.masker.headers(&parts.headers),
            body,
        };
        self.record(Direction::Forward, content);
    }

    /// Records the reply. Must come before it is passed back.
    pub(super) fn reply(&self, status: StatusCode, headers: &HeaderMap, body: Option<Body>) {
        let content = Content::Reply {
            status: status.as_u16(),
            headers: self.book.masker.headers(headers),
            body,
        };
        self.record(Direction::Back, content);
    }

    /// Records an event of a stream. Must come before its last byte is passed back.
    pub(super) fn event(&self, event: SseEvent) {
        let masker = &self.book.masker;
        let body = match event.data {
            SseData::Whole(data) => body::keep(data.as_bytes()),
            SseData::TooLarge(bytes) => Some(body::omit(bytes, "larger than the recorder's limit")),
        };
        let content = Content::Event {
            id: event.id.map(|id| masker.mask_text(&id)),
            event: event.event.map(|event| masker.mask_text(&event)),
            body,
        };
        self.record(Direction::Back, content);
    }

    /// Records that a stream ended in good order, `unfinished` bytes into an event if any.
    pub(super) fn end(self, unfinished: Option<u64>) {
        if let Some(bytes) = unfinished {
            let content = Content::Event {
                id: None,
                event: None,
                body: Some(body::omit(
                    bytes,
                    "the stream ended before the event's blank line",
                )),
            };
            self.record(Direction::Back, content);
        }
        self.record(Direction::Back, Content::End);
        self.close();
    }

    /// Records that the upstream's side broke.
    pub(super) fn fail(self, error: &str) {
        self.failure(Direction::Back, error);
        self.close();
    }

    /// Records that the caller's side broke.
    pub(super) fn fail_by_caller(self, error: &str) {
        self.failure(Direction::Forward, error);
        self.close();
    }

    /// Ends the exchange: everything about it is recorded.
    pub(super) fn close(mut self) {
        self.open = false;
    }

    fn failure(&self, direction: Direction, error: &str) {
        let error = self.book.masker.mask_text(error);
        self.record(direction, Content::Failure { error });
    }

    fn record(&self, direction: Direction, content: Content) {
        self.book.record(self.number, direction, content);
    }
}

impl Drop for Exchange {
    fn drop(&mut self) {
        if !self.open {
            return;
        }
        let stopped =
            *self.book.phase.borrow() == Phase::Cut || self.book.phase.has_changed().is_err();
        if stopped {
            self.failure(
                Direction::Back,
                "the recorder was stopped before the exchange ended",
            );
        } else {
            self.failure(
                Direction::Forward,
                "the caller closed the connection before the exchange ended",
            );
        }
    }
}
