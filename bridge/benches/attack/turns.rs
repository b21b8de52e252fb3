//! Large messages to a bot that takes them and never answers.

use std::time::Duration;

use axum::{Router, body::Bytes, extract::DefaultBodyLimit, http::StatusCode, routing::post};
use serde_json::json;

use crate::frame::{Failed, Program, Scene, raw};

/// The bytes of a message.
const LARGE: usize = 8 << 20;

const ANSWER: Duration = Duration::from_secs(30);

pub(crate) async fn run(scene: &mut Scene) -> Result<(), Failed> {
    let messages = scene.pick(60, 20);
    let bot = bot().await?;
    let flag = format!("slow={bot}");
    let program = Program::start(&["--bot", &flag])?;
    let text = "x".repeat(LARGE);
    let attack = async {
        let (mut taken, mut later) = (0, 0);
        for number in 0..messages {
            let body = json!({
                "message": {"messageId": format!("large-{number}"), "role": "ROLE_USER", "parts": [{"text": text}]},
                "configuration": {"returnImmediately": true},
            });
            let body = body.to_string().into();
            let answer = raw::post(program.address(), "/a2a/slow/message:send", body, ANSWER).await;
            taken += usize::from(answer.starts_with(b"HTTP/1.1 200"));
            later += usize::from(answer.starts_with(b"HTTP/1.1 503"));
        }
        (taken, later)
    };
    let (taken, later) = scene.attack(&program, 300, attack).await?;
    scene.note(format_args!(
        "{messages} messages of {} MiB: {taken} taken, {later} told to come again",
        LARGE >> 20
    ));
    scene.must(taken > 0, "messages are taken while there is room");
    scene.must(
        taken + later == messages,
        "each message is taken or refused for the time being",
    );
    Ok(())
}

/// Where a bot is that takes every activity and says nothing.
async fn bot() -> Result<String, Failed> {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await?;
    let url = format!("http://{}/api/messages", listener.local_addr()?);
    let take = async |_: Bytes| StatusCode::ACCEPTED;
    let app = Router::new().route("/api/messages", post(take));
    let app = app.layer(DefaultBodyLimit::disable());
    tokio::spawn(async move { axum::serve(listener, app).await });
    Ok(url)
}
