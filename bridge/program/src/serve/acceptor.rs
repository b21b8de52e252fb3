//! Prepares accepted connections for HTTP, for example with a TLS handshake.

use std::{
    io,
    pin::Pin,
    task::{Context, Poll},
};

use async_trait::async_trait;
use axum::http::Extensions;
use tokio::{
    io::{AsyncRead, AsyncWrite, ReadBuf},
    net::TcpStream,
};

/// Prepares an accepted connection for HTTP.
#[async_trait]
pub trait Acceptor: Send + Sync + 'static {
    /// Prepares a connection. The extensions, such as the client's certificate, are added to each of its requests.
    ///
    /// # Errors
    /// If the handshake fails.
    async fn accept(&self, connection: TcpStream) -> io::Result<(Io, Extensions)>;
}

/// Speaks HTTP without a handshake.
#[derive(Clone, Copy, Debug, Default)]
pub struct PlainTcp;

#[async_trait]
impl Acceptor for PlainTcp {
    async fn accept(&self, connection: TcpStream) -> io::Result<(Io, Extensions)> {
        Ok((Io(Kind::Tcp(connection)), Extensions::new()))
    }
}

/// The byte stream of a connection. All kinds of connections have this type, so that HTTP is compiled once.
pub struct Io(Kind);

enum Kind {
    /// The usual kind, without an indirection.
    Tcp(TcpStream),
    Other(Box<dyn Stream>),
}

trait Stream: AsyncRead + AsyncWrite + Send + Unpin {}

impl<T: AsyncRead + AsyncWrite + Send + Unpin> Stream for T {}

impl Io {
    /// Wraps another stream, such as one of TLS.
    pub fn new(stream: impl AsyncRead + AsyncWrite + Send + Unpin + 'static) -> Self {
        Self(Kind::Other(Box::new(stream)))
    }

    fn stream(self: Pin<&mut Self>) -> Pin<&mut dyn Stream> {
        match &mut self.get_mut().0 {
            Kind::Tcp(stream) => Pin::new(stream),
            Kind::Other(stream) => Pin::new(&mut **stream),
        }
    }
}

impl AsyncRead for Io {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        self.stream().poll_read(context, buffer)
    }
}

impl AsyncWrite for Io {
    fn poll_write(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.stream().poll_write(context, bytes)
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        pieces: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        self.stream().poll_write_vectored(context, pieces)
    }

    fn is_write_vectored(&self) -> bool {
        match &self.0 {
            Kind::Tcp(stream) => stream.is_write_vectored(),
            Kind::Other(stream) => stream.is_write_vectored(),
        }
    }

    fn poll_flush(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.stream().poll_flush(context)
    }

    fn poll_shutdown(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.stream().poll_shutdown(context)
    }
}
