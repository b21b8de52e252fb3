//! Requests that no client would send: bytes on a connection.

use std::{net::SocketAddr, time::Duration};

use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpStream,
    time::timeout,
};

/// How long a connection may take to be made.
const CONNECT: Duration = Duration::from_secs(20);

/// A connection, if one is made soon.
pub(crate) async fn connect(address: SocketAddr) -> Option<TcpStream> {
    timeout(CONNECT, TcpStream::connect(address))
        .await
        .ok()?
        .ok()
}

/// The head of a request with a body of this length.
pub(crate) fn head(path: &str, length: usize) -> String {
    format!(
        "POST {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n\
         A2A-Version: 1.0\r\nContent-Length: {length}\r\n\r\n"
    )
}

/// Sends bytes, as many as are taken within this time.
pub(crate) async fn send(connection: &mut TcpStream, bytes: &[u8], limit: Duration) -> bool {
    let sent = timeout(limit, connection.write_all(bytes)).await;
    matches!(sent, Ok(Ok(())))
}

/// What comes until the other side closes or this time is over, and whether it closed; at most 64 KiB are kept.
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

/// What a request is answered with that has a connection of its own; nothing if that is not made.
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
