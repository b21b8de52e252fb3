//! The body of a response: given to the connection in small pieces, and cut off if its reader is too far behind.

use std::{
    io,
    pin::Pin,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    task::{Context, Poll, ready},
    time::Duration,
};

use axum::body::{Body, Bytes};
use hyper::body::{Body as HttpBody, Frame, SizeHint};

use super::{
    activity::{Activity, now},
    gate::Held,
    outgoing::Room,
};

/// How much of a large frame is given to the connection at a time, in bytes.
const PIECE: usize = 64 << 10;

/// A request that is being answered, until its answer was sent or given up.
#[derive(Debug)]
pub(super) struct Asking {
    activity: Arc<Activity>,
    _place: Option<Held>,
}

impl Asking {
    pub(super) fn new(activity: Arc<Activity>, place: Option<Held>) -> Self {
        activity.asked();
        Self {
            activity,
            _place: place,
        }
    }
}

impl Drop for Asking {
    fn drop(&mut self) {
        self.activity.answered();
    }
}

/// The body of a response.
pub(super) struct Answer {
    said: Said,
    _asking: Asking,
}

/// Where it is: of HTTP/1 the connection itself shows whether its reader is behind.
enum Said {
    Here(Content),
    Paced(Arc<Pace>),
}

/// What is still to be said.
#[derive(Debug)]
struct Content {
    body: Body,
    /// Of a large frame.
    rest: Bytes,
    _room: Option<Room>,
}

impl Answer {
    /// What a handler answered; of HTTP/2 it is watched one by one.
    pub(super) fn new(body: Body, room: Option<Room>, asking: Asking, is_http2: bool) -> Self {
        let is_empty = body.is_end_stream();
        let content = Content {
            body,
            rest: Bytes::new(),
            _room: room,
        };
        let said = match is_http2 && !is_empty {
            false => Said::Here(content),
            true => {
                let pace = Arc::new(Pace::new(content));
                asking.activity.watch(Arc::downgrade(&pace));
                Said::Paced(pace)
            }
        };
        Self {
            said,
            _asking: asking,
        }
    }
}

pub(super) type Polled = Poll<Option<Result<Frame<Bytes>, axum::Error>>>;

impl HttpBody for Answer {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Polled {
        match &mut self.said {
            Said::Here(content) => content.poll(context),
            Said::Paced(pace) => pace.poll(context),
        }
    }

    fn is_end_stream(&self) -> bool {
        match &self.said {
            Said::Here(content) => content.is_end(),
            Said::Paced(pace) => pace.lock().as_ref().is_some_and(Content::is_end),
        }
    }

    fn size_hint(&self) -> SizeHint {
        match &self.said {
            Said::Here(content) => content.size_hint(),
            Said::Paced(pace) => pace
                .lock()
                .as_ref()
                .map_or_else(SizeHint::default, Content::size_hint),
        }
    }
}

impl Content {
    fn poll(&mut self, context: &mut Context<'_>) -> Polled {
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
    fn new(content: Content) -> Self {
        Self {
            content: Mutex::new(Some(content)),
            given: AtomicU64::new(now()),
        }
    }

    fn lock(&self) -> MutexGuard<'_, Option<Content>> {
        self.content.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn poll(&self, context: &mut Context<'_>) -> Polled {
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

#[cfg(test)]
mod tests {
    use http_body_util::BodyExt as _;

    use super::*;

    fn answer(body: Body, is_http2: bool) -> (Answer, Arc<Activity>) {
        let activity = Arc::new(Activity::new());
        let asking = Asking::new(activity.clone(), None);
        (Answer::new(body, None, asking, is_http2), activity)
    }

    #[tokio::test]
    async fn a_large_frame_is_given_in_pieces() {
        for is_http2 in [false, true] {
            let text = Bytes::from(vec![7; 2 * PIECE + 1]);
            let (mut answer, activity) = answer(Body::from(text.clone()), is_http2);
            assert_eq!(answer.size_hint().exact(), Some(text.len() as u64));
            let mut pieces = Vec::new();
            while let Some(frame) = answer.frame().await {
                pieces.push(frame.unwrap().into_data().unwrap());
            }
            let lengths: Vec<_> = pieces.iter().map(Bytes::len).collect();
            assert_eq!(lengths, [PIECE, PIECE, 1]);
            assert_eq!(pieces.concat(), text);
            assert!(activity.is_spare().is_none());
            drop(answer);
            assert!(activity.is_spare().is_some());
        }
    }

    #[tokio::test]
    async fn an_answer_that_nobody_takes_is_cut_off() {
        let (mut answer, _) = answer(Body::from(vec![7; 2 * PIECE]), true);
        let Said::Paced(pace) = &answer.said else {
            panic!("it is not watched");
        };
        let pace = pace.clone();
        assert!(answer.frame().await.unwrap().is_ok());
        assert!(pace.cut_after(Duration::from_secs(3600)));
        while pace.lock().is_some() {
            pace.cut_after(Duration::ZERO);
        }
        assert!(answer.frame().await.unwrap().is_err());
    }
}
