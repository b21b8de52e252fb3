//! What happens on a connection before HTTP is spoken, such as TLS.

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

/// What happens on a connection before HTTP is spoken.
#[async_trait]
pub trait Door: Send + Sync + 'static {
    /// Whether those who come too late can be told so on the connection as it is.
    fn is_plain(&self) -> bool {
        false
    }

    /// Opens a connection; what is found out about the client is added to each of its requests.
    async fn open(&self, connection: TcpStream) -> io::Result<(Io, Extensions)>;
}

/// Nothing happens before.
#[derive(Clone, Copy, Debug, Default)]
pub struct Plain;

#[async_trait]
impl Door for Plain {
    fn is_plain(&self) -> bool {
        true
    }

    async fn open(&self, connection: TcpStream) -> io::Result<(Io, Extensions)> {
        Ok((Io(Kind::Tcp(connection)), Extensions::new()))
    }
}

/// The bytes of a connection. It is one type whatever the connection is, so that HTTP is compiled once.
pub struct Io(Kind);

enum Kind {
    /// By far the most, and without an indirection.
    Tcp(TcpStream),
    Other(Box<dyn Stream>),
}

trait Stream: AsyncRead + AsyncWrite + Send + Unpin {}

impl<T: AsyncRead + AsyncWrite + Send + Unpin> Stream for T {}

impl Io {
    /// Returns what speaks over this stream.
    pub fn new(stream: impl AsyncRead + AsyncWrite + Send + Unpin + 'static) -> Self {
        Self(Kind::Other(Box::new(stream)))
    }
}

impl AsyncRead for Io {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        match &mut self.0 {
            Kind::Tcp(stream) => Pin::new(stream).poll_read(context, buffer),
            Kind::Other(stream) => Pin::new(stream).poll_read(context, buffer),
        }
    }
}

impl AsyncWrite for Io {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        match &mut self.0 {
            Kind::Tcp(stream) => Pin::new(stream).poll_write(context, bytes),
            Kind::Other(stream) => Pin::new(stream).poll_write(context, bytes),
        }
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        pieces: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        match &mut self.0 {
            Kind::Tcp(stream) => Pin::new(stream).poll_write_vectored(context, pieces),
            Kind::Other(stream) => Pin::new(stream).poll_write_vectored(context, pieces),
        }
    }

    fn is_write_vectored(&self) -> bool {
        match &self.0 {
            Kind::Tcp(stream) => stream.is_write_vectored(),
            Kind::Other(stream) => stream.is_write_vectored(),
        }
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        match &mut self.0 {
            Kind::Tcp(stream) => Pin::new(stream).poll_flush(context),
            Kind::Other(stream) => Pin::new(stream).poll_flush(context),
        }
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        match &mut self.0 {
            Kind::Tcp(stream) => Pin::new(stream).poll_shutdown(context),
            Kind::Other(stream) => Pin::new(stream).poll_shutdown(context),
        }
    }
}
