//! The content of a response: splits large frames into pieces, and aborts a response of HTTP/2 whose client reads nothing.

use std::{
    io,
    pin::Pin,
    sync::{
        Mutex,
        atomic::{AtomicU64, Ordering},
    },
    task::{Context, Poll, ready},
    time::Duration,
};

use crate::lock;

use axum::body::{Body, Bytes};
use hyper::body::{Body as _, Frame, SizeHint};

use super::{large_responses::ResponsePermit, moment::now};

/// The most bytes that are given to the connection at a time.
pub(super) const PIECE: usize = 64 << 10;

/// The next frame of a body.
pub(super) type PolledFrame = Poll<Option<Result<Frame<Bytes>, axum::Error>>>;

/// A body whose large frames are split into pieces.
#[derive(Debug)]
pub(super) struct SplitBody {
    body: Body,
    /// The rest of a large frame.
    rest: Bytes,
    _permit: Option<ResponsePermit>,
}

impl SplitBody {
    pub(super) fn new(body: Body, permit: Option<ResponsePermit>) -> Self {
        Self { body, rest: Bytes::new(), _permit: permit }
    }

    pub(super) fn poll(&mut self, context: &mut Context<'_>) -> PolledFrame {
        if self.rest.is_empty() {
            let frame = match ready!(Pin::new(&mut self.body).poll_frame(context)) {
                Some(Ok(frame)) => frame,
                other => return Poll::Ready(other),
            };
            match frame.into_data() {
                Ok(data) if data.len() > PIECE => self.rest = data,
                Ok(data) => return Poll::Ready(Some(Ok(Frame::data(data)))),
                Err(other) => return Poll::Ready(Some(Ok(other))),
            }
        }
        let piece = self.rest.split_to(self.rest.len().min(PIECE));
        Poll::Ready(Some(Ok(Frame::data(piece))))
    }

    pub(super) fn is_end(&self) -> bool {
        self.rest.is_empty() && self.body.is_end_stream()
    }

    pub(super) fn size_hint(&self) -> SizeHint {
        let (body, rest) = (self.body.size_hint(), self.rest.len() as u64);
        let mut hint = SizeHint::new();
        hint.set_lower(body.lower() + rest);
        if let Some(upper) = body.upper() {
            hint.set_upper(upper + rest);
        }
        hint
    }
}

/// A body that HTTP/2 sends. The connection gets copies of pieces, so that no more than a piece stays in memory when the body is
/// aborted.
#[derive(Debug)]
pub(super) struct MonitoredBody {
    /// `None` once the body was aborted.
    pub(super) content: Mutex<Option<SplitBody>>,
    /// The moment at which the last piece was given to the connection; 0 while the connection waits for one.
    given_at: AtomicU64,
}

impl MonitoredBody {
    pub(super) fn new(content: SplitBody) -> Self {
        Self { content: Mutex::new(Some(content)), given_at: AtomicU64::new(now()) }
    }

    pub(super) fn poll(&self, context: &mut Context<'_>) -> PolledFrame {
        let mut content = lock(&self.content);
        let Some(body) = content.as_mut() else {
            let error = io::Error::new(io::ErrorKind::TimedOut, "the client reads nothing");
            return Poll::Ready(Some(Err(axum::Error::new(error))));
        };
        let polled = body.poll(context);
        let given_at = match &polled {
            Poll::Pending | Poll::Ready(None) => 0,
            Poll::Ready(Some(_)) => now(),
        };
        self.given_at.store(given_at, Ordering::Relaxed);
        let copy = |data: Bytes| Bytes::copy_from_slice(&data);
        polled.map(|frame| frame.map(|frame| frame.map(|frame| frame.map_data(copy))))
    }

    /// Aborts the body if the connection has asked for nothing for `stalled`. Returns whether a piece waits to be sent.
    pub(super) fn cut_after(&self, stalled: Duration) -> bool {
        let given_at = self.given_at.load(Ordering::Relaxed);
        if given_at == 0 {
            return false;
        }
        if Duration::from_millis(now().saturating_sub(given_at)) > stalled {
            let aborted = lock(&self.content).take();
            drop(aborted);
        }
        true
    }
}
