//! Requests that no ordinary client would send, as bytes on a connection.

use std::{net::SocketAddr, time::Duration};

use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpStream,
    time::timeout,
};

/// The time limit for a connection.
const CONNECT: Duration = Duration::from_secs(20);

/// Connects, or returns `None` after the time limit.
pub(crate) async fn connect(address: SocketAddr) -> Option<TcpStream> {
    timeout(CONNECT, TcpStream::connect(address)).await.ok()?.ok()
}

/// Returns the head of a request with a body of this length.
pub(crate) fn head(path: &str, length: usize) -> String {
    format!(
        "POST {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n\
         A2A-Version: 1.0\r\nContent-Length: {length}\r\n\r\n"
    )
}

/// Sends bytes. Returns false if not all of them are sent within this time.
pub(crate) async fn send(connection: &mut TcpStream, bytes: &[u8], limit: Duration) -> bool {
    let sent = timeout(limit, connection.write_all(bytes)).await;
    matches!(sent, Ok(Ok(())))
}

/// Reads until the other side closes or the time is over. Returns at most 64 KiB, and whether the connection was
/// closed.
pub(crate) async fn read(connection: &mut TcpStream, limit: Duration) -> (Vec<u8>, bool) {
    let (mut kept, mut buffer) = (Vec::new(), vec![0; 1 << 16]);
    let closed = timeout(limit, async {
        while let Ok(1..) = connection.read(&mut buffer).await.inspect(|read| {
            let room = (1 << 16_usize).min(kept.len() + read) - kept.len();
            kept.extend_from_slice(&buffer[..room]);
        }) {}
    });
    let is_closed = closed.await.is_ok();
    (kept, is_closed)
}

/// Sends a request on its own connection. Returns the response, which is empty without a connection.
pub(crate) async fn post(
    address: SocketAddr,
    path: &str,
    body: Vec<u8>,
    limit: Duration,
) -> Vec<u8> {
    let Some(mut connection) = connect(address).await else {
        return Vec::new();
    };
    let head = head(path, body.len()).replace("\r\n\r\n", "\r\nConnection: close\r\n\r\n");
    send(&mut connection, head.as_bytes(), limit).await;
    send(&mut connection, &body, limit).await;
    drop(body);
    read(&mut connection, limit).await.0
}
