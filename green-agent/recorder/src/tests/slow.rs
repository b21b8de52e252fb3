//! Callers and upstreams that are slow, blocked or stopped.

use std::io;

use axum::extract::DefaultBodyLimit;
use bytes::Bytes;
use futures_util::future::join_all;
use tokio::sync::Barrier;

use super::*;

const REPLY: &[u8] = b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\nkeep-alive: timeout=5\r\n\r\n";

/// Answers the first request on each connection, and closes the connection at the second one, as Node.js does when its only thread
/// was blocked for longer than it keeps idle connections.
async fn closing_upstream() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let origin = format!("http://{}", listener.local_addr().unwrap());
    tokio::spawn(async move {
        while let Ok((mut connection, _)) = listener.accept().await {
            tokio::spawn(async move {
                read_head(&mut connection).await;
                connection.write_all(REPLY).await.unwrap();
                connection.readable().await
            });
        }
    });
    origin
}

#[tokio::test]
async fn requests_of_different_connections_do_not_share_one() {
    let setup = Setup::new(&closing_upstream().await, RecorderOptions::default()).await;
    for _ in 0..3 {
        let reply = caller().post(setup.url("/")).send().await.unwrap();
        assert_eq!(reply.status(), 200);
    }
}

/// Sends the beginning of a request and returns what comes before the recorder closes the connection.
async fn closed_after(beginning: &str) -> io::Result<String> {
    let options = RecorderOptions { patience: Duration::from_millis(50), ..small() };
    let setup = Setup::new("http://127.0.0.1:9", options).await;
    let url = setup.url("/");
    let mut caller = TcpStream::connect((url.host_str().unwrap(), url.port().unwrap())).await?;
    caller.write_all(beginning.as_bytes()).await?;
    let mut said = String::new();
    timeout(PATIENCE, caller.read_to_string(&mut said)).await??;
    Ok(said)
}

#[tokio::test]
async fn a_caller_has_as_long_as_the_options_say() {
    assert_eq!(closed_after("POST / HTTP/1.1\r\nhost").await.unwrap(), "");
    let half = "POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 100\r\n\r\nhalf";
    let said = closed_after(half).await.unwrap();
    assert!(said.starts_with("HTTP/1.1 408"), "{said}");
}

#[tokio::test]
async fn large_requests_wait_together_for_a_slow_upstream() {
    const REQUESTS: usize = 5;
    const LARGE: usize = 8 << 20;
    let all_are_there = Arc::new(Barrier::new(REQUESTS));
    let answer = async move |body: Bytes| {
        all_are_there.wait().await;
        body.len().to_string()
    };
    let app = Router::new().fallback(answer).layer(DefaultBodyLimit::disable());
    let setup = Setup::new(&serve(app).await, small()).await;
    let body = Bytes::from(vec![b'x'; LARGE]);
    let send = async || {
        let reply = setup.client.post(setup.url("/")).body(body.clone()).send().await.unwrap();
        assert_eq!(reply.text().await.unwrap(), LARGE.to_string());
    };
    timeout(PATIENCE, join_all((0..REQUESTS).map(|_| send()))).await.expect("all are passed on");
}
