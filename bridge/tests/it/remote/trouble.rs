//! Tests bots that fail, refuse or do not answer: the task fails with a reason, without the bot's address.

use std::{
    collections::BTreeSet,
    net::SocketAddr,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use axum::{
    body::Body,
    http::{
        HeaderValue, Response,
        header::{LOCATION, RETRY_AFTER},
    },
    response::IntoResponse as _,
};
use bridge::{
    auth::{Issuer, IssuerSettings, KeySource, Subject, TrustedIssuer, Verifier},
    bot::remote::{Delivery, RemoteBot, RemoteSettings},
};
use jiff::Timestamp;
use reqwest::StatusCode;
use serde_json::{Value, json};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpListener,
};

use crate::ports;

use super::{StandIn, World, all_said, quick, remote, said, state};

/// Returns the error text for the only call of a bot that gives this answer.
pub(super) async fn failure(
    status: StatusCode,
    body: &'static str,
    settings: RemoteSettings,
) -> String {
    let bot = StandIn::that(move |_| async move { (status, body).into_response() }).await;
    let world = World::of(&bot, settings).await;
    let task = world.say("hi").await;
    assert_eq!(bot.posts().len(), 1, "a bot that may have acted is not asked again");
    assert_eq!(state(&task), "TASK_STATE_FAILED");
    hides_the_bot(&task);
    said(&task).to_owned()
}

/// Callers have no use for the address of a bot, and should not know it.
fn hides_the_bot(task: &Value) {
    let task = task.to_string();
    for hidden in ["127.0.0.1", "http:", "/api/messages"] {
        assert!(!task.contains(hidden), "{task}");
    }
}

#[tokio::test]
async fn a_bot_that_refuses_is_not_asked_again() {
    for (status, found) in [
        (401, "it refused the message with status 401 Unauthorized"),
        (403, "it refused the message with status 403 Forbidden"),
        (404, "it refused the message with status 404 Not Found"),
        (500, "it failed with status 500 Internal Server Error"),
        (503, "it failed with status 503 Service Unavailable"),
    ] {
        let status = StatusCode::from_u16(status).unwrap();
        let expected = format!("The agent could not answer: {found}.");
        assert_eq!(failure(status, "a trace of the bot", quick()).await, expected);
    }
}

#[tokio::test]
async fn an_answer_that_was_asked_for_is_as_it_should_be() {
    let replies =
        || RemoteSettings { delivery: Delivery::ExpectReplies, answer_limit: 100, ..quick() };
    let long: &'static str = "x".repeat(101).leak();
    for (body, expected) in [
        ("{\"activ", "expected an object with activities, found something else"),
        ("[]", "expected an object with activities, found something else"),
        (
            r#"{"activities": [{"text": "x"}]}"#,
            "activities[0].type: expected a type of activity such as message, found nothing",
        ),
        (long, "its answer is larger than 100 bytes"),
    ] {
        let said = failure(StatusCode::OK, body, replies()).await;
        assert!(said.ends_with(&format!("{expected}.")), "{body}: {said}");
    }
}

#[tokio::test]
async fn an_unrequested_response_may_have_any_content() {
    for body in ["{\"activ", "OK", "{}", "null"] {
        let bot = StandIn::that(move |post| async move {
            post.say("here").await;
            (StatusCode::OK, body).into_response()
        })
        .await;
        let task = World::of(&bot, quick()).await.say("hi").await;
        assert_eq!((state(&task), said(&task)), ("TASK_STATE_INPUT_REQUIRED", "here"));
    }
}

#[tokio::test]
async fn a_bot_that_never_answers_fails_the_task_after_all_that_it_said() {
    let bot = StandIn::that(async |post| {
        post.say("wait").await;
        std::future::pending().await
    })
    .await;
    let settings = RemoteSettings { request_timeout: Duration::from_secs(2), ..quick() };
    let task = World::of(&bot, settings).await.say("hi").await;
    assert_eq!(state(&task), "TASK_STATE_FAILED");
    let said = all_said(&task);
    assert_eq!(said[0], "wait");
    assert!(said[1].ends_with("it was silent for 2s."), "{said:?}");
}

