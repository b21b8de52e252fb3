//! What is spoken on a connection: HTTP/1 or HTTP/2, and in the middle of HTTP/1 a stream that is quiet, without
//! what HTTP needs to read and write.

use std::{
    io,
    mem::take,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll, ready},
    time::Duration,
};

use hyper::server::conn::{http1, http2};
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use tokio::io::AsyncWrite as _;

use super::{
    activity::Activity,
    quiet::{Quiet, Slot},
    service::Asked,
    watched::Watched,
};

/// What is read of a connection before it is used, and written before the reader has to take some, in bytes.
const BUFFER: usize = 64 << 10;

/// What an HTTP/2 client may send ahead: of one body, and of all.
const STREAM_WINDOW: u32 = 256 << 10;
const WINDOW: u32 = 512 << 10;

/// How often an HTTP/2 client is asked whether it is there.
const PING: Duration = Duration::from_secs(30);

type Http1 = http1::Connection<TokioIo<Watched>, Asked>;
type Http2 = http2::Connection<TokioIo<Watched>, Asked, TokioExecutor>;

/// A connection, which speaks until it is closed.
pub(super) struct Talk {
    now: Now,
    slot: Slot,
    activity: Arc<Activity>,
    is_stopping: bool,
}

/// What is spoken now. What is large stands apart, so that a quiet stream has nothing of it.
#[derive(Default)]
enum Now {
    /// That shows in the first bytes.
    Unknown(Watched, Box<Asked>),
    Http1(Box<Http1>),
    Http2(Pin<Box<Http2>>),
    Quiet(Box<Quiet>, Box<Asked>),
    /// Nothing but the end of it.
    Ending(Watched),
    #[default]
    Nothing,
}

impl Talk {
    pub(super) fn new(io: Watched, asked: Asked) -> Self {
        Self {
            slot: asked.slot.clone(),
            activity: asked.activity.clone(),
            now: Now::Unknown(io, Box::new(asked)),
            is_stopping: false,
        }
    }

    /// Ends it with what is being answered.
    pub(super) fn graceful_shutdown(&mut self) {
        self.is_stopping = true;
        match &mut self.now {
            Now::Unknown(..) => self.now = Now::Nothing,
            Now::Http1(connection) => Pin::new(&mut **connection).graceful_shutdown(),
            Now::Http2(connection) => connection.as_mut().graceful_shutdown(),
            // It ends with the stream.
            Now::Quiet(..) | Now::Ending(_) | Now::Nothing => {}
        }
    }

    /// Reads the first bytes, until it shows which HTTP is spoken.
    fn poll_begun(&mut self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let Now::Unknown(io, _) = &mut self.now else {
            return Poll::Ready(Ok(()));
        };
        let is_http2 = ready!(io.poll_is_http2(context))?;
        if let Now::Unknown(io, asked) = take(&mut self.now) {
            self.now = match is_http2 {
                false => Now::Http1(http1(io, *asked)),
                true => Now::Http2(http2(io, *asked)),
            };
        }
        Poll::Ready(Ok(()))
    }

    /// Takes a stream over that is quiet: what HTTP has read and written with is given back.
    fn take_over(&mut self) -> bool {
        // What HTTP could not write yet would be lost.
        if self.activity.is_behind() {
            return false;
        }
        let Some(answer) = self.slot.quiet() else {
            return false;
        };
        let Now::Http1(connection) = take(&mut self.now) else {
            return true;
        };
        let http1::Parts {
            io,
            read_buf,
            service,
            ..
        } = connection.into_parts();
        let quiet = Quiet::new(io.into_inner(), answer, &read_buf);
        self.now = Now::Quiet(Box::new(quiet), Box::new(service));
        true
    }

    /// Sends a stream that was taken over to its end; then the next request is read.
    fn poll_quiet(&mut self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        if let Now::Quiet(quiet, _) = &mut self.now {
            ready!(quiet.poll(context))?;
        }
        if let Now::Quiet(quiet, asked) = take(&mut self.now) {
            let io = quiet.ended();
            self.now = match self.is_stopping {
                true => Now::Ending(io),
                false => Now::Http1(http1(io, *asked)),
            };
        }
        Poll::Ready(Ok(()))
    }
}

impl Future for Talk {
    type Output = Result<(), Box<dyn std::error::Error + Send + Sync>>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let this = &mut *self;
        loop {
            match &mut this.now {
                Now::Unknown(..) => ready!(this.poll_begun(context))?,
                Now::Http1(connection) => match Pin::new(&mut **connection).poll(context) {
                    Poll::Pending if this.take_over() => {}
                    polled => return polled.map_err(Into::into),
                },
                Now::Http2(connection) => {
                    return connection.as_mut().poll(context).map_err(Into::into);
                }
                Now::Quiet(..) => ready!(this.poll_quiet(context))?,
                Now::Ending(io) => return Pin::new(io).poll_shutdown(context).map_err(Into::into),
                Now::Nothing => return Poll::Ready(Ok(())),
            }
        }
    }
}

/// How long anything may take is watched by [`Activity`].
fn http1(io: Watched, asked: Asked) -> Box<Http1> {
    let mut builder = http1::Builder::new();
    builder
        .timer(TokioTimer::new())
        .header_read_timeout(None)
        .max_buf_size(BUFFER);
    Box::new(builder.serve_connection(TokioIo::new(io), asked))
}

fn http2(io: Watched, asked: Asked) -> Pin<Box<Http2>> {
    let mut builder = http2::Builder::new(TokioExecutor::new());
    builder
        .timer(TokioTimer::new())
        .initial_stream_window_size(STREAM_WINDOW)
        .initial_connection_window_size(WINDOW)
        .max_send_buf_size(BUFFER)
        .keep_alive_interval(PING);
    Box::pin(builder.serve_connection(TokioIo::new(io.joining_frames()), asked))
}
