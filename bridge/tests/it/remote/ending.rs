//! Tests the end of turns: bots of every kind, and one that answers 202 at once and sends messages later, like the .NET
//! adapter.

use std::time::Duration;

use axum::{
    body::Body,
    response::{IntoResponse as _, Response},
};
use bridge::{
    agent::ConversationScope,
    bot::remote::{Delivery, RemoteSettings, TurnEndRules, UserId},
};
use bridge_translate::SilentEnd;
use reqwest::{StatusCode, header::CONTENT_TYPE};
use serde_json::{Value, json};

use super::{StandIn, World, all_said, further, message, quick, said, standin::Post, state};

/// Starts a bot that accepts a message at once and sends these activities afterwards.
async fn later(says: &'static [Value]) -> StandIn {
    StandIn::that(move |post: Post| async move {
        tokio::spawn(async move {
            for fields in says {
                post.send(fields.clone()).await;
            }
        });
        StatusCode::ACCEPTED.into_response()
    })
    .await
}

fn leaked<const N: usize>(says: [Value; N]) -> &'static [Value] {
    Box::leak(Box::new(says))
}

fn piece(kind: &str, text: &str, stream_type: &str, sequence: Option<u64>) -> Value {
    let info = json!({"type": "streaminfo", "streamId": "s", "streamType": stream_type,
        "streamSequence": sequence});
    json!({"type": kind, "text": text, "entities": [info]})
}

/// Settings under which only a signal ends a turn in time.
fn patient() -> RemoteSettings {
    RemoteSettings {
        ending: TurnEndRules {
            quiet: Duration::from_secs(100),
            settle: Some(Duration::from_secs(100)),
            patience: Duration::from_secs(100),
            ..TurnEndRules::default()
        },
        ..quick()
    }
}

#[tokio::test]
async fn messages_after_a_202_belong_to_the_turn() {
    let says = leaked([json!({"type": "typing"}), json!({"text": "one"}), json!({"text": "two"})]);
    let settings = RemoteSettings {
        ending: TurnEndRules { quiet: Duration::from_secs(1), ..quick().ending },
        ..quick()
    };
    let bot = later(says).await;
    let task = World::of(&bot, settings).await.say("hi").await;
    assert_eq!(all_said(&task), ["one", "two"]);
    assert_eq!(state(&task), "TASK_STATE_INPUT_REQUIRED");
}

#[tokio::test]
async fn a_bot_that_answers_200_at_once_may_take_longer_than_the_quiet_time() {
    let slow = StandIn::that(|post: Post| async move {
        tokio::spawn(async move {
            tokio::time::sleep(Duration::from_millis(800)).await;
            post.say(&format!("You said: {}", post.text())).await;
        });
        StatusCode::OK.into_response()
    })
    .await;
    let settings = RemoteSettings {
        ending: TurnEndRules { quiet: Duration::from_millis(400), ..TurnEndRules::default() },
        ..quick()
    };
    let world = World::of(&slow, settings).await;
    for text in ["one", "two"] {
        let task = world.say(text).await;
        assert_eq!(all_said(&task), [format!("You said: {text}")]);
    }
}

#[tokio::test]
async fn signals_end_a_turn_at_once() {
    for (says, expected) in [
        (
            leaked([json!({"text": "name?", "inputHint": "expectingInput"})]),
            "TASK_STATE_INPUT_REQUIRED",
        ),
        (
            leaked([
                piece("typing", "a", "streaming", Some(1)),
                piece("message", "a b", "final", None),
            ]),
            "TASK_STATE_INPUT_REQUIRED",
        ),
        (
            leaked([
                json!({"type": "endOfConversation", "text": "bye", "code": "completedSuccessfully"}),
            ]),
            "TASK_STATE_COMPLETED",
        ),
        (
            leaked([
                json!({"attachments": [{"contentType": "application/vnd.microsoft.card.oauth",
                "content": {"text": "sign in", "connectionName": "graph"}}]}),
            ]),
            "TASK_STATE_AUTH_REQUIRED",
        ),
    ] {
        let bot = later(says).await;
        let task = World::of(&bot, patient()).await.say("hi").await;
        assert_eq!(state(&task), expected, "{says:?}");
    }
}

#[tokio::test]
async fn silence_after_202_is_waited_for_and_no_failure() {
    let bot = later(&[]).await;
    let settings = RemoteSettings {
        ending: TurnEndRules { patience: Duration::from_millis(100), ..TurnEndRules::default() },
        ..quick()
    };
    let task = World::of(&bot, settings).await.say("hi").await;
    assert_eq!(state(&task), "TASK_STATE_INPUT_REQUIRED");
    assert!(all_said(&task).is_empty());
}

