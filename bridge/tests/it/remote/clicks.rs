//! Clicks on cards, which bots change and delete by `replyToId`, as they do in Teams.

use std::sync::{Arc, Mutex};

use axum::{Json, response::IntoResponse as _};
use bridge::{agent::ConversationScope, bot::remote::RemoteSettings};
use bridge_translate::SilentEnd;
use reqwest::StatusCode;
use serde_json::{Value, json};

use super::{
    StandIn, World, all_said, answered, message, quick, remote, restart::arrived, standin::Post,
    state,
};

/// Starts a bot with a card whose buttons change and delete it.
async fn with_a_card() -> StandIn {
    StandIn::that(async |post: Post| {
        let clicked = post.activity["replyToId"].as_str();
        let url = |id: &str| post.below(&format!("/activities/{id}"));
        match (post.text(), clicked) {
            ("change", Some(id)) => {
                let count = post.activity["value"]["count"].as_u64().unwrap() + 1;
                let (status, body) = post.call("PUT", &url(id), &post.reply(card(count))).await;
                assert_eq!((status, body), (200, json!({ "id": id })));
            }
            ("delete", Some(id)) => {
                assert_eq!(post.call("DELETE", &url(id), &Value::Null).await.0, 200);
            }
            ("card", None) => drop(post.send(card(0)).await),
            _ => drop(post.say("no card").await),
        }
        StatusCode::OK.into_response()
    })
    .await
}

fn card(count: u64) -> Value {
    let button = |text: &str, value: Value| json!({"type": "messageBack", "title": text, "text": text, "value": value});
    let buttons = [button("change", json!({ "count": count })), button("delete", Value::Null)];
    let content = json!({"title": format!("Changed {count} times"), "buttons": buttons});
    json!({"attachments": [{"contentType": "application/vnd.microsoft.card.hero", "content": content}]})
}

/// Returns a click on the button that changes the card.
fn change(count: u64) -> Value {
    let mut click = message("change");
    click["messageId"] = format!("change-{count}").into();
    let parts = click["parts"].as_array_mut().unwrap();
    parts.push(json!({"data": {"count": count}}));
    click
}

fn within(task: &Value, mut message: Value) -> Value {
    message["contextId"] = task["contextId"].clone();
    message
}

fn in_context() -> RemoteSettings {
    let (conversation, silent_end) = (ConversationScope::Context, SilentEnd::Completed);
    RemoteSettings { conversation, silent_end, ..quick() }
}

/// Returns the title of the only card among a task's artifacts.
fn title(task: &Value) -> &Value {
    let artifacts = task["artifacts"].as_array().unwrap();
    let parts = artifacts.iter().flat_map(|one| one["parts"].as_array().unwrap());
    let mut titles = parts.map(|part| &part["data"]["title"]).filter(|title| !title.is_null());
    let title = titles.next().unwrap();
    assert_eq!(titles.next(), None, "{task}");
    title
}

#[tokio::test]
async fn a_click_names_the_message_with_the_card_and_its_change_is_the_answer() {
    let bot = with_a_card().await;
    let hosted = || vec![remote("bot", &bot, in_context())];
    let world = World::with(hosted()).await;
    let task = world.say("card").await;
    let id = answered(&task["artifacts"][0]).unwrap();
    // The card is found in the log, so a restart forgets nothing.
    let world = world.restart(hosted()).await;
    for count in 0..2 {
        let changed = world.send("bot", within(&task, change(count))).await;
        assert_eq!(state(&changed), "TASK_STATE_COMPLETED");
        assert_eq!(bot.posts().last().unwrap().activity["replyToId"], id);
        assert_eq!(title(&changed), &json!(format!("Changed {} times", count + 1)));
        assert_eq!(
            changed["artifacts"][0]["metadata"]["urn:activity:follows"],
            json!({"taskId": task["id"], "messageId": id})
        );
    }
    let deleted = world.send("bot", within(&task, message("delete"))).await;
    assert_eq!(state(&deleted), "TASK_STATE_COMPLETED");
    let event = &deleted["metadata"]["urn:activity:event"];
    assert_eq!((&event["type"], &event["id"]), (&json!("messageDelete"), &json!(id)));
    assert_eq!(world.task(&task["id"]).await, task);
    let all = world.client.call("bot", "ListTasks", &json!({})).await.unwrap();
    assert_eq!(all["result"]["totalSize"], 4, "no change started a task of its own");
}

