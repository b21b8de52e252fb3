//! The body of a request: it has to come on, its bytes are counted, and what nobody wanted is read away.

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

use super::{Limits, flight::Flight, gate::Held, trouble::Trouble};

/// What any body may have without asking, in bytes.
const FREE: u64 = 16 << 10;

/// What a body whose length is not said asks for at a time.
const STEP: u64 = 256 << 10;

/// How much is read away of a body that nobody wants, and for how long. Closed with something unread, the
/// connection would take the answer with it, and the client's next request.
const AWAY: usize = 32 << 20;
const AWAY_TIME: Duration = Duration::from_secs(10);

/// The body of a request that has one.
pub(super) struct Question {
    /// Absent once it was read to its end, or given up.
    inner: Option<Incoming>,
    flight: Flight,
    limit: Duration,
    begun: Instant,
    /// When the last bytes came.
    moved: Instant,
    received: u64,
    /// How much may be received until more is asked for, and how much is being asked for.
    allowed: u64,
    step: u64,
    asking: Option<Pin<Box<dyn Future<Output = Option<Held>> + Send>>>,
    late: Option<Pin<Box<Sleep>>>,
    is_read_away: bool,
}

impl Question {
    pub(super) fn new(
        inner: Incoming,
        (version, headers): (Version, &HeaderMap),
        flight: Flight,
        limits: &Limits,
    ) -> Self {
        Self {
            inner: Some(inner),
            flight,
            limit: limits.body,
            begun: Instant::now(),
            moved: Instant::now(),
            received: 0,
            allowed: FREE,
            step: 0,
            asking: None,
            late: None,
            // A client that expects `100 Continue` does not send the body; HTTP/2 ends one body without the others.
            is_read_away: version < Version::HTTP_2 && !headers.contains_key(EXPECT),
        }
    }

    /// Asks for room, if more is needed.
    fn poll_room(&mut self, context: &mut Context<'_>) -> Poll<Result<(), Trouble>> {
        let exact = self
            .inner
            .as_ref()
            .and_then(|inner| inner.size_hint().exact());
        let wanted = match exact {
            Some(rest) if self.received + rest <= self.allowed => 0,
            Some(rest) => rest,
            None if self.received < self.allowed => 0,
            None => STEP,
        };
        if wanted == 0 {
            return Poll::Ready(Ok(()));
        }
        if self.asking.is_none() {
            let share = self.flight.share().clone();
            self.step = wanted;
            self.asking = Some(Box::pin(async move { share.bytes(wanted).await }));
        }
        let Some(asking) = &mut self.asking else {
            return Poll::Ready(Ok(()));
        };
        let held = ready!(asking.as_mut().poll(context));
        self.asking = None;
        // The time until there was room is not the client's.
        self.begun = Instant::now();
        self.moved = self.begun;
        Poll::Ready(match held {
            Some(held) => {
                self.flight.keep(held);
                self.allowed = self.received + self.step;
                Ok(())
            }
            None => Err(Trouble::Full),
        })
    }

    /// Whether it took too long.
    fn poll_late(&mut self, context: &mut Context<'_>) -> Poll<()> {
        let whole = self.begun + Limits::body_time(self.limit, self.received);
        let deadline = whole.min(self.moved + self.limit);
        let late = self
            .late
            .get_or_insert_with(|| Box::pin(sleep_until(deadline)));
        if late.deadline() != deadline {
            late.as_mut().reset(deadline);
        }
        late.as_mut().poll(context)
    }

    fn give_up(&mut self, trouble: Trouble) -> io::Error {
        self.flight.note(trouble);
        if trouble == Trouble::Late {
            // It would not come on to be read away either.
            self.inner = None;
        }
        match trouble {
            Trouble::Late => io::Error::new(io::ErrorKind::TimedOut, "the body arrived too slowly"),
            Trouble::Full => io::Error::other("there is no room for the body"),
        }
    }
}

impl Body for Question {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, io::Error>>> {
        let this = self.get_mut();
        if let Err(trouble) = ready!(this.poll_room(context)) {
            return Poll::Ready(Some(Err(this.give_up(trouble))));
        }
        let Some(inner) = &mut this.inner else {
            return Poll::Ready(None);
        };
        match Pin::new(inner).poll_frame(context) {
            Poll::Ready(Some(Ok(frame))) => {
                this.moved = Instant::now();
                this.received += frame.data_ref().map_or(0, |data| data.len() as u64);
                if this.is_end_stream() {
                    this.flight.read();
                }
                Poll::Ready(Some(Ok(frame)))
            }
            Poll::Ready(Some(Err(error))) => {
                this.inner = None;
                Poll::Ready(Some(Err(io::Error::other(error))))
            }
            Poll::Ready(None) => {
                this.inner = None;
                this.flight.read();
                Poll::Ready(None)
            }
            Poll::Pending => {
                ready!(this.poll_late(context));
                Poll::Ready(Some(Err(this.give_up(Trouble::Late))))
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

impl Drop for Question {
    fn drop(&mut self) {
        let rest = self.inner.take().filter(|rest| !rest.is_end_stream());
        let Some(rest) = rest.filter(|_| self.is_read_away) else {
            return;
        };
        if let Ok(runtime) = Handle::try_current() {
            runtime.spawn(timeout(AWAY_TIME, read_away(rest)));
        }
    }
}

async fn read_away(mut rest: Incoming) {
    let mut read = 0;
    while let Some(Ok(frame)) = rest.frame().await {
        read += frame.data_ref().map_or(0, Bytes::len);
        if read > AWAY {
            return;
        }
    }
}
