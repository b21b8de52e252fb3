//! The body of a request: enforces the limits of its time and memory, and discards what the handler does not read.

use std::{
    io,
    pin::Pin,
    task::{Context, Poll, ready},
    time::Duration,
};

use axum::{
    body::Bytes,
    http::{HeaderMap, Version, header::EXPECT},
};
use http_body_util::BodyExt as _;
use hyper::body::{Body, Frame, Incoming, SizeHint};
use tokio::{
    runtime::Handle,
    time::{Instant, Sleep, sleep_until, timeout},
};

use super::{
    Limits,
    in_flight::{BodyError, InFlight},
    request_limits::Permits,
};

/// The bytes that any body may have without a permit.
const FREE: u64 = 16 << 10;

/// The bytes for which a body of unknown length takes permits at a time.
const STEP: u64 = 256 << 10;

/// The most bytes of an unread body that are discarded, and the time for it. If a connection is closed with unread bytes, the
/// client loses the response.
const DISCARDED: usize = 32 << 20;
const DISCARD_TIME: Duration = Duration::from_secs(10);

pub(super) struct RequestBody {
    /// `None` once the body was read to its end or given up.
    inner: Option<Incoming>,
    in_flight: InFlight,
    limit: Duration,
    /// The moment at which the client was first waited for.
    wait_began: Option<Instant>,
    /// The moment at which the last bytes were received, or permits were granted.
    last_received: Option<Instant>,
    received: u64,
    /// The number of bytes that may be received before the next permits are needed, and the number that these are for.
    allowed: u64,
    step: u64,
    acquiring: Option<Pin<Box<dyn Future<Output = Option<Permits>> + Send>>>,
    deadline: Option<Pin<Box<Sleep>>>,
    is_discarded: bool,
}

impl RequestBody {
    pub(super) fn new(
        inner: Incoming,
        (version, headers): (Version, &HeaderMap),
        in_flight: InFlight,
        limits: &Limits,
    ) -> Self {
        Self {
            inner: Some(inner),
            in_flight,
            limit: limits.body,
            wait_began: None,
            last_received: None,
            received: 0,
            allowed: FREE,
            step: 0,
            acquiring: None,
            deadline: None,
            // A client that expects `100 Continue` does not send the body. HTTP/2 can end one body without the others.
            is_discarded: version < Version::HTTP_2 && !headers.contains_key(EXPECT),
        }
    }

    /// Waits for permits, if more are needed.
    fn poll_permits(&mut self, context: &mut Context<'_>) -> Poll<Result<(), BodyError>> {
        let exact = self.inner.as_ref().and_then(|inner| inner.size_hint().exact());
        let wanted = match exact {
            Some(rest) if self.received + rest <= self.allowed => 0,
            Some(rest) => rest,
            None if self.received < self.allowed => 0,
            None => STEP,
        };
        if wanted == 0 {
            return Poll::Ready(Ok(()));
        }
        if self.acquiring.is_none() {
            let limits = self.in_flight.limits().clone();
            self.step = wanted;
            self.acquiring = Some(Box::pin(async move { limits.bytes(wanted).await }));
        }
        let Some(acquiring) = &mut self.acquiring else {
            return Poll::Ready(Ok(()));
        };
        let permits = ready!(acquiring.as_mut().poll(context));
        self.acquiring = None;
        // The client is not to blame for the time until there were permits.
        (self.wait_began, self.last_received) = (None, None);
        Poll::Ready(match permits {
            Some(permits) => {
                self.in_flight.hold(permits);
                self.allowed = self.received + self.step;
                Ok(())
            }
            None => Err(BodyError::NoMemory),
        })
    }

    /// Waits until a time limit of the client is over.
    fn poll_deadline(&mut self, context: &mut Context<'_>) -> Poll<()> {
        let began = *self.wait_began.get_or_insert_with(Instant::now);
        let last_received = *self.last_received.get_or_insert(began);
        let total = began + Limits::body_time(self.limit, self.received);
        let deadline = total.min(last_received + self.limit);
        let sleep = self.deadline.get_or_insert_with(|| Box::pin(sleep_until(deadline)));
        if sleep.deadline() != deadline {
            sleep.as_mut().reset(deadline);
        }
        sleep.as_mut().poll(context)
    }

    fn fail(&mut self, error: BodyError) -> io::Error {
        self.in_flight.set_body_error(error);
        match error {
            BodyError::TooSlow => {
                // The rest would come too slowly to be discarded too.
                self.inner = None;
                io::Error::new(io::ErrorKind::TimedOut, "the body arrived too slowly")
            }
            BodyError::NoMemory => io::Error::other("there is no room for the body"),
        }
    }
}

impl Body for RequestBody {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, io::Error>>> {
        let this = self.get_mut();
        if let Err(error) = ready!(this.poll_permits(context)) {
            return Poll::Ready(Some(Err(this.fail(error))));
        }
        let Some(inner) = &mut this.inner else {
            return Poll::Ready(None);
        };
        match Pin::new(inner).poll_frame(context) {
            Poll::Ready(Some(Ok(frame))) => {
                this.received += frame.data_ref().map_or(0, |data| data.len() as u64);
                match this.is_end_stream() {
                    true => this.in_flight.set_body_read(),
                    false => this.last_received = Some(Instant::now()),
                }
                Poll::Ready(Some(Ok(frame)))
            }
            Poll::Ready(Some(Err(error))) => {
                this.inner = None;
                Poll::Ready(Some(Err(io::Error::other(error))))
            }
            Poll::Ready(None) => {
                this.inner = None;
                this.in_flight.set_body_read();
                Poll::Ready(None)
            }
            Poll::Pending => {
                ready!(this.poll_deadline(context));
                Poll::Ready(Some(Err(this.fail(BodyError::TooSlow))))
            }
        }
    }

    fn is_end_stream(&self) -> bool {
        self.inner.as_ref().is_none_or(Body::is_end_stream)
    }

    fn size_hint(&self) -> SizeHint {
        let none = || SizeHint::with_exact(0);
        self.inner.as_ref().map_or_else(none, Body::size_hint)
    }
}

impl Drop for RequestBody {
    fn drop(&mut self) {
        let rest = self.inner.take().filter(|rest| !rest.is_end_stream());
        let Some(rest) = rest.filter(|_| self.is_discarded) else {
            return;
        };
        if let Ok(runtime) = Handle::try_current() {
            runtime.spawn(timeout(DISCARD_TIME, discard(rest)));
        }
    }
}

async fn discard(mut rest: Incoming) {
    let mut discarded = 0;
    while let Some(Ok(frame)) = rest.frame().await {
        discarded += frame.data_ref().map_or(0, Bytes::len);
        if discarded > DISCARDED {
            return;
        }
    }
}
