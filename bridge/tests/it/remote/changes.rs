//! Tests messages that are changed or deleted: the task has the same content as the conversation, and followers receive
//! the change.

use axum::response::IntoResponse as _;
use bridge::bot::remote::RemoteSettings;
use bridge_translate::SilentEnd;
use reqwest::{Response, StatusCode};
use serde_json::{Value, json};

use super::{StandIn, World, all_said, answered, eventually, quick, said, standin::Post, state};

/// Opens a stream of a task in this version.
async fn follow(world: &World, version: &str, method: &str, params: Value) -> Response {
    let request = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params});
    let url = format!("http://{}/a2a/bot", world.address);
    let http = reqwest::Client::new();
    let request = http.post(url).header("a2a-version", version).json(&request);
    request.send().await.unwrap()
}

/// Returns the items of a stream until it ends.
async fn items(stream: Response) -> Vec<Value> {
    let text = stream.text().await.unwrap();
    let data = text.lines().filter_map(|line| line.strip_prefix("data:"));
    data.map(|data| serde_json::from_str::<Value>(data).unwrap()["result"].take()).collect()
}

async fn change(post: &Post, id: &str) {
    let url = post.below(&format!("/activities/{id}"));
    let update = post.reply(json!({"text": "Echo: ho", "id": id}));
    assert_eq!(post.call("PUT", &url, &update).await.0, 200);
    assert_eq!(post.call("DELETE", &url, &Value::Null).await.0, 200);
}

/// Returns the type, the id and the text of the change in an update.
fn told(update: &Value) -> [&str; 3] {
    let change = &update["metadata"]["urn:activity:event"];
    ["type", "id", "text"].map(|name| change[name].as_str().unwrap_or_default())
}

#[tokio::test]
async fn changes_reach_open_streams_of_every_version() {
    let bot = StandIn::echo().await;
    let world = World::of(&bot, quick()).await;
    let task = world.say("hi").await;
    let id = task["status"]["message"]["messageId"].as_str().unwrap();
    let post = eventually("the bot is called", async || bot.posts().into_iter().next()).await;
    let of_task = || json!({"id": task["id"]});
    let new = follow(&world, "1.0", "SubscribeToTask", of_task()).await;
    let old = follow(&world, "0.3", "tasks/resubscribe", of_task()).await;
    change(&post, id).await;
    post.send(json!({"type": "endOfConversation"})).await;

    let (new, old) = (items(new).await, items(old).await);
    assert_eq!((new.len(), old.len()), (4, 4), "{new:?}");
    let updates = new[1..].iter().map(|item| &item["statusUpdate"]);
    for updates in [updates.collect::<Vec<_>>(), old[1..].iter().collect()] {
        assert_eq!(told(updates[0]), ["messageUpdate", id, "Echo: ho"]);
        assert_eq!(told(updates[1]), ["messageDelete", id, ""]);
        assert_eq!(told(updates[2])[0], "endOfConversation");
    }
    // The status is the task's status at that time, so that a client that applies the update has the same task.
    let mut expected = task["status"].clone();
    expected["message"]["parts"] = json!([{"text": "Echo: ho"}]);
    let shown = |index: usize| &new[index]["statusUpdate"]["status"];
    for field in ["state", "timestamp"] {
        assert_eq!(shown(1)[field], expected[field]);
    }
    let message = &shown(1)["message"];
    assert_eq!(message["messageId"], id);
    assert_eq!(message["parts"], expected["message"]["parts"]);
    expected.as_object_mut().unwrap().remove("message");
    assert_eq!(shown(2), &expected);
    assert_eq!(old[1]["status"]["state"], "input-required");
    assert_eq!(state(&world.task(&task["id"]).await), "TASK_STATE_COMPLETED");
}

