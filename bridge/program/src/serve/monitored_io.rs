//! The byte stream of a connection, which reports what it reads and writes to the connection's monitor.
//!
//! hyper answers a request head that is too large itself, with a status and an empty body. This module replaces that answer by one in
//! the form that the app's clients read. It also refuses a head for whose bytes there is no memory.

use std::{
    io,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll, ready},
};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use super::{
    acceptor::Io,
    connection_monitor::ConnectionMonitor,
    early_response::{HEAD_PREFIX, early_response},
    rejection::{Rejection, RejectionResponse},
    request_limits::AddressLimits,
};

/// The first bytes of each HTTP/2 connection, with which no HTTP/1 request begins.
const HTTP2: &[u8] = b"PRI * HTTP/2";

/// The first bytes of the response of hyper to a head that is too large.
const TOO_LARGE: [&[u8]; 2] = [b"HTTP/1.1 431 ", b"HTTP/1.0 431 "];

/// The most bytes of such a head that are discarded before the connection is closed. If a connection is closed with unread bytes,
/// the client loses the response.
const DISCARDED: usize = 4 << 20;

/// The bytes that any head may have without a permit: those that hyper reads at once.
pub(super) const FREE: usize = 8 << 10;

/// A byte stream that reports what it reads and writes.
pub(super) struct MonitoredIo {
    io: Io,
    monitor: Arc<ConnectionMonitor>,
    limits: Arc<AddressLimits>,
    /// Bytes that were read and are to be read again.
    unread: Vec<u8>,
    /// The first bytes of the newest head.
    head: Vec<u8>,
    /// The number of bytes of that head which were received, and the number that may be before permits are needed.
    received: usize,
    allowed: usize,
    reject: RejectionResponse,
    /// The rest of the response to a head that is not read to its end, and the number of bytes that were discarded since then.
    rejection: Option<(Vec<u8>, usize)>,
    /// Whether the head was rejected without hyper, which then sees the end of the connection.
    is_rejected: bool,
    /// Whether HTTP/2 joins small frames, until the first write.
    joins_frames: bool,
}

impl MonitoredIo {
    pub(super) fn new(
        io: Io,
        monitor: Arc<ConnectionMonitor>,
        limits: Arc<AddressLimits>,
        reject: RejectionResponse,
    ) -> Self {
        Self {
            io,
            monitor,
            limits,
            unread: Vec::new(),
            head: Vec::new(),
            received: 0,
            allowed: FREE,
            reject,
            rejection: None,
            is_rejected: false,
            joins_frames: false,
        }
    }

    /// Makes HTTP/2 write frames of up to 1 KiB together with their neighbours. This saves gRPC, whose responses end with
    /// trailers, every second write. When a connection begins, h2 asks whether it supports vectored writes; if not, h2 copies
    /// small frames into its buffer. Larger frames are not copied.
    pub(super) fn joining_frames(self) -> Self {
        Self { joins_frames: true, ..self }
    }

    /// Forgets the head of the current request, whose memory is freed.
    pub(super) fn without_head(self) -> Self {
        let head = Vec::new();
        Self { head, ..self }
    }

    /// Puts bytes back, so that they are read again.
    pub(super) fn unread(&mut self, bytes: Vec<u8>) {
        self.unread = bytes;
    }

    /// Records bytes that were received.
    fn record(&mut self, bytes: &[u8]) {
        let (is_head, begins) = self.monitor.received();
        if begins {
            self.head.clear();
            (self.received, self.allowed) = (0, FREE);
        }
        if is_head {
            let room = HEAD_PREFIX.saturating_sub(self.head.len()).min(bytes.len());
            self.head.extend_from_slice(&bytes[..room]);
            self.received += bytes.len();
        }
    }

    /// Reserves memory for more of a head, if needed. Returns `false` if it is not free. A head of HTTP/2 is counted with its
    /// request.
    fn reserve(&mut self) -> bool {
        if self.received < self.allowed || !self.monitor.is_reading_head() {
            return true;
        }
        let Some(permits) = self.limits.try_bytes(self.allowed) else {
            return false;
        };
        self.monitor.hold(permits);
        self.allowed *= 2;
        true
    }

    /// Prepares the response to the head.
    fn reject(&mut self, reason: Rejection) {
        let response = early_response(self.reject, &self.head, reason);
        self.rejection = Some((response, 0));
    }

    /// Returns whether these bytes are the response of hyper to a head that is too large. That response is then replaced. The content
    /// of a response may begin like this, too.
    fn replaces(&mut self, bytes: &[u8]) -> bool {
        let is_too_large = TOO_LARGE.iter().any(|prefix| bytes.starts_with(prefix))
            && self.monitor.is_reading_head();
        if is_too_large {
            self.reject(Rejection::HeadTooLarge);
        }
        is_too_large
    }
}

