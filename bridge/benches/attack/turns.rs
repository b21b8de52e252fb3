//! Sends large messages to a bot that accepts them and never answers.

use std::time::Duration;

use axum::{Router, body::Bytes, extract::DefaultBodyLimit, http::StatusCode, routing::post};
use serde_json::json;

use crate::harness::{Error, Harness, Program, raw};

/// The length of a message's text in bytes.
const LARGE: usize = 8 << 20;

const ANSWER: Duration = Duration::from_secs(30);

pub(crate) async fn run(harness: &mut Harness) -> Result<(), Error> {
    let messages = harness.pick(60, 20);
    let bot = bot().await?;
    let flag = format!("slow={bot}");
    let program = Program::start(&["--bot", &flag])?;
    let text = "x".repeat(LARGE);
    let attack = async {
        let (mut accepted, mut refused) = (0, 0);
        for number in 0..messages {
            let body = json!({
                "message": {"messageId": format!("large-{number}"), "role": "ROLE_USER", "parts": [{"text": text}]},
                "configuration": {"returnImmediately": true},
            });
            let body = body.to_string().into();
            let answer = raw::post(program.address(), "/a2a/slow/message:send", body, ANSWER).await;
            accepted += usize::from(answer.starts_with(b"HTTP/1.1 200"));
            refused += usize::from(answer.starts_with(b"HTTP/1.1 503"));
        }
        (accepted, refused)
    };
    let (accepted, refused) = harness.attack(&program, 300, attack).await?;
    harness.note(format_args!(
        "{messages} messages of {} MiB: {accepted} accepted, {refused} refused for now",
        LARGE >> 20
    ));
    harness.check(accepted > 0, "messages are accepted while there is memory for them");
    harness.check(accepted + refused == messages, "each message is accepted or refused with 503");
    Ok(())
}

/// Starts a bot that accepts every activity and sends nothing. Returns its URL.
async fn bot() -> Result<String, Error> {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await?;
    let url = format!("http://{}/api/messages", listener.local_addr()?);
    let take = async |_: Bytes| StatusCode::ACCEPTED;
    let app = Router::new().route("/api/messages", post(take));
    let app = app.layer(DefaultBodyLimit::disable());
    tokio::spawn(async move { axum::serve(listener, app).await });
    Ok(url)
}