/// In 0.3 `final` says that the stream ends there, and clients stop reading.
#[tokio::test]
async fn updates_of_a_waiting_task_are_not_final() {
    let bot = StandIn::echo().await;
    let world = World::of(&bot, quick()).await;
    let task = world.say("hi").await;
    assert_eq!(state(&task), "TASK_STATE_INPUT_REQUIRED");
    let id = task["status"]["message"]["messageId"].as_str().unwrap();
    let post = eventually("the bot is called", async || bot.posts().into_iter().next()).await;
    let stream = follow(&world, "0.3", "tasks/resubscribe", json!({"id": task["id"]})).await;
    post.send(json!({"type": "event", "name": "tick"})).await;
    change(&post, id).await;
    post.send(json!({"type": "endOfConversation"})).await;
    let items = items(stream).await;
    let finals: Vec<_> = items[1..].iter().map(|item| &item["final"]).collect();
    assert_eq!(finals, [false, false, false, true], "{items:#?}");
    // Clients would show the question again.
    assert_eq!(items[1]["status"].get("message"), None);
}

#[tokio::test]
async fn unseen_messages_cause_no_change_or_typing_updates() {
    let bot = StandIn::that(async |post: Post| {
        post.send(json!({"type": "typing"})).await;
        let id = post.say("Echo: hi").await;
        change(&post, &id).await;
        post.say("Again").await;
        StatusCode::OK.into_response()
    })
    .await;
    let world = World::of(&bot, quick()).await;
    let params = json!({"message": super::message("hi")});
    let items = items(follow(&world, "1.0", "SendStreamingMessage", params).await).await;
    let shown = |item: &Value| {
        let update = &item["statusUpdate"];
        let said = &update["status"]["message"]["parts"][0]["text"];
        let said = said.as_str().unwrap_or_default();
        format!("{said}: {}", told(update)[0])
    };
    let shown: Vec<String> = items[1..].iter().map(shown).collect();
    assert_eq!(shown, ["Again: "], "{items:?}");
    assert_eq!(state(&items[1]["statusUpdate"]), "TASK_STATE_INPUT_REQUIRED");
}

/// Settings of a bot whose turns leave its tasks so.
fn leaving(silent_end: SilentEnd) -> RemoteSettings {
    RemoteSettings { silent_end, ..quick() }
}

/// Starts a bot that reports its work, replaces that by its findings, and then, with `slips`, sends a message that it
/// deletes.
async fn at_work(slips: bool) -> StandIn {
    StandIn::that(move |post: Post| async move {
        let id = post.say("Working on it").await;
        if slips {
            let slip = post.say("a slip").await;
            let url = post.below(&format!("/activities/{slip}"));
            assert_eq!(post.call("DELETE", &url, &Value::Null).await.0, 200);
        }
        if post.text() == "now" {
            overhaul(&post, &id, "The answer").await;
        }
        StatusCode::OK.into_response()
    })
    .await
}

async fn overhaul(post: &Post, id: &str, text: &str) {
    let url = post.below(&format!("/activities/{id}"));
    let update = post.reply(json!({ "text": text }));
    let (status, body) = post.call("PUT", &url, &update).await;
    assert_eq!((status, body), (200, json!({ "id": id })));
}

/// Returns the id of the only message of the agent.
fn said_id(task: &Value) -> &str {
    let history = task["history"].as_array().into_iter().flatten();
    let mut all = history.chain([&task["status"]["message"]]);
    let own = all.find(|message| message["role"] == "ROLE_AGENT");
    let id = own.and_then(|message| message["messageId"].as_str());
    id.or_else(|| answered(&task["artifacts"][0])).unwrap()
}

#[tokio::test]
async fn a_placeholder_that_is_changed_in_the_turn_is_the_answer() {
    for slips in [false, true] {
        for end in [SilentEnd::InputRequired, SilentEnd::Completed] {
            let bot = at_work(slips).await;
            let world = World::of(&bot, leaving(end)).await;
            let task = world.say("now").await;
            for task in [&task, &world.task(&task["id"]).await] {
                assert_eq!(all_said(task), ["The answer"], "{task}");
                let text = task.to_string();
                assert!(!text.contains("Working") && !text.contains("slip"), "{text}");
            }
        }
    }
}

