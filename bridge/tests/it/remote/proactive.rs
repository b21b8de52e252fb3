//! Tests activities of bots without an open turn, and after a cancelation or the end of a task.

use std::collections::BTreeSet;

use axum::response::IntoResponse as _;
use bridge::{
    agent::ConversationScope,
    bot::remote::{RemoteSettings, TurnEndRules},
};
use reqwest::StatusCode;
use serde_json::{Value, json};

use super::{
    StandIn, World, all_said, eventually, further, message, quick, said, standin::Post, state,
};

/// Returns the first activity that the bot got.
async fn first(bot: &StandIn) -> Post {
    eventually("the bot is called", async || bot.posts().into_iter().next()).await
}

#[tokio::test]
async fn news_after_the_turn_reach_the_task() {
    let bot = StandIn::echo().await;
    let world = World::of(&bot, quick()).await;
    let task = world.say("hi").await;
    let post = first(&bot).await;
    post.say("news").await;
    let url = post.below("/activities");
    let (status, body) = post.call("POST", &url, &post.reply(json!({"text": "more news"}))).await;
    assert_eq!(status, 200, "{body}");
    let task = world.task(&task["id"]).await;
    assert_eq!(all_said(&task), ["Echo: hi", "news", "more news"]);
    assert_eq!(state(&task), "TASK_STATE_INPUT_REQUIRED");
    post.send(json!({"type": "endOfConversation"})).await;
    assert_eq!(state(&world.task(&task["id"]).await), "TASK_STATE_COMPLETED");
}

#[tokio::test]
async fn news_reach_open_streams() {
    let bot = StandIn::echo().await;
    let world = World::of(&bot, quick()).await;
    let task = world.say("hi").await;
    let post = first(&bot).await;
    let request = json!({"jsonrpc": "2.0", "id": 1, "method": "SubscribeToTask",
        "params": {"id": task["id"]}});
    let url = format!("http://{}/a2a/bot", world.address);
    let request = reqwest::Client::new().post(url).header("a2a-version", "1.0").json(&request);
    let mut stream = request.send().await.unwrap();
    // The stream begins with the task: it is open.
    let opened = stream.chunk().await.unwrap().unwrap();
    assert!(String::from_utf8_lossy(&opened).contains("Echo: hi"));
    post.send(json!({"type": "endOfConversation", "text": "done"})).await;
    let mut rest = String::new();
    while let Some(chunk) = stream.chunk().await.unwrap() {
        rest += &String::from_utf8_lossy(&chunk);
    }
    assert!(rest.contains("TASK_STATE_COMPLETED") && rest.contains("done"), "{rest}");
}

#[tokio::test]
async fn messages_after_the_end_are_dropped() {
    let bot = StandIn::that(async |post: Post| {
        post.send(json!({"type": "endOfConversation", "text": "bye"})).await;
        post.say("one thing more").await;
        StatusCode::OK.into_response()
    })
    .await;
    let world = World::of(&bot, quick()).await;
    let task = world.say("hi").await;
    assert_eq!(state(&task), "TASK_STATE_COMPLETED");
    first(&bot).await.say("and another").await;
    assert_eq!(all_said(&world.task(&task["id"]).await), ["bye"]);
}

#[tokio::test]
async fn a_bot_is_notified_of_a_cancel_and_its_answers_are_dropped() {
    let bot = StandIn::that(async |post: Post| match post.activity["type"].as_str() {
        Some("message") => std::future::pending().await,
        _ => {
            post.say("I will clean up").await;
            StatusCode::OK.into_response()
        }
    })
    .await;
    let world = World::of(&bot, quick()).await;
    let task = world.begin("hi").await;
    let post = first(&bot).await;
    world.client.call("bot", "CancelTask", &json!({"id": task["id"]})).await.unwrap();
    let told = eventually("the bot is told", async || bot.posts().into_iter().nth(1)).await;
    assert_eq!(told.activity["type"], "endOfConversation");
    assert_eq!(told.activity["code"], "userCancelled");
    assert_eq!(told.activity["conversation"], post.activity["conversation"]);
    post.say("too late").await;
    let task = world.task(&task["id"]).await;
    assert_eq!(state(&task), "TASK_STATE_CANCELED");
    assert!(all_said(&task).is_empty());
}