#[tokio::test]
async fn the_status_of_a_failure_has_what_the_bot_said_before_it() {
    let bot = StandIn::that(async |post| {
        post.say("Who is there?").await;
        StatusCode::INTERNAL_SERVER_ERROR.into_response()
    })
    .await;
    let task = World::of(&bot, quick()).await.say("hi").await;
    assert_eq!(state(&task), "TASK_STATE_FAILED");
    let failed = "\nThe agent could not answer: it failed with status 500 Internal Server Error.";
    let expected = json!([{"text": "Who is there?"}, {"text": failed}]);
    assert_eq!(task["status"]["message"]["parts"], expected);
    assert_eq!(all_said(&task).len(), 2);
}

/// A bot on Node.js that is busy for 5 s closes the connections on which it has answered, with the messages that wait there.
#[tokio::test]
async fn a_bot_that_closes_kept_connections_gets_one_for_every_message() {
    for (announced, connections) in [(Some(("keep-alive", "timeout=5")), 3), (None, 2)] {
        let bot = StandIn::that(move |post| async move {
            post.say(&format!("Echo: {}", post.text())).await;
            match announced {
                Some(header) => ([header], "").into_response(),
                None => StatusCode::OK.into_response(),
            }
        })
        .await;
        let world = World::of(&bot, quick()).await;
        for text in ["one", "two", "three"] {
            assert_eq!(said(&world.say(text).await), format!("Echo: {text}"));
        }
        // The connection of the first message is never kept.
        let peers = bot.posts().iter().map(|post| post.peer).collect::<BTreeSet<_>>();
        assert_eq!(peers.len(), connections, "{announced:?}: {peers:?}");
    }
}

