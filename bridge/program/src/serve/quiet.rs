//! Event streams of HTTP/1.1 that have nothing to say at present.
//!
//! Between two events of a stream HTTP has nothing to do, and yet keeps what it reads and writes with, some 20 KiB
//! of it. So a stream that is quiet is taken from it: what follows of its body is written here, in chunks
//! (RFC 9112, section 7.1), and HTTP is spoken again when it has ended.

use std::{
    io,
    pin::Pin,
    sync::{
        Arc, Mutex, MutexGuard, Weak,
        atomic::{AtomicBool, Ordering},
    },
    task::{Context, Poll, ready},
};

use crate::lock;

use axum::{
    body::Bytes,
    http::{
        Response,
        header::{CONNECTION, CONTENT_LENGTH, CONTENT_TYPE},
    },
};
use hyper::body::{Body, Frame, SizeHint};
use tokio::io::{AsyncRead as _, AsyncWrite as _, ReadBuf};

use super::{answer::Answer, pace::Polled, watched::Watched};

/// From how many bytes on nothing more is asked for before they were written.
const ENOUGH: usize = 16 << 10;

/// How much is read of what a client sends before the stream has ended.
const AHEAD: usize = 512;

/// Whether an answer may be taken over: an event stream, after which the connection is not closed.
pub(super) fn may_be<B>(response: &Response<B>) -> bool {
    let headers = response.headers();
    let is_stream = headers
        .get(CONTENT_TYPE)
        .is_some_and(|kind| kind.as_bytes().starts_with(b"text/event-stream"));
    is_stream && !headers.contains_key(CONNECTION) && !headers.contains_key(CONTENT_LENGTH)
}

/// The body of a response as HTTP sends it.
pub(super) enum Sent {
    Whole(Answer),
    Lent(Arc<Lent>),
}

impl Body for Sent {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Polled {
        match &mut *self {
            Self::Whole(answer) => Pin::new(answer).poll_frame(context),
            Self::Lent(lent) => lent.poll(context),
        }
    }

    fn is_end_stream(&self) -> bool {
        match self {
            Self::Whole(answer) => answer.is_end_stream(),
            Self::Lent(lent) => lent.lock().as_ref().is_none_or(Body::is_end_stream),
        }
    }

    fn size_hint(&self) -> SizeHint {
        match self {
            Self::Whole(answer) => answer.size_hint(),
            // It is sent in chunks whatever it has.
            Self::Lent(_) => SizeHint::default(),
        }
    }
}

/// An answer that HTTP is sending and that can be taken from it again.
pub(super) struct Lent {
    /// Absent once it was taken, or has ended.
    answer: Mutex<Option<Answer>>,
    /// Whether it had nothing to say when it was asked last.
    is_quiet: AtomicBool,
}

impl Lent {
    fn poll(&self, context: &mut Context<'_>) -> Polled {
        let mut answer = self.lock();
        let Some(said) = answer.as_mut() else {
            return Poll::Ready(None);
        };
        let polled = Pin::new(said).poll_frame(context);
        self.is_quiet.store(polled.is_pending(), Ordering::Relaxed);
        polled
    }

    /// The answer, to be sent without HTTP.
    fn taken(&self) -> Option<Answer> {
        self.lock().take()
    }

    fn lock(&self) -> MutexGuard<'_, Option<Answer>> {
        lock(&self.answer)
    }
}

/// Where a connection finds the answer that was lent last.
#[derive(Clone, Default)]
pub(super) struct Slot(Arc<Mutex<Weak<Lent>>>);

impl Slot {
    /// Lends an answer to HTTP.
    pub(super) fn lend(&self, answer: Answer) -> Arc<Lent> {
        let lent = Arc::new(Lent {
            answer: Mutex::new(Some(answer)),
            is_quiet: AtomicBool::new(false),
        });
        *self.lock() = Arc::downgrade(&lent);
        lent
    }

    /// The answer that HTTP is sending, if it is quiet: HTTP has it no more.
    pub(super) fn quiet(&self) -> Option<Answer> {
        let mut slot = self.lock();
        let lent = slot.upgrade()?;
        if !lent.is_quiet.load(Ordering::Relaxed) {
            return None;
        }
        *slot = Weak::new();
        lent.taken()
    }

    fn lock(&self) -> MutexGuard<'_, Weak<Lent>> {
        lock(&self.0)
    }
}

/// A stream that was taken over in the middle of its body, whose head was written.
pub(super) struct Quiet {
    io: Watched,
    /// Absent once it has ended.
    answer: Option<Answer>,
    /// What is still to be written of it.
    chunks: Vec<u8>,
    written: usize,
    is_flushed: bool,
    /// What the client has sent meanwhile: it belongs to its next request.
    ahead: Vec<u8>,
}

impl Quiet {
    pub(super) fn new(io: Watched, answer: Answer, ahead: &[u8]) -> Self {
        Self {
            io: io.answering(),
            answer: Some(answer),
            chunks: Vec::new(),
            written: 0,
            is_flushed: true,
            // A copy: what HTTP has read into goes.
            ahead: ahead.to_vec(),
        }
    }

