//! Tests with content that looks like HTTP.

use super::{response_body::PIECE, *};

#[tokio::test]
async fn content_that_looks_like_a_response_is_sent_as_it_is() {
    let content = format!("{}HTTP/1.1 431 {}", "a".repeat(PIECE), "b".repeat(PIECE));
    let body = content.clone();
    let app = Router::new().route("/", get(move || std::future::ready(body.clone())));
    let address = start(app, Limits::default()).await;
    let request = "GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n";
    let response = read_all(&mut connect_and_send(address, request).await).await;
    assert!(response.ends_with(&content), "{} bytes", response.len());
}
