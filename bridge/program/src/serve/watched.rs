//! The bytes of a connection, which tell its activity.

use std::{
    io,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use super::activity::Activity;

/// What an HTTP/2 connection begins with, as no HTTP/1 request does.
const HTTP2: &[u8] = b"PRI * HTTP/2";

/// A connection that tells what it does.
pub(super) struct Watched<I> {
    io: I,
    activity: Arc<Activity>,
    /// How many bytes of what HTTP/2 begins with have come; absent once that is known.
    begun: Option<usize>,
}

impl<I> Watched<I> {
    pub(super) fn new(io: I, activity: Arc<Activity>) -> Self {
        Self {
            io,
            activity,
            begun: Some(0),
        }
    }

    /// Whether these bytes end what HTTP/2 begins with.
    fn is_http2(&mut self, bytes: &[u8]) -> bool {
        let Some(begun) = self.begun else {
            return false;
        };
        let rest = &HTTP2[begun..];
        let common = rest.len().min(bytes.len());
        let is_like = rest[..common] == bytes[..common];
        let is_whole = is_like && common == rest.len();
        self.begun = (is_like && !is_whole).then_some(begun + common);
        is_whole
    }
}

impl<I: AsyncRead + Unpin> AsyncRead for Watched<I> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        let polled = Pin::new(&mut self.io).poll_read(context, buffer);
        if buffer.filled().len() > before {
            let is_http2 = self.is_http2(&buffer.filled()[before..]);
            self.activity.came(is_http2);
        }
        polled
    }
}

impl<I: AsyncWrite + Unpin> Watched<I> {
    fn wrote(&self, polled: Poll<io::Result<usize>>) -> Poll<io::Result<usize>> {
        match &polled {
            Poll::Ready(Ok(bytes)) => self.activity.took(*bytes),
            Poll::Ready(Err(_)) => {}
            Poll::Pending => self.activity.is_full(),
        }
        polled
    }
}

impl<I: AsyncWrite + Unpin> AsyncWrite for Watched<I> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let polled = Pin::new(&mut self.io).poll_write(context, bytes);
        self.wrote(polled)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        pieces: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let polled = Pin::new(&mut self.io).poll_write_vectored(context, pieces);
        self.wrote(polled)
    }

    fn is_write_vectored(&self) -> bool {
        self.io.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let polled = Pin::new(&mut self.io).poll_flush(context);
        match &polled {
            Poll::Ready(Ok(())) => self.activity.is_flushed(),
            Poll::Ready(Err(_)) => {}
            Poll::Pending => self.activity.is_full(),
        }
        polled
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.io).poll_shutdown(context)
    }
}
