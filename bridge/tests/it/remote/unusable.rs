//! Tests answers and messages of bots that cannot be used: no valid HTTP, or refused. The task fails with the reason.

use axum::response::IntoResponse as _;
use bridge::bot::remote::{Delivery, RemoteBot, RemoteSettings};
use reqwest::{StatusCode, header::CONTENT_TYPE};
use serde_json::{Value, json};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpListener,
};

use super::{StandIn, World, quick, said, state, trouble::failure};

/// A body whose structure would take too much memory, and in which a message would be lost.
fn heavy() -> Value {
    let file = json!({"contentType": "text/plain", "contentUrl": "https://files.example/1"});
    let message = json!({"type": "message", "attachments": vec![file; 10_000]});
    json!({ "activities": [message] })
}

#[tokio::test]
async fn an_answer_with_too_much_structure_fails_the_task() {
    let body: &'static str = heavy().to_string().leak();
    let event: &'static str = format!("event: activity\ndata: {body}\n\n").leak();
    let ask_for = |delivery| RemoteSettings { delivery, ..quick() };
    for delivery in [Delivery::ExpectReplies, Delivery::Normal] {
        let said = failure(StatusCode::OK, body, ask_for(delivery)).await;
        assert!(said.contains("its answer has too much structure"), "{said}");
    }
    let bot = StandIn::that(move |_| async move {
        ([(CONTENT_TYPE, "text/event-stream")], event).into_response()
    })
    .await;
    let world = World::of(&bot, quick()).await;
    let task = world.say("hi").await;
    assert_eq!(state(&task), "TASK_STATE_FAILED");
    let said = said(&task);
    assert!(said.contains("its answer has too much structure"), "{said}");
}

/// A bot may ignore that its message was refused, and its user must not take that for an answer.
#[tokio::test]
async fn a_turn_of_which_every_message_was_refused_fails() {
    let [mut large, wrong] = [json!({}), json!({"attachments": "none"})];
    large["attachments"] = heavy()["activities"][0]["attachments"].clone();
    for (fields, expected, reason) in [
        (large, 413, "its message was refused: the body is too large"),
        (
            wrong,
            400,
            "its message was refused: attachments: expected a list, found the string \"none\".",
        ),
    ] {
        let bot = StandIn::that(move |post| {
            let fields = fields.clone();
            async move {
                let url = post.below(&format!("/activities/{}", post.id()));
                let (status, body) = post.call("POST", &url, &post.reply(fields)).await;
                assert_eq!(status, expected, "{body}");
                if post.text() == "and speak" {
                    post.say("sorry").await;
                }
                StatusCode::OK.into_response()
            }
        })
        .await;
        let world = World::of(&bot, quick()).await;
        let task = world.say("and be silent").await;
        assert_eq!(state(&task), "TASK_STATE_FAILED");
        assert!(said(&task).contains(reason), "{}", said(&task));
        let task = world.say("and speak").await;
        let found = (state(&task), said(&task));
        assert_eq!(found, ("TASK_STATE_INPUT_REQUIRED", "sorry"));
    }
}

#[tokio::test]
async fn an_answer_that_is_not_http_is_told_from_a_broken_connection() {
    const HEAD: &str = "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n";
    let not_http = "its answer is not valid HTTP";
    let broken = "the connection to it broke";
    for (answer, expected) in [
        ("SSH-2.0-server\r\n\r\n".to_owned(), not_http),
        ("HTTP/1.1 200 OK\r\ncontent-length: 1\r\ncontent-length: 2\r\n\r\nx".into(), not_http),
        ("HTTP/1.1 200 OK\r\nno colon\r\n\r\n".into(), not_http),
        (format!("{HEAD}zz\r\nhello\r\n0\r\n\r\n"), not_http),
        (format!("{HEAD}5\r\nhelloworld\r\n"), not_http),
        (format!("{HEAD}fffffffffffffffff\r\nhello\r\n"), not_http),
        (format!("{HEAD}5\r\nhel"), broken),
        ("HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nhello".into(), broken),
        (String::new(), broken),
    ] {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/api/messages", listener.local_addr().unwrap());
        let mut bot = RemoteBot::new("bot", url.parse().unwrap());
        bot.settings = quick();
        let world = World::with(vec![bot]).await;
        let answering = async {
            let (mut connection, _) = listener.accept().await.unwrap();
            let mut head = [0; 4096];
            assert!(connection.read(&mut head).await.unwrap() > 0);
            connection.write_all(answer.as_bytes()).await.unwrap();
            connection.shutdown().await.unwrap();
            // Closing a connection with unread bytes would reset it.
            while connection.read(&mut head).await.is_ok_and(|read| read > 0) {}
        };
        let (task, ()) = tokio::join!(world.say("hi"), answering);
        assert_eq!(state(&task), "TASK_STATE_FAILED");
        assert!(said(&task).contains(expected), "{answer:?}: {}", said(&task));
    }
}
