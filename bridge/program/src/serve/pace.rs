//! What a response still has to say, in small pieces, and how it is cut off if its reader is too far behind.

use std::{
    io,
    pin::Pin,
    sync::{
        Mutex, MutexGuard,
        atomic::{AtomicU64, Ordering},
    },
    task::{Context, Poll, ready},
    time::Duration,
};

use crate::lock;

use axum::body::{Body, Bytes};
use hyper::body::{Body as _, Frame, SizeHint};

use super::{moment::now, outgoing::Room};

/// How much of a large frame is given to the connection at a time, in bytes.
pub(super) const PIECE: usize = 64 << 10;

pub(super) type Polled = Poll<Option<Result<Frame<Bytes>, axum::Error>>>;

/// What is still to be said.
#[derive(Debug)]
pub(super) struct Content {
    body: Body,
    /// Of a large frame.
    rest: Bytes,
    _room: Option<Room>,
}

impl Content {
    pub(super) fn new(body: Body, room: Option<Room>) -> Self {
        Self {
            body,
            rest: Bytes::new(),
            _room: room,
        }
    }

    pub(super) fn poll(&mut self, context: &mut Context<'_>) -> Polled {
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

/// An answer of HTTP/2. What is given to the connection is a copy of a piece: cut off, the answer leaves no more
/// than that behind.
#[derive(Debug)]
pub(super) struct Pace {
    /// Absent once it was cut off.
    content: Mutex<Option<Content>>,
    /// Since when the next piece is there to be asked for; 0 while it is waited for.
    given: AtomicU64,
}

impl Pace {
    pub(super) fn new(content: Content) -> Self {
        Self {
            content: Mutex::new(Some(content)),
            given: AtomicU64::new(now()),
        }
    }

    pub(super) fn lock(&self) -> MutexGuard<'_, Option<Content>> {
        lock(&self.content)
    }

    pub(super) fn poll(&self, context: &mut Context<'_>) -> Polled {
        let mut content = self.lock();
        let Some(said) = content.as_mut() else {
            let error = io::Error::new(io::ErrorKind::TimedOut, "the reader takes nothing");
            return Poll::Ready(Some(Err(axum::Error::new(error))));
        };
        let polled = said.poll(context);
        let given = match &polled {
            Poll::Pending | Poll::Ready(None) => 0,
            Poll::Ready(Some(_)) => now(),
        };
        self.given.store(given, Ordering::Relaxed);
        let copy = |data: Bytes| Bytes::copy_from_slice(&data);
        polled.map(|frame| frame.map(|frame| frame.map(|frame| frame.map_data(copy))))
    }

    /// Cuts the answer off if its reader took nothing for so long; whether the reader is behind.
    pub(super) fn cut_after(&self, stalled: Duration) -> bool {
        let given = self.given.load(Ordering::Relaxed);
        if given == 0 {
            return false;
        }
        if Duration::from_millis(now().saturating_sub(given)) > stalled {
            let cut = self.lock().take();
            drop(cut);
        }
        true
    }
}
