//! Records one request and all answers to it.

use std::sync::Arc;

use axum::http::{HeaderMap, StatusCode, request::Parts};
use bridge_protocol::sse::{SseData, SseEvent};
use tokio::sync::{OwnedSemaphorePermit, watch};

use super::{body, mask::Masker};
use green_agent_transcript::{Body, Content, Direction, Hop, Transcript};

/// The phases in the life of a recorder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Phase {
    /// It accepts and passes on everything.
    Serving,
    /// It accepts no new connections; open exchanges may end.
    Draining,
    /// It interrupts everything that is still open.
    Cut,
}

/// Waits until open exchanges must be interrupted, also because the recorder was dropped.
pub(super) async fn cut(phase: &mut watch::Receiver<Phase>) {
    let _ = phase.wait_for(|phase| *phase == Phase::Cut).await;
}

/// The state that the exchanges of one hop share.
#[derive(Debug)]
pub(super) struct HopRecord {
    pub(super) hop: Hop,
    pub(super) transcript: Transcript,
    pub(super) masker: Masker,
    pub(super) phase: watch::Receiver<Phase>,
}

impl HopRecord {
    /// Masks a content and records it.
    pub(super) fn record(&self, exchange: u64, direction: Direction, mut content: Content) {
        let body = content.body_mut();
        let masked = body.and_then(|body| self.masker.mask_body(body));
        self.transcript.record_masked(&self.hop, exchange, direction, &content, masked);
    }
}

/// An exchange in progress.
///
/// If it is dropped before it is closed, the caller or the stopping recorder has abandoned it. It is recorded as a
/// failure then, so that every exchange has an end in the transcript.
#[derive(Debug)]
pub(super) struct Exchange {
    /// The state that it shares with the other exchanges of its hop.
    pub(super) book: Arc<HopRecord>,
    number: u64,
    open: bool,
    _permit: Option<OwnedSemaphorePermit>,
}

impl Exchange {
    /// Opens an exchange; `permit` is released at its end.
    pub(super) fn open(book: &Arc<HopRecord>, permit: Option<OwnedSemaphorePermit>) -> Self {
        Self {
            book: Arc::clone(book),
            number: book.transcript.next_exchange(),
            open: true,
            _permit: permit,
        }
    }

    /// Records the request. Call this before passing it on.
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

    /// Records the reply. Call this before passing it back.
    pub(super) fn reply(&self, status: StatusCode, headers: &HeaderMap, body: Option<Body>) {
        self.book.masker.learn_session(headers);
        let content = Content::Reply {
            status: status.as_u16(),
            headers: self.book.masker.headers(headers),
            body,
        };
        self.record(Direction::Back, content);
    }

    /// Records an event of a stream. Call this before passing its last byte back.
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

    /// Records that a stream ended regularly, with `unfinished` bytes of an incomplete event if any.
    pub(super) fn end(self, unfinished: Option<u64>) {
        if let Some(bytes) = unfinished {
            let content = Content::Event {
                id: None,
                event: None,
                body: Some(body::omit(bytes, "the stream ended before the event's blank line")),
            };
            self.record(Direction::Back, content);
        }
        self.record(Direction::Back, Content::End);
        self.close();
    }

    /// Records an error on the upstream's side.
    pub(super) fn fail(self, error: &str) {
        self.failure(Direction::Back, error);
        self.close();
    }

    /// Records an error on the caller's side.
    pub(super) fn fail_by_caller(self, error: &str) {
        self.failure(Direction::Forward, error);
        self.close();
    }

    /// Closes the exchange: everything about it has been recorded.
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
            self.failure(Direction::Back, "the recorder was stopped before the exchange ended");
        } else {
            self.failure(
                Direction::Forward,
                "the caller closed the connection before the exchange ended",
            );
        }
    }
}