#[tokio::test]
async fn a_bot_is_not_told_of_the_end_of_what_it_never_saw() {
    let bot = StandIn::that(async |post: Post| match post.activity["type"].as_str() {
        Some("message") => std::future::pending().await,
        _ => StatusCode::OK.into_response(),
    })
    .await;
    let settings = RemoteSettings { conversation: ConversationScope::Context, ..quick() };
    let world = World::of(&bot, settings).await;
    let mut begun = Vec::new();
    for text in ["one", "two"] {
        let mut message = message(text);
        message["contextId"] = "context-7".into();
        let answer = world.ask("bot", message, true).await;
        begun.push(answer["result"]["task"]["id"].clone());
    }
    first(&bot).await;
    // The second one waits for the first one; canceled in this order, it never begins.
    for id in begun.iter().rev() {
        let params = json!({ "id": id });
        let answer = world.client.call("bot", "CancelTask", &params).await;
        assert_eq!(state(&answer.unwrap()["result"]), "TASK_STATE_CANCELED");
    }
    let told = eventually("the bot is told", async || bot.posts().into_iter().nth(1)).await;
    assert_eq!(told.activity["code"], "userCancelled");
    assert!(told.id().starts_with(begun[0].as_str().unwrap()));
    assert_eq!(bot.posts().len(), 2);
}

#[tokio::test]
async fn a_bot_begins_a_conversation_with_a_user_it_knows() {
    let bot = StandIn::echo().await;
    let world = World::of(&bot, quick()).await;
    let task = world.say("hi").await;
    let post = first(&bot).await;
    let url = post.route("/conversations");
    let body = json!({"members": [post.activity["from"]], "bot": post.activity["recipient"],
        "isGroup": false, "activity": {"type": "message", "text": "something happened"}});
    let (status, begun) = post.call("POST", &url, &body).await;
    assert_eq!(status, 201, "{begun}");
    let new = world.task(&begun["id"]).await;
    assert_eq!(new["contextId"], task["contextId"]);
    assert_eq!(said(&new), "something happened");
    let (_, listed) = post.call("GET", &url, &Value::Null).await;
    let listed = listed["conversations"].as_array().unwrap().iter();
    // Statuses of one millisecond are listed by task id, so the order is not tested.
    let ids: BTreeSet<_> = listed.map(|one| one["id"].as_str().unwrap()).collect();
    let expected = [&begun["id"], &task["id"]].map(|id| id.as_str().unwrap());
    assert_eq!(ids, BTreeSet::from(expected));
    // The service URL that the bot knows serves the new conversation too.
    assert_eq!(begun["serviceUrl"], post.activity["serviceUrl"]);
    let task = world.send("bot", further(&new, "what?")).await;
    assert_eq!(said(&task), "Echo: what?");
    for (body, expected) in [
        (json!({}), 400),
        (json!({"members": []}), 400),
        (json!({"members": [{}]}), 400),
        (json!({"members": [{"id": "somebody else"}]}), 404),
        (json!({"members": [post.activity["from"]], "activity": {"text": "x"}}), 400),
    ] {
        let (status, answer) = post.call("POST", &url, &body).await;
        assert_eq!(status, expected, "{answer}");
    }
}

#[tokio::test]
async fn a_message_at_the_moment_of_the_end_is_not_lost() {
    let bot = StandIn::that(async |post: Post| {
        tokio::spawn(async move {
            for number in 0..40 {
                post.say(&format!("{number}")).await;
            }
        });
        StatusCode::ACCEPTED.into_response()
    })
    .await;
    let settings = RemoteSettings {
        // The turn ends again and again between two things that are said.
        ending: TurnEndRules { quiet: std::time::Duration::ZERO, ..TurnEndRules::default() },
        ..quick()
    };
    let world = World::of(&bot, settings).await;
    let task = world.begin("hi").await;
    let task = world
        .until(&task["id"], |task| {
            let all = all_said(task);
            all.len() == 40 && state(task) == "TASK_STATE_INPUT_REQUIRED"
        })
        .await;
    let expected: Vec<String> = (0..40).map(|number| number.to_string()).collect();
    assert_eq!(all_said(&task), expected);
    assert_eq!(said(&task), "39");
}