#[tokio::test]
async fn a_bot_that_stops_in_the_middle_of_a_stream_fails_the_task() {
    // With so many pieces, some come after the 202.
    let says = (1..=20).map(|sequence| piece("typing", "a", "streaming", Some(sequence)));
    let bot = later(Vec::leak(says.collect())).await;
    let settings = RemoteSettings {
        ending: TurnEndRules { patience: Duration::from_millis(100), ..TurnEndRules::default() },
        ..quick()
    };
    let task = World::of(&bot, settings).await.say("hi").await;
    assert_eq!(state(&task), "TASK_STATE_FAILED");
    assert!(said(&task).ends_with("it did not end its streamed answer."), "{task}");
    assert_eq!(task["artifacts"][0]["parts"], json!([{"text": "a"}]));
}

#[tokio::test]
async fn replies_come_in_the_answer_if_they_are_expected() {
    let bot = StandIn::that(async |post: Post| {
        assert_eq!(post.activity["deliveryMode"], "expectReplies");
        let replies = [json!({"text": "one"}), json!({"text": "two"})].map(|one| post.reply(one));
        axum::Json(json!({ "activities": replies })).into_response()
    })
    .await;
    let settings = RemoteSettings { delivery: Delivery::ExpectReplies, ..patient() };
    let task = World::of(&bot, settings).await.say("hi").await;
    assert_eq!(all_said(&task), ["one", "two"]);
}

/// Returns an answer of events.
fn events(of: &[(&str, Value)]) -> Response {
    let event = |(name, data): &(&str, Value)| format!("event: {name}\r\ndata: {data}\r\n\r\n");
    let body: String = of.iter().map(event).collect();
    ([(CONTENT_TYPE, "text/event-stream")], body).into_response()
}

#[tokio::test]
async fn replies_come_in_a_stream_if_that_is_asked_for() {
    let bot = StandIn::that(async |post: Post| {
        assert_eq!(post.activity["deliveryMode"], "stream");
        let says = [
            piece("typing", "a", "streaming", Some(1)),
            piece("message", "a b", "final", None),
            json!({"text": "and more"}),
        ];
        let says = says.map(|fields| ("activity", post.reply(fields)));
        let response = ("invokeResponse", json!({"status": 200, "body": {"x": 1}}));
        events(&[says.as_slice(), &[response]].concat())
    })
    .await;
    let settings = RemoteSettings { delivery: Delivery::Stream, ..patient() };
    let task = World::of(&bot, settings).await.say("hi").await;
    assert_eq!(all_said(&task), ["and more"]);
    assert_eq!(task["artifacts"][0]["parts"], json!([{"text": "a b"}]));
    let response = &task["metadata"]["urn:activity:event"];
    assert_eq!(response["value"], json!({"status": 200, "body": {"x": 1}}));
}

#[tokio::test]
async fn a_stream_that_falls_silent_fails_the_turn() {
    let bot = StandIn::that(async |_| {
        let silent = futures_util::stream::pending::<Result<String, std::io::Error>>();
        ([(CONTENT_TYPE, "text/event-stream")], Body::from_stream(silent)).into_response()
    })
    .await;
    let settings = RemoteSettings {
        delivery: Delivery::Stream,
        request_timeout: Duration::from_millis(200),
        ..quick()
    };
    let task = World::of(&bot, settings).await.say("hi").await;
    assert_eq!(state(&task), "TASK_STATE_FAILED");
    assert!(said(&task).ends_with("it was silent for 200ms."), "{task}");
}

#[tokio::test]
async fn an_event_that_cannot_be_read_fails_the_turn() {
    let bot = StandIn::that(async |_| events(&[("activity", json!({"text": "typeless"}))])).await;
    let task = World::of(&bot, quick()).await.say("hi").await;
    assert_eq!(state(&task), "TASK_STATE_FAILED");
    assert!(said(&task).contains("activity.type: expected a type of activity"), "{task}");
}

#[tokio::test]
async fn an_invoke_is_answered_with_what_the_bot_answers() {
    let bot = StandIn::that(async |post: Post| {
        assert_eq!(post.activity["type"], "invoke");
        assert_eq!(post.activity["name"], "signin/verifyState");
        (StatusCode::PRECONDITION_FAILED, axum::Json(post.activity["value"].clone()))
            .into_response()
    })
    .await;
    let world = World::of(&bot, patient()).await;
    let part = json!({"data": {"state": "123456"},
        "metadata": {"urn:activity:invoke": {"name": "signin/verifyState"}}});
    let invoke = json!({"messageId": "m-1", "role": "ROLE_USER", "parts": [part]});
    let task = world.send("bot", invoke).await;
    let response = &task["metadata"]["urn:activity:event"];
    assert_eq!(response["type"], "invokeResponse");
    assert_eq!(response["value"], json!({"status": 412, "body": {"state": "123456"}}));
}