    /// The connection after the stream, on which the next request may have begun.
    pub(super) fn ended(self) -> Watched {
        let Self { mut io, ahead, .. } = self;
        io.read_again(ahead);
        io
    }

    /// Sends the stream. It fails if the client is gone, or the stream breaks off.
    pub(super) fn poll(&mut self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.poll_client(context)?;
        loop {
            ready!(self.poll_write(context))?;
            if self.answer.is_none() {
                return Poll::Ready(Ok(()));
            }
            if self.poll_chunks(context)?.is_pending() && self.chunks.is_empty() {
                return Poll::Pending;
            }
        }
    }

    /// Notices when the client leaves. What it sends is kept, and nothing more read then.
    fn poll_client(&mut self, context: &mut Context<'_>) -> io::Result<()> {
        if !self.ahead.is_empty() {
            return Ok(());
        }
        let mut bytes = [0; AHEAD];
        let mut buffer = ReadBuf::new(&mut bytes);
        match Pin::new(&mut self.io).poll_read(context, &mut buffer) {
            Poll::Pending => Ok(()),
            Poll::Ready(Err(error)) => Err(error),
            Poll::Ready(Ok(())) if buffer.filled().is_empty() => {
                Err(io::ErrorKind::UnexpectedEof.into())
            }
            Poll::Ready(Ok(())) => {
                self.ahead.extend_from_slice(buffer.filled());
                Ok(())
            }
        }
    }

    /// Writes the chunks that there are.
    fn poll_write(&mut self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        while let rest = &self.chunks[self.written..]
            && !rest.is_empty()
        {
            match ready!(Pin::new(&mut self.io).poll_write(context, rest))? {
                0 => return Poll::Ready(Err(io::ErrorKind::WriteZero.into())),
                written => self.written += written,
            }
        }
        if !self.is_flushed {
            ready!(Pin::new(&mut self.io).poll_flush(context))?;
            self.is_flushed = true;
        }
        // A quiet stream has no buffer.
        (self.chunks, self.written) = (Vec::new(), 0);
        Poll::Ready(Ok(()))
    }

    /// Makes chunks of what the stream says, until there is enough, or no more at present.
    fn poll_chunks(&mut self, context: &mut Context<'_>) -> io::Result<Poll<()>> {
        while let Some(answer) = &mut self.answer
            && self.chunks.len() < ENOUGH
        {
            match Pin::new(answer).poll_frame(context) {
                Poll::Pending => return Ok(Poll::Pending),
                Poll::Ready(Some(Ok(frame))) => self.chunk(frame),
                Poll::Ready(Some(Err(error))) => return Err(io::Error::other(error)),
                Poll::Ready(None) => {
                    self.answer = None;
                    self.say(b"0\r\n\r\n");
                }
            }
        }
        Ok(Poll::Ready(()))
    }

    fn chunk(&mut self, frame: Frame<Bytes>) {
        // An empty chunk would be the last one; event streams have no trailers.
        if let Ok(data) = frame.into_data()
            && !data.is_empty()
        {
            self.say(format!("{:x}\r\n", data.len()).as_bytes());
            self.say(&data);
            self.say(b"\r\n");
        }
    }

    fn say(&mut self, bytes: &[u8]) {
        self.chunks.extend_from_slice(bytes);
        self.is_flushed = false;
    }
}

#[cfg(test)]
mod tests {
    use std::{convert::Infallible, future::poll_fn};

    use axum::body::Body as AnyBody;
    use futures_util::{FutureExt as _, StreamExt as _, stream};
    use tokio::io::{AsyncReadExt as _, duplex};

    use super::*;
    use crate::serve::{Io, Limits, activity::Activity, answer::Asking, gate::Gate, service::App};

    #[tokio::test]
    async fn a_quiet_stream_has_no_buffers() {
        let activity = Arc::new(Activity::new());
        let share = Gate::new(&Limits::default()).share([127, 0, 0, 1].into());
        let app = App::from(axum::Router::new());
        let (near, mut far) = duplex(1 << 10);
        let io = Watched::new(Io::new(near), activity.clone(), share, app.refuse);
        let said = stream::iter([Ok::<_, Infallible>("hello")]).chain(stream::pending());
        let asking = Asking::new(activity, None);
        let answer = Answer::new(AnyBody::from_stream(said), None, asking, false);
        // What was read and is used up.
        let mut read = Bytes::from(vec![0; 8 << 10]);
        let mut quiet = Quiet::new(io, answer, &read.split_off(8 << 10));
        assert!(
            poll_fn(|context| quiet.poll(context))
                .now_or_never()
                .is_none()
        );
        let mut sent = [0; 10];
        far.read_exact(&mut sent).await.unwrap();
        assert_eq!(&sent, b"5\r\nhello\r\n");
        assert_eq!((quiet.ahead.capacity(), quiet.chunks.capacity()), (0, 0));
    }
}