#[tokio::test]
async fn a_placeholder_that_is_changed_later_is_changed_in_its_place() {
    let bot = at_work(false).await;
    let world = World::of(&bot, leaving(SilentEnd::InputRequired)).await;
    let task = world.say("later").await;
    assert_eq!(said(&task), "Working on it");
    let post = bot.posts().remove(0);
    overhaul(&post, said_id(&task), "The answer").await;
    let changed = world.task(&task["id"]).await;
    assert_eq!(all_said(&changed), ["The answer"]);
    assert_eq!(state(&changed), "TASK_STATE_INPUT_REQUIRED");
    assert_eq!(said_id(&changed), said_id(&task));
    // The user's next message follows the content of the conversation.
    let further = world.send("bot", super::further(&task, "again")).await;
    assert_eq!(all_said(&further), ["The answer", "Working on it"]);
}

#[tokio::test]
async fn a_change_after_the_end_begins_a_task_that_refers_to_it() {
    let bot = at_work(false).await;
    let world = World::of(&bot, leaving(SilentEnd::Completed)).await;
    let task = world.say("later").await;
    assert_eq!(state(&task), "TASK_STATE_COMPLETED");
    let post = bot.posts().remove(0);
    let id = said_id(&task).to_owned();
    overhaul(&post, &id, "The answer").await;
    let url = post.below(&format!("/activities/{id}"));
    assert_eq!(post.call("DELETE", &url, &Value::Null).await.0, 200);
    let answer = world.client.call("bot", "ListTasks", &json!({})).await;
    let answer = answer.unwrap();
    let listed = answer["result"]["tasks"].as_array().unwrap();
    assert_eq!(listed.len(), 2, "{listed:?}");
    assert_eq!(world.task(&task["id"]).await, task);
    let follow_up = world.task(&listed[0]["id"]).await;
    assert_eq!(follow_up["contextId"], task["contextId"]);
    assert_eq!(state(&follow_up), "TASK_STATE_COMPLETED");
    assert_eq!(all_said(&follow_up), ["The answer"]);
    assert_eq!(
        follow_up["metadata"]["urn:activity:follows"],
        json!({"taskId": task["id"], "messageId": id})
    );
    assert_ne!(said_id(&follow_up), id);
}

#[tokio::test]
async fn nobody_changes_what_the_user_said() {
    let bot = StandIn::echo().await;
    let world = World::of(&bot, quick()).await;
    let task = world.say("hi").await;
    let post = bot.posts().remove(0);
    for method in ["PUT", "DELETE"] {
        let url = post.below("/activities/m-hi");
        let update = post.reply(json!({"text": "ho"}));
        assert_eq!(post.call(method, &url, &update).await.0, 404);
    }
    assert_eq!(world.task(&task["id"]).await, task);
}

#[tokio::test]
async fn a_streamed_answer_is_changed_and_taken_back_too() {
    let piece = |kind: &str, text: &str, info: Value| {
        let mut info = info;
        info["type"] = "streaminfo".into();
        json!({"type": kind, "text": text, "entities": [info]})
    };
    let bot = StandIn::that(move |post: Post| async move {
        let began =
            piece("typing", "thinking", json!({"streamType": "informative", "streamSequence": 1}));
        let id = post.send(began).await;
        let rest = json!({"streamType": "final", "streamId": id});
        post.send(piece("message", "The answer", rest)).await;
        StatusCode::OK.into_response()
    })
    .await;
    let world = World::of(&bot, quick()).await;
    let task = world.say("hi").await;
    let id = task["artifacts"][0]["artifactId"].as_str().unwrap();
    let post = bot.posts().remove(0);
    overhaul(&post, id, "A better one").await;
    let changed = world.task(&task["id"]).await;
    assert_eq!(changed["artifacts"][0]["parts"], json!([{"text": "A better one"}]));
    assert_eq!(changed["artifacts"].as_array().unwrap().len(), 1);
    let url = post.below(&format!("/activities/{id}"));
    assert_eq!(post.call("DELETE", &url, &Value::Null).await.0, 200);
    assert_eq!(world.task(&task["id"]).await.get("artifacts"), None);
}
