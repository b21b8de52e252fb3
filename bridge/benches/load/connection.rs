//! A client connection with very little cost of its own: the bytes of requests are prepared beforehand.

use std::{
    io,
    time::{Duration, Instant},
};

use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpStream,
    time::timeout,
};

/// The time limit for each read of an answer.
const LIMIT: Duration = Duration::from_secs(30);

/// A persistent connection.
pub(crate) struct Connection {
    stream: TcpStream,
    answer: Vec<u8>,
}

/// The times at which the first event and the end of a stream arrived.
pub(crate) struct StreamTimes {
    pub(crate) first: Duration,
    pub(crate) end: Duration,
}

impl Connection {
    pub(crate) async fn open(port: u16) -> io::Result<Self> {
        let stream = TcpStream::connect(("127.0.0.1", port)).await?;
        stream.set_nodelay(true)?;
        let answer = Vec::with_capacity(1 << 14);
        Ok(Self { stream, answer })
    }

    /// Sends a request, and returns its whole answer: head and body, chunked or not.
    pub(crate) async fn call(&mut self, request: &[u8]) -> io::Result<&[u8]> {
        self.send(request).await?;
        while !is_whole(&self.answer) {
            self.read().await?;
        }
        Ok(&self.answer)
    }

    /// Sends a request, and reads its stream to the end.
    pub(crate) async fn stream(&mut self, request: &[u8]) -> io::Result<StreamTimes> {
        let begun = Instant::now();
        self.open_stream(request).await?;
        let first = begun.elapsed();
        while !self.answer.ends_with(b"\r\n0\r\n\r\n") {
            self.read().await?;
        }
        let end = begun.elapsed();
        Ok(StreamTimes { first, end })
    }

    /// Sends a request, and reads the first event of its stream.
    pub(crate) async fn open_stream(&mut self, request: &[u8]) -> io::Result<()> {
        self.send(request).await?;
        while find(&self.answer, b"\ndata:").is_none() {
            // A refusal is a complete document that no event follows.
            self.check_accepted()?;
            self.read().await?;
        }
        Ok(())
    }

    /// Returns an error if the whole answer so far is a JSON-RPC error.
    pub(crate) fn check_accepted(&self) -> io::Result<()> {
        if !is_whole(&self.answer) || find(&self.answer, b"\"error\":{").is_none() {
            return Ok(());
        }
        let refusal = String::from_utf8_lossy(&body(&self.answer)).into_owned();
        Err(io::Error::other(format!("the server refused a request: {refusal}")))
    }

    /// Returns the bytes of the last answer that have been read.
    pub(crate) fn answer(&self) -> &[u8] {
        &self.answer
    }

    async fn send(&mut self, request: &[u8]) -> io::Result<()> {
        self.answer.clear();
        self.stream.write_all(request).await
    }

    async fn read(&mut self) -> io::Result<()> {
        let read = timeout(LIMIT, self.stream.read_buf(&mut self.answer)).await;
        match read.map_err(|_| io::Error::from(io::ErrorKind::TimedOut))?? {
            0 => Err(io::ErrorKind::UnexpectedEof.into()),
            _ => Ok(()),
        }
    }
}

fn is_whole(answer: &[u8]) -> bool {
    let Some(head) = find(answer, b"\r\n\r\n") else {
        return false;
    };
    match content_length(&answer[..head]) {
        Some(length) => answer.len() >= head + 4 + length,
        None => answer.ends_with(b"\r\n0\r\n\r\n"),
    }
}

fn content_length(head: &[u8]) -> Option<usize> {
    let head = str::from_utf8(head).ok()?;
    let mut fields = head.lines().filter_map(|line| line.split_once(':'));
    let (_, value) = fields.find(|(name, _)| name.eq_ignore_ascii_case("content-length"))?;
    value.trim().parse().ok()
}

fn find(bytes: &[u8], wanted: &[u8]) -> Option<usize> {
    bytes.windows(wanted.len()).position(|window| window == wanted)
}

/// Returns the body of an answer, with its chunks joined.
pub(crate) fn body(answer: &[u8]) -> Vec<u8> {
    let Some(head) = find(answer, b"\r\n\r\n") else {
        return Vec::new();
    };
    let mut rest = &answer[head + 4..];
    if content_length(&answer[..head]).is_some() {
        return rest.to_vec();
    }
    let mut body = Vec::new();
    while let Some(end) = find(rest, b"\r\n") {
        let size =
            str::from_utf8(&rest[..end]).ok().and_then(|size| usize::from_str_radix(size, 16).ok());
        match size.and_then(|size| rest.get(end + 2..end + 2 + size)) {
            Some(chunk) if !chunk.is_empty() => {
                body.extend_from_slice(chunk);
                rest = rest.get(end + 4 + chunk.len()..).unwrap_or_default();
            }
            Some(_) | None => break,
        }
    }
    body
}
