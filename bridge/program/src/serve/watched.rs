//! The bytes of a connection, which tell its activity.
//!
//! A head that is too large is answered by HTTP itself, before there is a request, with a status and no word. Here
//! that is replaced by what clients of the app read. One for which there is no room among all is answered here.

use std::{
    io,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll, ready},
};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use super::{
    activity::Activity,
    door::Io,
    early,
    gate::Share,
    refusal::{Refuse, Unserved},
};

/// What an HTTP/2 connection begins with, as no HTTP/1 request does.
const HTTP2: &[u8] = b"PRI * HTTP/2";

/// What the answer to a head that is too large begins with.
const TOO_LARGE: [&[u8]; 2] = [b"HTTP/1.1 431 ", b"HTTP/1.0 431 "];

/// How much is read away of such a head before the connection is closed: with something unread, the answer would be
/// lost.
const AWAY: usize = 4 << 20;

/// What any head may have without asking, in bytes: what HTTP reads at first anyway.
pub(super) const FREE: usize = 8 << 10;

/// A connection that tells what it does.
pub(super) struct Watched {
    io: Io,
    activity: Arc<Activity>,
    share: Arc<Share>,
    /// What was read already and is to be read once more.
    again: Vec<u8>,
    /// The beginning of the newest head, how much of it has come, and how much may come until more is asked for.
    head: Vec<u8>,
    came: usize,
    allowed: usize,
    refuse: Refuse,
    /// What is said of a head that is not read to its end, and how much was read away since then.
    instead: Option<(Vec<u8>, usize)>,
    /// It was said before HTTP noticed anything, which then finds the connection at its end.
    is_refused: bool,
    /// Whether HTTP/2 is to join small frames, until the first write.
    joins_frames: bool,
}

impl Watched {
    pub(super) fn new(io: Io, activity: Arc<Activity>, share: Arc<Share>, refuse: Refuse) -> Self {
        Self {
            io,
            activity,
            share,
            again: Vec::new(),
            head: Vec::new(),
            came: 0,
            allowed: FREE,
            refuse,
            instead: None,
            is_refused: false,
            joins_frames: false,
        }
    }

    /// Has HTTP/2 write frames of up to 1 KiB together with those before and behind them, which saves gRPC, whose answers
    /// end with trailers, every second write. h2 copies such frames if a connection does not take several pieces in one
    /// write, and asks for that once when it begins; what is larger is not copied, as before.
    pub(super) fn joining_frames(self) -> Self {
        Self {
            joins_frames: true,
            ..self
        }
    }

    /// The same while nothing is asked: it needs not remember a head.
    pub(super) fn answering(self) -> Self {
        let head = Vec::new();
        Self { head, ..self }
    }

    /// Has these bytes read before all that come.
    pub(super) fn read_again(&mut self, bytes: Vec<u8>) {
        self.again = bytes;
    }

    /// Takes note of bytes that came.
    fn came(&mut self, bytes: &[u8]) {
        let (is_head, begins) = self.activity.came();
        if begins {
            self.head.clear();
            (self.came, self.allowed) = (0, FREE);
        }
        if is_head {
            let room = early::LOOK.saturating_sub(self.head.len()).min(bytes.len());
            self.head.extend_from_slice(&bytes[..room]);
            self.came += bytes.len();
        }
    }

    /// Whether more of a head can be read. Of HTTP/2 the request is counted, once it is there.
    fn has_room(&mut self) -> bool {
        if self.came < self.allowed || !self.activity.is_head() {
            return true;
        }
        let Some(held) = self.share.bytes_now(self.allowed) else {
            return false;
        };
        self.activity.hold(held);
        self.allowed *= 2;
        true
    }

    /// Has something else said than HTTP would.
    fn say_instead(&mut self, why: Unserved) {
        let answer = early::answer(self.refuse, &self.head, why);
        self.instead = Some((answer, 0));
    }

    /// Whether these bytes tell of a head that is too large; then something else is said.
    fn replaces(&mut self, bytes: &[u8]) -> bool {
        let is_refusal = TOO_LARGE.iter().any(|begin| bytes.starts_with(begin));
        if is_refusal {
            self.say_instead(Unserved::Head);
        }
        is_refusal
    }
}

impl Watched {
    /// Reads the first bytes, which are to be read again, until it shows whether HTTP/2 is spoken.
    pub(super) fn poll_is_http2(&mut self, context: &mut Context<'_>) -> Poll<io::Result<bool>> {
        let mut bytes = [0; HTTP2.len()];
        while HTTP2.starts_with(&self.again) && self.again.len() < HTTP2.len() {
            let mut buffer = ReadBuf::new(&mut bytes[self.again.len()..]);
            ready!(Pin::new(&mut self.io).poll_read(context, &mut buffer))?;
            match buffer.filled() {
                [] => break,
                more => self.again.extend_from_slice(more),
            }
        }
        let is_http2 = self.again == HTTP2;
        if is_http2 {
            self.activity.speaks_http2();
        }
        Poll::Ready(Ok(is_http2))
    }

    /// Reads what is to be read again, or else what comes.
    fn poll_bytes(
        &mut self,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        if self.again.is_empty() {
            return Pin::new(&mut self.io).poll_read(context, buffer);
        }
        let length = self.again.len().min(buffer.remaining());
        let rest = self.again.split_off(length);
        buffer.put_slice(&self.again);
        self.again = rest;
        Poll::Ready(Ok(()))
    }
}

impl AsyncRead for Watched {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        if !self.is_refused && !self.has_room() {
            self.is_refused = true;
            self.say_instead(Unserved::Full);
        }
        if self.is_refused {
            ready!(self.poll_instead(context))?;
            ready!(Pin::new(&mut self.io).poll_shutdown(context))?;
            return self.poll_away(context);
        }
        let before = buffer.filled().len();
        let polled = self.poll_bytes(context, buffer);
        if buffer.filled().len() > before {
            self.came(&buffer.filled()[before..]);
        }
        polled
    }
}

impl Watched {
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

    fn wrote(&mut self, polled: Poll<io::Result<usize>>) -> Poll<io::Result<usize>> {
        self.joins_frames = false;
        match &polled {
            Poll::Ready(Ok(bytes)) => self.activity.took(*bytes),
            Poll::Ready(Err(_)) => {}
            Poll::Pending => self.activity.is_full(),
        }
        polled
    }
}

impl AsyncWrite for Watched {
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
        !self.joins_frames && self.io.is_write_vectored()
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
