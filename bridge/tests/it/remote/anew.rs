//! Tests bots whose conversations are contexts: their messages after the end of a task.

use std::collections::BTreeSet;

use axum::response::IntoResponse as _;
use bridge::{agent::ConversationScope, bot::remote::RemoteSettings};
use bridge_translate::SilentEnd;
use futures_util::future::join_all;
use reqwest::StatusCode;
use serde_json::{Value, json};

use super::{StandIn, World, all_said, eventually, quick, said, standin::Post, state};

fn in_contexts() -> RemoteSettings {
    RemoteSettings { conversation: ConversationScope::Context, ..quick() }
}

/// Returns a bot that ends the conversation, sends another message in the same turn, and records cancelations.
async fn ending() -> StandIn {
    StandIn::that(async |post: Post| {
        if post.activity["type"] == "message" {
            post.send(json!({"type": "endOfConversation", "text": "bye"})).await;
        }
        post.say("and this").await;
        StatusCode::OK.into_response()
    })
    .await
}

async fn first(bot: &StandIn) -> Post {
    eventually("the bot is called", async || bot.posts().into_iter().next()).await
}

/// Returns all tasks, newest first.
async fn tasks(world: &World) -> Vec<Value> {
    let answer = world.client.call("bot", "ListTasks", &json!({})).await;
    let answer = answer.unwrap();
    let mut tasks = Vec::new();
    for listed in answer["result"]["tasks"].as_array().unwrap() {
        tasks.push(world.task(&listed["id"]).await);
    }
    tasks
}

/// Sends messages until they begin a task; they do not as long as the turn that ended the last task is open.
async fn begins(world: &World, post: &Post) {
    let begun = async || {
        post.say("news").await;
        (tasks(world).await.len() == 2).then_some(())
    };
    eventually("news begin a task", begun).await;
}

#[tokio::test]
async fn news_after_the_end_of_a_task_begin_one_in_its_context() {
    let bot = ending().await;
    let world = World::of(&bot, in_contexts()).await;
    let task = world.say("hi").await;
    assert_eq!(state(&task), "TASK_STATE_COMPLETED");
    let post = first(&bot).await;
    begins(&world, &post).await;
    let here = post.below("/activities");
    let end = post.reply(json!({"type": "endOfConversation", "replyToId": null}));
    assert_eq!(post.call("POST", &here, &end).await.0, 200);
    // They are sent with and without the activity that they answer, and several at the same moment.
    let news = post.reply(json!({"text": "more news", "replyToId": null}));
    tokio::join!(post.say("more news"), post.call("POST", &here, &news));
    post.say("the last news").await;
    let tasks = tasks(&world).await;
    assert_eq!(tasks.len(), 3, "{tasks:?}");
    assert!(tasks.iter().all(|one| one["contextId"] == task["contextId"]));
    let expected = ["more news", "more news", "the last news"];
    assert_eq!(all_said(&tasks[0]), expected);
    assert_eq!(state(&tasks[0]), "TASK_STATE_INPUT_REQUIRED");
    assert_eq!(state(&tasks[1]), "TASK_STATE_COMPLETED");
    // Messages of the turn that ended the conversation are still dropped.
    assert_eq!(all_said(&tasks[2]), ["bye"]);
}

#[tokio::test]
async fn only_messages_begin_a_task_and_it_ends_as_turns_do() {
    let bot = ending().await;
    let settings = RemoteSettings { silent_end: SilentEnd::Completed, ..in_contexts() };
    let world = World::of(&bot, settings).await;
    world.say("hi").await;
    let post = first(&bot).await;
    begins(&world, &post).await;
    for kind in ["typing", "trace", "event", "endOfConversation"] {
        post.send(json!({"type": kind, "name": kind})).await;
    }
    let tasks = tasks(&world).await;
    assert_eq!(tasks.len(), 2, "{tasks:?}");
    assert_eq!((state(&tasks[0]), said(&tasks[0])), ("TASK_STATE_COMPLETED", "news"));
}

#[tokio::test]
async fn no_news_are_lost_that_come_at_the_same_moment_and_each_end_their_task() {
    let bot = StandIn::echo().await;
    let settings = RemoteSettings { silent_end: SilentEnd::Completed, ..in_contexts() };
    let world = World::of(&bot, settings).await;
    world.say("hi").await;
    let post = first(&bot).await;
    let here = post.below("/activities");
    let texts: BTreeSet<String> = (0..40).map(|number| format!("news {number}")).collect();
    let posting = texts.iter().enumerate().map(async |(number, text)| match number % 2 {
        0 => drop(post.say(text).await),
        _ => {
            let news = post.reply(json!({"text": text, "replyToId": null}));
            assert_eq!(post.call("POST", &here, &news).await.0, 200);
        }
    });
    join_all(posting).await;
    let shown: BTreeSet<String> = tasks(&world).await.iter().flat_map(all_said).collect();
    let lost: Vec<_> = texts.difference(&shown).collect();
    assert!(lost.is_empty(), "{lost:?}");
}

#[tokio::test]
async fn no_change_is_lost_that_comes_at_the_same_moment_as_news() {
    let bot = StandIn::echo().await;
    let settings = RemoteSettings { silent_end: SilentEnd::Completed, ..in_contexts() };
    let world = World::of(&bot, settings).await;
    world.say("hi").await;
    let post = first(&bot).await;
    let id = post.say("early").await;
    let changed = post.below(&format!("/activities/{id}"));
    let begin = json!({"members": [post.activity["from"]]});
    let texts: BTreeSet<String> = (0..45).map(|number| format!("news {number}")).collect();
    let posting = texts.iter().enumerate().map(async |(number, text)| match number % 3 {
        0 => drop(post.say(text).await),
        1 => {
            let change = post.reply(json!({"id": id, "text": text}));
            assert_eq!(post.call("PUT", &changed, &change).await.0, 200);
        }
        _ => {
            let mut begin = begin.clone();
            begin["activity"] = json!({"type": "message", "text": text});
            assert_eq!(post.call("POST", &post.route("/conversations"), &begin).await.0, 201);
        }
    });
    join_all(posting).await;
    let shown: BTreeSet<String> = tasks(&world).await.iter().flat_map(all_said).collect();
    let lost: Vec<_> = texts.difference(&shown).collect();
    assert!(lost.is_empty(), "{lost:?}");
}

#[tokio::test]
async fn messages_about_a_cancel_are_dropped() {
    let bot = StandIn::that(async |post: Post| match post.activity["type"].as_str() {
        Some("message") => StatusCode::ACCEPTED.into_response(),
        _ => {
            post.say("I will clean up").await;
            StatusCode::OK.into_response()
        }
    })
    .await;
    let world = World::of(&bot, in_contexts()).await;
    let task = world.begin("hi").await;
    let post = first(&bot).await;
    let params = json!({"id": task["id"]});
    world.client.call("bot", "CancelTask", &params).await.unwrap();
    eventually("the bot is told", async || bot.posts().into_iter().nth(1)).await;
    post.say("too late").await;
    let tasks = tasks(&world).await;
    assert_eq!(tasks.len(), 1, "{tasks:?}");
    assert_eq!(state(&tasks[0]), "TASK_STATE_CANCELED");
}