impl MonitoredIo {
    /// Reads the first bytes, until they show whether the client speaks HTTP/2. They are read again by hyper.
    pub(super) fn poll_is_http2(&mut self, context: &mut Context<'_>) -> Poll<io::Result<bool>> {
        let mut bytes = [0; HTTP2.len()];
        while HTTP2.starts_with(&self.unread) && self.unread.len() < HTTP2.len() {
            let mut buffer = ReadBuf::new(&mut bytes[self.unread.len()..]);
            ready!(Pin::new(&mut self.io).poll_read(context, &mut buffer))?;
            match buffer.filled() {
                [] => break,
                more => self.unread.extend_from_slice(more),
            }
        }
        let is_http2 = self.unread == HTTP2;
        if is_http2 {
            self.monitor.set_http2();
        }
        Poll::Ready(Ok(is_http2))
    }

    /// Reads the bytes that were put back, or else from the connection.
    fn poll_bytes(
        &mut self,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        if self.unread.is_empty() {
            return Pin::new(&mut self.io).poll_read(context, buffer);
        }
        let length = self.unread.len().min(buffer.remaining());
        let rest = self.unread.split_off(length);
        buffer.put_slice(&self.unread);
        self.unread = rest;
        Poll::Ready(Ok(()))
    }
}

impl AsyncRead for MonitoredIo {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        if !self.is_rejected && !self.reserve() {
            self.is_rejected = true;
            self.reject(Rejection::Overloaded);
        }
        if self.is_rejected {
            ready!(self.poll_rejection(context))?;
            ready!(Pin::new(&mut self.io).poll_shutdown(context))?;
            return self.poll_discard(context);
        }
        let before = buffer.filled().len();
        let polled = self.poll_bytes(context, buffer);
        if buffer.filled().len() > before {
            self.record(&buffer.filled()[before..]);
        }
        polled
    }
}

impl MonitoredIo {
    /// Writes the response to a rejected head.
    fn poll_rejection(&mut self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        while let Some((response, _)) = &mut self.rejection
            && !response.is_empty()
        {
            let written = ready!(Pin::new(&mut self.io).poll_write(context, response))?;
            if written == 0 {
                return Poll::Ready(Err(io::ErrorKind::WriteZero.into()));
            }
            response.drain(..written);
        }
        Poll::Ready(Ok(()))
    }

    /// Discards the rest of a rejected head.
    fn poll_discard(&mut self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let mut bytes = [0; 4 << 10];
        while let Some((_, discarded)) = &mut self.rejection
            && *discarded < DISCARDED
        {
            let mut buffer = ReadBuf::new(&mut bytes);
            ready!(Pin::new(&mut self.io).poll_read(context, &mut buffer))?;
            match buffer.filled().len() {
                0 => break,
                read => *discarded += read,
            }
        }
        Poll::Ready(Ok(()))
    }

    fn record_write(&mut self, polled: Poll<io::Result<usize>>) -> Poll<io::Result<usize>> {
        self.joins_frames = false;
        match &polled {
            Poll::Ready(Ok(bytes)) => self.monitor.sent(*bytes),
            Poll::Ready(Err(_)) => {}
            Poll::Pending => self.monitor.set_behind(),
        }
        polled
    }
}

impl AsyncWrite for MonitoredIo {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        if self.replaces(bytes) {
            return Poll::Ready(Ok(bytes.len()));
        }
        let polled = Pin::new(&mut self.io).poll_write(context, bytes);
        self.record_write(polled)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        pieces: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        if pieces.first().is_some_and(|first| self.replaces(first)) {
            return Poll::Ready(Ok(pieces.iter().map(|piece| piece.len()).sum()));
        }
        let polled = Pin::new(&mut self.io).poll_write_vectored(context, pieces);
        self.record_write(polled)
    }

    fn is_write_vectored(&self) -> bool {
        !self.joins_frames && self.io.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        ready!(self.poll_rejection(context))?;
        let polled = Pin::new(&mut self.io).poll_flush(context);
        match &polled {
            Poll::Ready(Ok(())) => self.monitor.set_flushed(),
            Poll::Ready(Err(_)) => {}
            Poll::Pending => self.monitor.set_behind(),
        }
        polled
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        ready!(self.poll_rejection(context))?;
        ready!(Pin::new(&mut self.io).poll_shutdown(context))?;
        self.poll_discard(context)
    }
}