#[tokio::test]
async fn an_invoke_is_answered_in_a_stream_if_that_is_asked_for() {
    let bot = StandIn::that(async |post: Post| {
        assert_eq!(post.activity["type"], "invoke");
        let reply = ("activity", post.reply(json!({"text": "noted"})));
        events(&[reply, ("invokeResponse", json!({"status": 200, "body": {"x": 1}}))])
    })
    .await;
    let settings = RemoteSettings { delivery: Delivery::Stream, ..patient() };
    let part = json!({"data": {"state": "123456"},
        "metadata": {"urn:activity:invoke": {"name": "signin/verifyState"}}});
    let invoke = json!({"messageId": "m-1", "role": "ROLE_USER", "parts": [part]});
    let task = World::of(&bot, settings).await.send("bot", invoke).await;
    assert_eq!(all_said(&task), ["noted"]);
    let response = &task["metadata"]["urn:activity:event"];
    assert_eq!(response["value"], json!({"status": 200, "body": {"x": 1}}));
}

/// As the Agents SDKs do: they answer the sign-in, and then repeat the turn that needed it.
#[tokio::test]
async fn what_a_bot_says_after_it_has_accepted_a_sign_in_answers_it() {
    let bot = StandIn::that(async |post: Post| {
        if post.activity["type"] == "invoke" {
            tokio::spawn(async move {
                tokio::time::sleep(Duration::from_millis(100)).await;
                post.say("Welcome").await;
            });
        } else {
            let content = json!({"text": "Sign in", "connectionName": "directory"});
            let kind = "application/vnd.microsoft.card.oauth";
            let card = json!({"contentType": kind, "content": content});
            post.send(json!({"attachments": [card]})).await;
        }
        StatusCode::OK.into_response()
    })
    .await;
    let settings = RemoteSettings {
        ending: TurnEndRules { quiet: Duration::from_secs(6), ..quick().ending },
        silent_end: SilentEnd::Completed,
        ..quick()
    };
    let world = World::of(&bot, settings).await;
    let task = world.say("hi").await;
    assert_eq!(state(&task), "TASK_STATE_AUTH_REQUIRED");
    let mut signs_in = further(&task, "");
    signs_in["parts"] = json!([{"data": {"state": "123456"},
        "metadata": {"urn:activity:invoke": {"name": "signin/verifyState"}}}]);
    let task = world.send("bot", signs_in).await;
    assert_eq!(state(&task), "TASK_STATE_COMPLETED");
    assert_eq!(task["artifacts"][0]["parts"], json!([{"text": "Welcome"}]));
}

#[tokio::test]
async fn a_conversation_has_many_turns_and_begins_with_a_greeting_if_that_is_wanted() {
    let bot = StandIn::that(async |post: Post| {
        match post.activity["type"].as_str() {
            Some("conversationUpdate") => post.say("welcome").await,
            _ => post.say(&format!("Echo: {}", post.text())).await,
        };
        StatusCode::CREATED.into_response()
    })
    .await;
    let settings = RemoteSettings {
        first_contact: true,
        channel_id: "webchat".into(),
        locale: "de-DE".into(),
        user: UserId::Fixed("user-7".into()),
        bot_id: Some("bot-7".into()),
        bot_name: Some("Seven".into()),
        ..quick()
    };
    let world = World::of(&bot, settings).await;
    let task = world.say("one").await;
    let task = world.send("bot", further(&task, "two")).await;
    assert_eq!(all_said(&task), ["welcome", "Echo: one", "Echo: two"]);
    let posts = bot.posts();
    let of = |name: &str| posts.iter().map(|post| post.activity[name].clone()).collect::<Vec<_>>();
    assert_eq!(of("type"), ["conversationUpdate", "message", "message"]);
    let id = task["id"].as_str().unwrap();
    assert_eq!(of("id"), [format!("{id}.0"), format!("{id}.1"), format!("{id}.2")]);
    assert_eq!(of("serviceUrl")[0], of("serviceUrl")[2]);
    let told = &posts[1].activity;
    assert_eq!((&told["channelId"], &told["locale"]), (&json!("webchat"), &json!("de-DE")));
    assert_eq!(told["from"], json!({"id": "user-7", "name": "user-7", "role": "user"}));
    assert_eq!(told["recipient"], json!({"id": "bot-7", "name": "Seven", "role": "bot"}));
    let members = posts[0].activity["membersAdded"].as_array().unwrap();
    assert_eq!(members.len(), 2);
    assert!(told["channelData"]["history"].is_null(), "a bot is not told all again");
    assert!(posts[1].headers.get("authorization").is_none());
}

#[tokio::test]
async fn a_context_can_be_the_conversation() {
    let bot = StandIn::echo().await;
    let settings =
        RemoteSettings { conversation: ConversationScope::Context, first_contact: true, ..quick() };
    let world = World::of(&bot, settings).await;
    for text in ["one", "two"] {
        let mut message = message(text);
        message["contextId"] = "context-7".into();
        let task = world.send("bot", message).await;
        assert_eq!(said(&task), format!("Echo: {text}"));
    }
    let posts = bot.posts();
    assert!(posts.iter().all(|post| post.conversation() == "context-7"));
    let greetings = posts.iter().filter(|post| post.activity["type"] == "conversationUpdate");
    assert_eq!(greetings.count(), 1);
}