/// A job that the first message has started changes its placeholder while the second message is being answered.
#[tokio::test]
async fn a_late_change_is_not_added_to_the_answer_of_another_message() {
    let job = Arc::new(Mutex::new(None));
    let bot = StandIn::that(move |post: Post| {
        let job = job.clone();
        async move {
            let started = job.lock().unwrap().take();
            let id = post.say("Working on it").await;
            match started {
                None => *job.lock().unwrap() = Some((post, id)),
                Some((first, id)) => {
                    let url = first.below(&format!("/activities/{id}"));
                    let update = first.reply(json!({"text": "The answer"}));
                    assert_eq!(first.call("PUT", &url, &update).await.0, 200);
                }
            }
            StatusCode::OK.into_response()
        }
    })
    .await;
    let world = World::of(&bot, in_context()).await;
    let first = world.say("one").await;
    let second = world.send("bot", within(&first, message("two"))).await;
    assert_eq!(all_said(&second), ["Working on it"]);
    let all = world.client.call("bot", "ListTasks", &json!({})).await.unwrap();
    let tasks = all["result"]["tasks"].as_array().unwrap();
    let follows = |task: &&Value| task["metadata"]["urn:activity:follows"]["taskId"] == first["id"];
    let follow_up = world.task(&tasks.iter().find(follows).unwrap()["id"]).await;
    assert_eq!(all_said(&follow_up), ["The answer"]);
}

/// The call of a job need not name a turn. After the bot has answered the request, it may be the call of any job.
#[tokio::test]
async fn a_late_change_that_names_no_turn_is_not_added_to_another_answer() {
    let bot = StandIn::that(async |post: Post| {
        if post.text() == "two" {
            return StatusCode::ACCEPTED.into_response();
        }
        post.say("Working on it").await;
        StatusCode::OK.into_response()
    })
    .await;
    let world = World::of(&bot, in_context()).await;
    let first = world.say("one").await;
    let second = &world.ask("bot", within(&first, message("two")), true).await["result"]["task"];
    arrived(&world, second).await;
    let post = bot.posts().remove(1);
    let url = post.below(&format!("/activities/{}", answered(&first["artifacts"][0]).unwrap()));
    let update = json!({"type": "message", "text": "The answer"});
    assert_eq!(post.call("DELETE", &url, &Value::Null).await.0, 200);
    assert_eq!(post.call("PUT", &url, &update).await.0, 200);
    post.say("Two").await;
    let second = world.until(&second["id"], |task| state(task) == "TASK_STATE_COMPLETED").await;
    assert_eq!(all_said(&second), ["Two"]);
    assert_eq!(second["metadata"]["urn:activity:event"]["type"], "messageDelete");
    let all = world.client.call("bot", "ListTasks", &json!({})).await.unwrap();
    let tasks = all["result"]["tasks"].as_array().unwrap();
    let follows = |task: &&Value| task["metadata"]["urn:activity:follows"]["taskId"] == first["id"];
    let follow_up = world.task(&tasks.iter().find(follows).unwrap()["id"]).await;
    assert_eq!(all_said(&follow_up), ["The answer"]);
}

/// A late answer to an earlier message begins a task that is newer than the one whose turn runs.
#[tokio::test]
async fn a_call_that_names_no_turn_is_of_the_running_one_although_a_newer_task_follows_another() {
    let earlier = Arc::new(Mutex::new(None));
    let bot = StandIn::that(move |post: Post| {
        let earlier = earlier.clone();
        async move {
            let before: Option<(Post, String)> = earlier.lock().unwrap().take();
            let Some((first, id)) = before else {
                let id = post.say("Choose").await;
                *earlier.lock().unwrap() = Some((post, id));
                return StatusCode::OK.into_response();
            };
            first.say("late").await;
            let said = json!({"type": "message", "text": "Two"});
            assert_eq!(post.call("POST", &post.below("/activities"), &said).await.0, 200);
            let update = json!({"type": "message", "text": "Chosen"});
            let url = post.below(&format!("/activities/{id}"));
            assert_eq!(post.call("PUT", &url, &update).await.0, 200);
            StatusCode::OK.into_response()
        }
    })
    .await;
    let world = World::of(&bot, in_context()).await;
    let first = world.say("one").await;
    let second = world.send("bot", within(&first, message("two"))).await;
    assert_eq!(all_said(&second), ["Two", "Chosen"]);
    let all = world.client.call("bot", "ListTasks", &json!({})).await.unwrap();
    assert_eq!(all["result"]["totalSize"], 3);
}

#[tokio::test]
async fn a_click_in_an_open_task_changes_the_card_in_its_place() {
    let bot = with_a_card().await;
    let world = World::of(&bot, quick()).await;
    let task = world.say("card").await;
    let mut click = change(0);
    click["taskId"] = task["id"].clone();
    let changed = world.send("bot", click).await;
    let id = &task["status"]["message"]["messageId"];
    assert_eq!(&bot.posts()[1].activity["replyToId"], id);
    let history = changed["history"].as_array().unwrap();
    let card = history.iter().find(|message| message["messageId"] == *id).unwrap();
    assert!(card.to_string().contains("Changed 1 times"), "{changed}");
}