#[tokio::test]
async fn a_turn_has_a_limit() {
    let bot = StandIn::that(async |post| {
        tokio::spawn(async move {
            loop {
                post.send(serde_json::json!({"type": "typing"})).await;
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        });
        StatusCode::ACCEPTED.into_response()
    })
    .await;
    let settings = RemoteSettings { limit: Duration::from_millis(300), ..quick() };
    let task = World::of(&bot, settings).await.say("hi").await;
    assert_eq!(state(&task), "TASK_STATE_FAILED");
    assert_eq!(said(&task), "the agent did not finish its turn in time");
}

#[tokio::test]
async fn a_bot_that_is_not_there_fails_the_task_after_several_tries() {
    let bot = StandIn::echo().await;
    let port = ports::unused();
    let nobody = format!("http://user:word@127.0.0.1:{port}/api/messages?code=secret");
    let mut absent = remote("bot", &bot, quick());
    absent.url = nobody.parse().unwrap();
    let task = World::with(vec![absent]).await.say("hi").await;
    assert_eq!(state(&task), "TASK_STATE_FAILED");
    hides_the_bot(&task);
    let said = said(&task);
    assert!(said.ends_with("it cannot be reached, tried 6 times."), "{said}");
}

#[tokio::test]
async fn a_bot_that_ends_after_it_accepted_a_message_fails_the_task() {
    let server = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/api/messages", server.local_addr().unwrap());
    let mut bot = RemoteBot::new("bot", url.parse().unwrap());
    bot.settings = quick();
    let world = World::with(vec![bot]).await;
    let accepting = async move {
        let (mut connection, _) = server.accept().await.unwrap();
        drop(server);
        let (mut request, mut buffer) = (Vec::new(), [0; 4096]);
        while !String::from_utf8_lossy(&request).contains("\"text\":\"hi\"") {
            let read = connection.read(&mut buffer).await.unwrap();
            request.extend(&buffer[..read]);
        }
        let answer = "HTTP/1.1 202 Accepted\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";
        connection.write_all(answer.as_bytes()).await.unwrap();
    };
    let (task, ()) = tokio::join!(world.say("hi"), accepting);
    assert_eq!(state(&task), "TASK_STATE_FAILED");
    let said = said(&task);
    assert!(said.ends_with("it accepted the message and cannot be reached any more."), "{said}");
}

#[tokio::test]
async fn a_bot_that_is_started_again_gets_the_message_once() {
    let address = SocketAddr::from(([127, 0, 0, 1], ports::unused()));
    let mut late = RemoteBot::new("bot", format!("http://{address}/api/messages").parse().unwrap());
    late.settings = quick();
    let world = World::with(vec![late]).await;
    let coming = async {
        // As a supervisor does.
        tokio::time::sleep(Duration::from_secs(1)).await;
        StandIn::at(address, async |post| {
            post.say("here").await;
            StatusCode::OK.into_response()
        })
        .await
    };
    let (task, bot) = tokio::join!(world.say("hi"), coming);
    assert_eq!((said(&task), bot.posts().len()), ("here", 1));
}

#[tokio::test]
async fn a_bot_that_has_too_many_messages_is_asked_again() {
    for (retry_after, posts, expected) in [
        (None, 2, "hi"),
        (Some("1"), 2, "hi"),
        (Some("at noon"), 2, "hi"),
        (Some("3600"), 1, "it refused the message with status 429 Too Many Requests."),
    ] {
        let is_first = AtomicBool::new(true);
        let bot = StandIn::that(move |post| {
            let is_refused = is_first.swap(false, Ordering::Relaxed);
            async move {
                if !is_refused {
                    post.say(post.text()).await;
                    return StatusCode::OK.into_response();
                }
                let mut answer = StatusCode::TOO_MANY_REQUESTS.into_response();
                let delay = retry_after.map(HeaderValue::from_static);
                answer.headers_mut().extend(delay.map(|delay| (RETRY_AFTER, delay)));
                answer
            }
        })
        .await;
        let task = World::of(&bot, quick()).await.say("hi").await;
        assert!(said(&task).ends_with(expected), "{retry_after:?}: {task}");
        assert_eq!(bot.posts().len(), posts, "{retry_after:?}");
    }
}

#[tokio::test]
async fn a_redirect_is_not_followed() {
    let other = StandIn::echo().await;
    let url = HeaderValue::from_str(&other.url).unwrap();
    let bot = StandIn::that(move |_| {
        let mut answer = Response::new(Body::empty());
        *answer.status_mut() = StatusCode::TEMPORARY_REDIRECT;
        answer.headers_mut().insert(LOCATION, url.clone());
        std::future::ready(answer)
    })
    .await;
    let task = World::of(&bot, quick()).await.say("hi").await;
    assert_eq!(state(&task), "TASK_STATE_FAILED");
    assert!(said(&task).ends_with("it redirected the message with status 307 Temporary Redirect."));
    assert!(other.posts().is_empty());
}

#[tokio::test]
async fn a_call_that_cannot_be_checked_may_come_again() {
    let settings = IssuerSettings::new("http://issuer.test");
    let issuer = Issuer::open(settings, Timestamp::now()).await.unwrap();
    let subject = Subject { audience: "bridge".into(), subject: None, service_url: None };
    let token = issuer.token(&subject, Timestamp::now()).await.unwrap();
    let silent = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let keys = format!("http://{}/keys", silent.local_addr().unwrap());
    drop(silent);
    let trusted = TrustedIssuer {
        issuer: "http://issuer.test".into(),
        keys: KeySource::keys(keys.parse().unwrap(), false).unwrap(),
    };
    let bot = StandIn::that(async |_| StatusCode::OK.into_response()).await;
    let hosted = RemoteBot {
        admission: Arc::new(Verifier::new([trusted], ["bridge".into()])),
        ..remote("bot", &bot, quick())
    };
    let world = World::with(vec![hosted]).await;
    world.say("hi").await;
    let post = bot.posts().remove(0);
    let call = reqwest::Client::new().get(post.below("/members"));
    let answer = call.bearer_auth(token.expose()).send().await.unwrap();
    assert_eq!(answer.status(), 503);
    assert_eq!(answer.headers()["retry-after"], "5");
    let answer: Value = answer.json().await.unwrap();
    assert_eq!(answer["error"]["code"], "ServiceUnavailable");
    let text = answer.to_string();
    assert!(!text.contains("127.0.0.1"), "{text}");
}
