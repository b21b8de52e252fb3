//! The body of a response, whose request counts as open until the body was sent or given up. Large frames are split into pieces,
//! and a response of HTTP/2 whose client reads nothing is aborted.

use std::{
    io,
    pin::Pin,
    sync::{
        Arc, Mutex,
        atomic::{AtomicU64, Ordering},
    },
    task::{Context, Poll, ready},
    time::Duration,
};

use axum::body::{Body, Bytes};
use hyper::body::{Body as HttpBody, Frame, SizeHint};

use super::{
    connection_monitor::{ConnectionMonitor, now},
    large_responses::ResponsePermit,
    request_limits::Permits,
};
use crate::lock;

/// The most bytes that are given to the connection at a time.
pub(super) const PIECE: usize = 64 << 10;

/// The next frame of a body.
pub(super) type PolledFrame = Poll<Option<Result<Frame<Bytes>, axum::Error>>>;

/// Counts a request as open on its connection until it is dropped.
#[derive(Debug)]
pub(super) struct RequestGuard {
    monitor: Arc<ConnectionMonitor>,
    _permits: Option<Permits>,
}

impl RequestGuard {
    pub(super) fn new(monitor: Arc<ConnectionMonitor>, permits: Option<Permits>) -> Self {
        monitor.request_began();
        Self { monitor, _permits: permits }
    }
}

impl Drop for RequestGuard {
    fn drop(&mut self) {
        self.monitor.request_ended();
    }
}

/// The body of a handler's response, whose large frames are split into pieces.
#[derive(Debug)]
pub(super) struct SplitBody {
    body: Body,
    /// The rest of a large frame.
    rest: Bytes,
    _permit: Option<ResponsePermit>,
    _guard: RequestGuard,
}

impl SplitBody {
    /// Returns a body that holds `permit` and `guard` until it was sent.
    pub(super) fn new(body: Body, permit: Option<ResponsePermit>, guard: RequestGuard) -> Self {
        Self { body, rest: Bytes::new(), _permit: permit, _guard: guard }
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

    fn is_end(&self) -> bool {
        self.rest.is_empty() && self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        let (body, rest) = (self.body.size_hint(), self.rest.len() as u64);
        let mut hint = SizeHint::new();
        hint.set_lower(body.lower() + rest);
        if let Some(upper) = body.upper() {
            hint.set_upper(upper + rest);
        }
        hint
    }
}

/// A body that hyper is sending, and that can be taken from it.
#[derive(Debug)]
pub(super) struct SharedBody {
    /// `None` once the body was taken.
    content: Mutex<Option<SplitBody>>,
    /// The moment at which hyper was given the last frame; 0 while it waits for one.
    given_at: AtomicU64,
}

impl SharedBody {
    pub(super) fn new(content: SplitBody) -> Arc<Self> {
        Arc::new(Self { content: Mutex::new(Some(content)), given_at: AtomicU64::new(now()) })
    }

    fn poll(&self, context: &mut Context<'_>) -> PolledFrame {
        let mut content = lock(&self.content);
        let Some(body) = content.as_mut() else {
            let error = io::Error::new(io::ErrorKind::TimedOut, "the client reads nothing");
            return Poll::Ready(Some(Err(axum::Error::new(error))));
        };
        let polled = body.poll(context);
        let given_at = if polled.is_pending() { 0 } else { now() };
        self.given_at.store(given_at, Ordering::Relaxed);
        polled
    }

    /// Takes the body if hyper waits for a frame of it.
    pub(super) fn take_idle(&self) -> Option<SplitBody> {
        match self.given_at.load(Ordering::Relaxed) {
            0 => lock(&self.content).take(),
            _ => None,
        }
    }

