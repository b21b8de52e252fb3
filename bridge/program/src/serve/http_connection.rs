//! A connection that speaks HTTP/1 or HTTP/2. An idle event stream of HTTP/1 is sent without hyper, see
//! [`idle_stream`](super::idle_stream).

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
    connection_monitor::ConnectionMonitor,
    idle_stream::{IdleStream, StreamSlot},
    monitored_io::MonitoredIo,
    service::ConnectionService,
};

/// The largest buffers of a connection for reading and writing, in bytes.
const BUFFER: usize = 64 << 10;

/// The bytes that an HTTP/2 client may send before they are read: of one body, and of all.
const STREAM_WINDOW: u32 = 256 << 10;
const WINDOW: u32 = 512 << 10;

/// The interval at which an HTTP/2 client is probed.
const PING: Duration = Duration::from_secs(30);

type Http1 = http1::Connection<TokioIo<MonitoredIo>, ConnectionService>;
type Http2 = http2::Connection<TokioIo<MonitoredIo>, ConnectionService, TokioExecutor>;

/// A connection, which is a future that ends when the connection is closed.
pub(super) struct HttpConnection {
    state: State,
    slot: StreamSlot,
    monitor: Arc<ConnectionMonitor>,
    is_stopping: bool,
}

/// The state of a connection. Large states are boxed, so that an idle stream is small.
#[derive(Default)]
enum State {
    /// The first bytes show which version of HTTP the client speaks.
    Unknown(MonitoredIo, Box<ConnectionService>),
    Http1(Box<Http1>),
    Http2(Pin<Box<Http2>>),
    Idle(Box<IdleStream>, Box<ConnectionService>),
    Closing(MonitoredIo),
    #[default]
    Closed,
}

impl HttpConnection {
    pub(super) fn new(io: MonitoredIo, service: ConnectionService) -> Self {
        Self {
            slot: service.slot.clone(),
            monitor: service.monitor.clone(),
            state: State::Unknown(io, Box::new(service)),
            is_stopping: false,
        }
    }

    /// Closes the connection after the requests that are being answered.
    pub(super) fn graceful_shutdown(&mut self) {
        self.is_stopping = true;
        match &mut self.state {
            State::Unknown(..) => self.state = State::Closed,
            State::Http1(connection) => Pin::new(&mut **connection).graceful_shutdown(),
            State::Http2(connection) => connection.as_mut().graceful_shutdown(),
            // The connection is closed when the stream ends.
            State::Idle(..) | State::Closing(_) | State::Closed => {}
        }
    }

    /// Reads the first bytes, until they show which version of HTTP the client speaks.
    fn poll_version(&mut self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let State::Unknown(io, _) = &mut self.state else {
            return Poll::Ready(Ok(()));
        };
        let is_http2 = ready!(io.poll_is_http2(context))?;
        if let State::Unknown(io, service) = take(&mut self.state) {
            self.state = match is_http2 {
                false => State::Http1(http1(io, *service)),
                true => State::Http2(http2(io, *service)),
            };
        }
        Poll::Ready(Ok(()))
    }

    /// Detaches an idle stream from hyper, whose buffers are freed. Returns `false` if there is none.
    fn detach_idle(&mut self) -> bool {
        // The bytes that hyper could not write yet would be lost.
        if self.monitor.is_behind() {
            return false;
        }
        let Some(body) = self.slot.detach_idle() else {
            return false;
        };
        let State::Http1(connection) = take(&mut self.state) else {
            return true;
        };
        let http1::Parts { io, read_buf, service, .. } = connection.into_parts();
        let stream = IdleStream::new(io.into_inner(), body, &read_buf);
        self.state = State::Idle(Box::new(stream), Box::new(service));
        true
    }

    /// Sends a detached stream to its end; then hyper reads the next request.
    fn poll_idle(&mut self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        if let State::Idle(stream, _) = &mut self.state {
            ready!(stream.poll(context))?;
        }
        if let State::Idle(stream, service) = take(&mut self.state) {
            let io = stream.into_io();
            self.state = match self.is_stopping {
                true => State::Closing(io),
                false => State::Http1(http1(io, *service)),
            };
        }
        Poll::Ready(Ok(()))
    }
}

impl Future for HttpConnection {
    type Output = Result<(), Box<dyn std::error::Error + Send + Sync>>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let this = &mut *self;
        loop {
            match &mut this.state {
                State::Unknown(..) => ready!(this.poll_version(context))?,
                State::Http1(connection) => match Pin::new(&mut **connection).poll(context) {
                    Poll::Pending if this.detach_idle() => {}
                    polled => return polled.map_err(Into::into),
                },
                State::Http2(connection) => {
                    return connection.as_mut().poll(context).map_err(Into::into);
                }
                State::Idle(..) => ready!(this.poll_idle(context))?,
                State::Closing(io) => {
                    return Pin::new(io).poll_shutdown(context).map_err(Into::into);
                }
                State::Closed => return Poll::Ready(Ok(())),
            }
        }
    }
}

/// [`ConnectionMonitor`] has the time limits, so that those of hyper are off.
fn http1(io: MonitoredIo, service: ConnectionService) -> Box<Http1> {
    let mut builder = http1::Builder::new();
    builder.timer(TokioTimer::new()).header_read_timeout(None).max_buf_size(BUFFER);
    Box::new(builder.serve_connection(TokioIo::new(io), service))
}

fn http2(io: MonitoredIo, service: ConnectionService) -> Pin<Box<Http2>> {
    let mut builder = http2::Builder::new(TokioExecutor::new());
    builder
        .timer(TokioTimer::new())
        .initial_stream_window_size(STREAM_WINDOW)
        .initial_connection_window_size(WINDOW)
        .max_send_buf_size(BUFFER)
        .keep_alive_interval(PING)
        // A client that is busy or stopped answers no ping, but reads what waits when it goes on.
        .keep_alive_timeout(service.limits.idle);
    Box::pin(builder.serve_connection(TokioIo::new(io.joining_frames()), service))
}
