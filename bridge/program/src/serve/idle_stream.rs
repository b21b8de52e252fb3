//! Event streams of HTTP/1.1 between two events.
//!
//! hyper keeps some 20 KiB of buffers for a connection although an idle stream needs none. The body of an idle stream is therefore
//! detached from hyper: this module writes the rest of it in chunks (RFC 9112, section 7.1), and hyper takes the connection back
//! when the body has ended.

use std::{
    io,
    pin::Pin,
    sync::{Arc, Mutex, Weak},
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
use hyper::body::Frame;
use tokio::io::{AsyncRead as _, AsyncWrite as _, ReadBuf};

use super::{
    monitored_io::MonitoredIo,
    response_body::{SentBody, SharedBody, SplitBody},
};

/// The number of unwritten bytes from which no further events are taken.
const MAX_UNWRITTEN: usize = 16 << 10;

/// The most bytes of the next request that are read before the stream has ended.
const READ_AHEAD: usize = 512;

/// Returns whether the body of a response can be detached: it is an event stream, and the connection stays open after it.
pub(super) fn is_detachable<B>(response: &Response<B>) -> bool {
    let headers = response.headers();
    let is_stream = headers
        .get(CONTENT_TYPE)
        .is_some_and(|content_type| content_type.as_bytes().starts_with(b"text/event-stream"));
    is_stream && !headers.contains_key(CONNECTION) && !headers.contains_key(CONTENT_LENGTH)
}

/// Holds the detachable body that a connection is sending, if there is one.
#[derive(Clone, Default)]
pub(super) struct StreamSlot(Arc<Mutex<Weak<SharedBody>>>);

impl StreamSlot {
    /// Makes a body detachable.
    pub(super) fn attach(&self, body: SplitBody) -> SentBody {
        let body = SharedBody::new(body);
        *lock(&self.0) = Arc::downgrade(&body);
        SentBody::Detachable(body)
    }

    /// Detaches the body that hyper is sending, if it is idle.
    pub(super) fn detach_idle(&self) -> Option<SplitBody> {
        let mut slot = lock(&self.0);
        let body = slot.upgrade()?.take_idle()?;
        *slot = Weak::new();
        Some(body)
    }
}

/// A connection with a detached body, whose head and first events hyper has written.
pub(super) struct IdleStream {
    io: MonitoredIo,
    /// `None` once the body has ended.
    body: Option<SplitBody>,
    /// The chunks that are being written, and the number of bytes that were.
    chunks: Vec<u8>,
    written: usize,
    is_flushed: bool,
    /// What the client has sent meanwhile, which belongs to its next request.
    read_ahead: Vec<u8>,
}

impl IdleStream {
    pub(super) fn new(io: MonitoredIo, body: SplitBody, read_ahead: &[u8]) -> Self {
        Self {
            io: io.without_head(),
            body: Some(body),
            chunks: Vec::new(),
            written: 0,
            is_flushed: true,
            // A copy, so that the buffer of hyper is freed.
            read_ahead: read_ahead.to_vec(),
        }
    }

    /// Returns the connection after the end of the body. Its next bytes may belong to the next request.
    pub(super) fn into_io(self) -> MonitoredIo {
        let Self { mut io, read_ahead, .. } = self;
        io.unread(read_ahead);
        io
    }

    /// Sends the body to its end.
    pub(super) fn poll(&mut self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.poll_client(context)?;
        loop {
            ready!(self.poll_write(context))?;
            if self.body.is_none() {
                return Poll::Ready(Ok(()));
            }
            if self.poll_chunks(context)?.is_pending() && self.chunks.is_empty() {
                return Poll::Pending;
            }
        }
    }

    /// Notices when the client closes the connection. After the first bytes that the client sends, nothing more is read.
    fn poll_client(&mut self, context: &mut Context<'_>) -> io::Result<()> {
        if !self.read_ahead.is_empty() {
            return Ok(());
        }
        let mut bytes = [0; READ_AHEAD];
        let mut buffer = ReadBuf::new(&mut bytes);
        match Pin::new(&mut self.io).poll_read(context, &mut buffer) {
            Poll::Pending => Ok(()),
            Poll::Ready(Err(error)) => Err(error),
            Poll::Ready(Ok(())) if buffer.filled().is_empty() => {
                Err(io::ErrorKind::UnexpectedEof.into())
            }
            Poll::Ready(Ok(())) => {
                self.read_ahead.extend_from_slice(buffer.filled());
                Ok(())
            }
        }
    }

    /// Writes all chunks and flushes them.
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
        // An idle stream must not keep a buffer.
        (self.chunks, self.written) = (Vec::new(), 0);
        Poll::Ready(Ok(()))
    }

    /// Takes frames of the body, until there are enough unwritten bytes or the body has no further frame at present.
    fn poll_chunks(&mut self, context: &mut Context<'_>) -> io::Result<Poll<()>> {
        while let Some(body) = &mut self.body
            && self.chunks.len() < MAX_UNWRITTEN
        {
            match body.poll(context) {
                Poll::Pending => return Ok(Poll::Pending),
                Poll::Ready(Some(Ok(frame))) => self.push_chunk(frame),
                Poll::Ready(Some(Err(error))) => return Err(io::Error::other(error)),
                Poll::Ready(None) => {
                    self.body = None;
                    self.push(b"0\r\n\r\n");
                }
            }
        }
        Ok(Poll::Ready(()))
    }

    fn push_chunk(&mut self, frame: Frame<Bytes>) {
        // An empty chunk would end the body. Event streams have no trailers.
        if let Ok(data) = frame.into_data()
            && !data.is_empty()
        {
            self.push(format!("{:x}\r\n", data.len()).as_bytes());
            self.push(&data);
            self.push(b"\r\n");
        }
    }

    fn push(&mut self, bytes: &[u8]) {
        self.chunks.extend_from_slice(bytes);
        self.is_flushed = false;
    }
}

#[cfg(test)]
mod tests {
    use std::{convert::Infallible, future::poll_fn};

    use axum::body::Body;
    use futures_util::{FutureExt as _, StreamExt as _, stream};
    use tokio::io::{AsyncReadExt as _, duplex};

    use super::*;
    use crate::serve::{
        Io, Limits, connection_monitor::ConnectionMonitor, request_limits::RequestLimits,
        response_body::RequestGuard, service::App,
    };

    #[tokio::test]
    async fn an_idle_stream_has_no_buffers() {
        let monitor = Arc::new(ConnectionMonitor::new());
        let limits = RequestLimits::new(&Limits::default()).of_address([127, 0, 0, 1].into());
        let app = App::from(axum::Router::new());
        let (near, mut far) = duplex(1 << 10);
        let io = MonitoredIo::new(Io::new(near), monitor.clone(), limits, app.reject);
        let events = stream::iter([Ok::<_, Infallible>("hello")]).chain(stream::pending());
        let guard = RequestGuard::new(monitor, None);
        let body = SplitBody::new(Body::from_stream(events), None, guard);
        // A buffer whose bytes were all used.
        let mut buffer = Bytes::from(vec![0; 8 << 10]);
        let mut stream = IdleStream::new(io, body, &buffer.split_off(8 << 10));
        assert!(poll_fn(|context| stream.poll(context)).now_or_never().is_none());
        let mut sent = [0; 10];
        far.read_exact(&mut sent).await.unwrap();
        assert_eq!(&sent, b"5\r\nhello\r\n");
        assert_eq!((stream.read_ahead.capacity(), stream.chunks.capacity()), (0, 0));
    }
}