#[tokio::test]
async fn what_clicks_no_card_of_the_conversation_names_no_message() {
    let bot = with_a_card().await;
    let world = World::of(&bot, in_context()).await;
    let task = world.say("card").await;
    let other = world.send("bot", change(0)).await;
    assert_ne!(other["contextId"], task["contextId"]);
    for typed in [message("Change"), change(7)] {
        world.send("bot", within(&task, typed)).await;
    }
    for post in &bot.posts()[1..] {
        assert_eq!(post.activity["replyToId"], Value::Null);
    }
}

/// A bot of the Agents SDK may replace a card for all its readers: it changes the message, and returns the same card.
#[tokio::test]
async fn a_card_that_replaces_the_clicked_one_is_shown_once_and_is_its_new_version() {
    for shares in [false, true] {
        let bot = StandIn::that(move |post: Post| async move {
            if post.activity["type"] != "invoke" {
                post.send(json!({"attachments": [attached(&votes(0))]})).await;
                return StatusCode::OK.into_response();
            }
            let count = post.activity["value"]["action"]["data"]["count"].as_u64().unwrap() + 1;
            if let Some(id) = post.activity["replyToId"].as_str().filter(|_| shares) {
                let url = post.below(&format!("/activities/{id}"));
                let update = post.reply(json!({"attachments": [attached(&votes(count))]}));
                assert_eq!(post.call("PUT", &url, &update).await.0, 200);
            }
            Json(json!({"statusCode": 200, "type": ADAPTIVE, "value": votes(count)}))
                .into_response()
        })
        .await;
        let world = World::of(&bot, in_context()).await;
        let task = world.say("card").await;
        let id = answered(&task["artifacts"][0]).unwrap();
        for count in 0..2 {
            let voted = world.send("bot", within(&task, vote(count))).await;
            assert_eq!(bot.posts().last().unwrap().activity["replyToId"], id);
            let artifacts = voted["artifacts"].as_array().unwrap();
            assert_eq!(artifacts.len(), 1, "{voted}");
            assert_eq!(artifacts[0]["metadata"]["urn:activity:follows"]["messageId"], id);
            let shown = artifacts[0].to_string();
            assert!(shown.contains(&format!("Votes: {}", count + 1)), "{voted}");
        }
    }
}

/// The response comes by a call, because the connection of the request ends with the bridge.
#[tokio::test]
async fn a_card_that_replaces_the_clicked_one_after_a_restart_is_its_new_version() {
    let bot = StandIn::that(async |post: Post| {
        if post.activity["type"] == "invoke" {
            // A bot that is typing has the click.
            post.send(json!({"type": "typing"})).await;
            std::future::pending::<()>().await;
        }
        post.send(json!({"attachments": [attached(&votes(0))]})).await;
        StatusCode::OK.into_response()
    })
    .await;
    let hosted = || vec![remote("bot", &bot, in_context())];
    let world = World::with(hosted()).await;
    let task = world.say("card").await;
    let id = answered(&task["artifacts"][0]).unwrap();
    let click = &world.ask("bot", within(&task, vote(0)), true).await["result"]["task"];
    arrived(&world, click).await;
    let post = bot.posts().remove(1);
    let world = world.restart(hosted()).await;
    let body = json!({"statusCode": 200, "type": ADAPTIVE, "value": votes(1)});
    let response = json!({"type": "invokeResponse", "value": {"status": 200, "body": body}});
    post.send(response).await;
    post.send(json!({"type": "endOfConversation"})).await;
    let voted = world.until(&click["id"], |task| state(task) == "TASK_STATE_COMPLETED").await;
    assert_eq!(voted["artifacts"][0]["metadata"]["urn:activity:follows"]["messageId"], id);
}

const ADAPTIVE: &str = "application/vnd.microsoft.card.adaptive";

fn votes(count: u64) -> Value {
    let action = json!({"type": "Action.Execute", "title": "Vote", "verb": "vote", "data": {"count": count}});
    let body = json!([{"type": "TextBlock", "text": format!("Votes: {count}")}]);
    json!({"type": "AdaptiveCard", "version": "1.5", "body": body, "actions": [action]})
}

fn attached(card: &Value) -> Value {
    json!({"contentType": ADAPTIVE, "content": card})
}

fn vote(count: u64) -> Value {
    let action = json!({"type": "Action.Execute", "verb": "vote", "data": {"count": count}});
    let mut click = message("vote");
    click["messageId"] = format!("vote-{count}").into();
    click["parts"] = json!([{"data": {"action": action, "trigger": "manual"},
        "metadata": {"urn:activity:invoke": {"name": "adaptiveCard/action"}}}]);
    click
}
