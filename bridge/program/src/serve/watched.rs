//! The bytes of a connection, which tell its activity.
//!
//! A head that is too large is answered by HTTP itself, before there is a request, with a status and no word. Here
//! that is replaced by what clients of the app read.

use std::{
    io,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll, ready},
};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use super::{
    activity::Activity,
    early,
    service::{Refuse, Unserved},
};

/// What an HTTP/2 connection begins with, as no HTTP/1 request does.
const HTTP2: &[u8] = b"PRI * HTTP/2";

/// What the answer to a head that is too large begins with.
const TOO_LARGE: [&[u8]; 2] = [b"HTTP/1.1 431 ", b"HTTP/1.0 431 "];

/// How much is read away of such a head before the connection is closed: with something unread, the answer would be
/// lost.
const AWAY: usize = 4 << 20;

/// A connection that tells what it does.
pub(super) struct Watched<I> {
    io: I,
    activity: Arc<Activity>,
    /// How many bytes of what HTTP/2 begins with have come; absent once that is known.
    begun: Option<usize>,
    /// The beginning of the newest head.
    head: Vec<u8>,
    refuse: Refuse,
    /// What is said of a head that was too large, and how much was read away since then.
    instead: Option<(Vec<u8>, usize)>,
}

impl<I> Watched<I> {
    pub(super) fn new(io: I, activity: Arc<Activity>, refuse: Refuse) -> Self {
        Self {
            io,
            activity,
            begun: Some(0),
            head: Vec::new(),
            refuse,
            instead: None,
        }
    }

    /// Takes note of bytes that came.
    fn came(&mut self, bytes: &[u8]) {
        let is_http2 = self.is_http2(bytes);
        let (is_head, begins) = self.activity.came(is_http2);
        if begins {
            self.head.clear();
        }
        if is_head {
            let room = early::LOOK.saturating_sub(self.head.len()).min(bytes.len());
            self.head.extend_from_slice(&bytes[..room]);
        }
    }

    /// Whether these bytes tell of a head that is too large; then something else is said.
    fn replaces(&mut self, bytes: &[u8]) -> bool {
        let is_refusal = TOO_LARGE.iter().any(|begin| bytes.starts_with(begin));
        if is_refusal {
            let answer = early::answer(self.refuse, &self.head, Unserved::Head);
            self.instead = Some((answer, 0));
        }
        is_refusal
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
            self.came(&buffer.filled()[before..]);
        }
        polled
    }
}

impl<I: AsyncRead + AsyncWrite + Unpin> Watched<I> {
    /// Writes what is said instead, if that was not done.
    fn poll_instead(&mut self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        while let Some((answer, _)) = &mut self.instead
            && !answer.is_empty()
        {
            let written = ready!(Pin::new(&mut self.io).poll_write(context, answer))?;
            if written == 0 {
                return Poll::Ready(Err(io::ErrorKind::WriteZero.into()));
            }
            answer.drain(..written);
        }
        Poll::Ready(Ok(()))
    }

    /// Reads the rest of a head that was too large.
    fn poll_away(&mut self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let mut bytes = [0; 4 << 10];
        while let Some((_, away)) = &mut self.instead
            && *away < AWAY
        {
            let mut buffer = ReadBuf::new(&mut bytes);
            ready!(Pin::new(&mut self.io).poll_read(context, &mut buffer))?;
            match buffer.filled().len() {
                0 => break,
                read => *away += read,
            }
        }
        Poll::Ready(Ok(()))
    }

    fn wrote(&self, polled: Poll<io::Result<usize>>) -> Poll<io::Result<usize>> {
        match &polled {
            Poll::Ready(Ok(bytes)) => self.activity.took(*bytes),
            Poll::Ready(Err(_)) => {}
            Poll::Pending => self.activity.is_full(),
        }
        polled
    }
}

impl<I: AsyncRead + AsyncWrite + Unpin> AsyncWrite for Watched<I> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        if self.replaces(bytes) {
            return Poll::Ready(Ok(bytes.len()));
        }
        let polled = Pin::new(&mut self.io).poll_write(context, bytes);
        self.wrote(polled)
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
        self.wrote(polled)
    }

    fn is_write_vectored(&self) -> bool {
        self.io.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        ready!(self.poll_instead(context))?;
        let polled = Pin::new(&mut self.io).poll_flush(context);
        match &polled {
            Poll::Ready(Ok(())) => self.activity.is_flushed(),
            Poll::Ready(Err(_)) => {}
            Poll::Pending => self.activity.is_full(),
        }
        polled
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        ready!(self.poll_instead(context))?;
        ready!(Pin::new(&mut self.io).poll_shutdown(context))?;
        self.poll_away(context)
    }
}