    /// Aborts the body if hyper has asked for nothing for `stalled`. Returns whether a piece waits to be sent.
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

/// The body of a response as hyper sends it.
pub(super) enum SentBody {
    /// A body of HTTP/1, which stalls with its connection.
    Direct(SplitBody),
    /// An event stream of HTTP/1, see [`idle_stream`](super::idle_stream).
    Detachable(Arc<SharedBody>),
    /// A body of HTTP/2, which stalls on its own. The connection gets copies of pieces, so that no more than a piece stays in memory
    /// when the body is aborted.
    Monitored(Arc<SharedBody>),
}

impl SentBody {
    /// Returns a body that holds `permit` and `guard` until it was sent.
    pub(super) fn new(
        body: Body,
        permit: Option<ResponsePermit>,
        guard: RequestGuard,
        is_http2: bool,
    ) -> Self {
        let monitor = guard.monitor.clone();
        let is_monitored = is_http2 && !body.is_end_stream();
        let content = SplitBody::new(body, permit, guard);
        if !is_monitored {
            return Self::Direct(content);
        }
        let body = SharedBody::new(content);
        monitor.watch(Arc::downgrade(&body));
        Self::Monitored(body)
    }
}

impl HttpBody for SentBody {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> PolledFrame {
        let copy = |data: Bytes| Bytes::copy_from_slice(&data);
        match &mut *self {
            Self::Direct(body) => body.poll(context),
            Self::Detachable(body) => body.poll(context),
            Self::Monitored(body) => {
                let polled = body.poll(context);
                polled.map(|frame| frame.map(|frame| frame.map(|frame| frame.map_data(copy))))
            }
        }
    }

    fn is_end_stream(&self) -> bool {
        match self {
            Self::Direct(body) => body.is_end(),
            Self::Detachable(body) | Self::Monitored(body) => {
                lock(&body.content).as_ref().is_some_and(SplitBody::is_end)
            }
        }
    }

    fn size_hint(&self) -> SizeHint {
        match self {
            Self::Direct(body) => body.size_hint(),
            // With an exact size hyper would not send it in chunks.
            Self::Detachable(_) => SizeHint::default(),
            Self::Monitored(body) => {
                lock(&body.content).as_ref().map_or_else(SizeHint::default, SplitBody::size_hint)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use http_body_util::BodyExt as _;

    use super::*;

    fn sent_body(body: Body, is_http2: bool) -> (SentBody, Arc<ConnectionMonitor>) {
        let monitor = Arc::new(ConnectionMonitor::new());
        let guard = RequestGuard::new(monitor.clone(), None);
        (SentBody::new(body, None, guard, is_http2), monitor)
    }

    #[tokio::test]
    async fn a_large_frame_is_sent_in_pieces() {
        for is_http2 in [false, true] {
            let text = Bytes::from(vec![7; 2 * PIECE + 1]);
            let (mut body, monitor) = sent_body(Body::from(text.clone()), is_http2);
            assert_eq!(body.size_hint().exact(), Some(text.len() as u64));
            let mut pieces = Vec::new();
            while let Some(frame) = body.frame().await {
                pieces.push(frame.unwrap().into_data().unwrap());
            }
            let lengths: Vec<_> = pieces.iter().map(Bytes::len).collect();
            assert_eq!(lengths, [PIECE, PIECE, 1]);
            assert_eq!(pieces.concat(), text);
            assert!(monitor.idle().is_none());
            drop(body);
            assert!(monitor.idle().is_some());
        }
    }

    #[tokio::test]
    async fn a_body_that_nobody_reads_is_aborted() {
        let (mut body, _) = sent_body(Body::from(vec![7; 2 * PIECE]), true);
        let SentBody::Monitored(monitored) = &body else {
            panic!("the body is not monitored");
        };
        let monitored = monitored.clone();
        assert!(body.frame().await.unwrap().is_ok());
        assert!(monitored.cut_after(Duration::from_secs(3600)));
        while lock(&monitored.content).is_some() {
            monitored.cut_after(Duration::ZERO);
        }
        assert!(body.frame().await.unwrap().is_err());
    }
}
