//! Messages that are changed or taken back: whoever follows the task sees it.

use axum::response::IntoResponse as _;
use reqwest::{Response, StatusCode};
use serde_json::{Value, json};

use super::{StandIn, World, eventually, quick, standin::Post, state};

/// Opens a stream of a task in this version.
async fn follow(world: &World, version: &str, method: &str, params: Value) -> Response {
    let request = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params});
    let url = format!("http://{}/a2a/bot", world.address);
    let http = reqwest::Client::new();
    let request = http.post(url).header("a2a-version", version).json(&request);
    request.send().await.unwrap()
}

/// What a stream says until it ends.
async fn items(stream: Response) -> Vec<Value> {
    let text = stream.text().await.unwrap();
    let data = text.lines().filter_map(|line| line.strip_prefix("data:"));
    data.map(|data| serde_json::from_str::<Value>(data).unwrap()["result"].take())
        .collect()
}

async fn change(post: &Post, id: &str) {
    let url = post.below(&format!("/activities/{id}"));
    let update = post.reply(json!({"text": "Echo: ho", "id": id}));
    assert_eq!(post.call("PUT", &url, &update).await.0, 200);
    assert_eq!(post.call("DELETE", &url, &Value::Null).await.0, 200);
}

/// The type, the id and the text of the change that an update tells of.
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
    // The status is the one that the task has: whoever applies the update has the same task.
    let status = &new[1]["statusUpdate"]["status"];
    assert_eq!(status, &new[0]["task"]["status"]);
    assert_eq!(status, &task["status"]);
    assert_eq!(old[1]["status"]["state"], "input-required");
    assert_eq!(
        state(&world.task(&task["id"]).await),
        "TASK_STATE_COMPLETED"
    );
}

#[tokio::test]
async fn who_was_not_told_of_a_message_is_not_told_of_its_change_nor_of_a_typing() {
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
    assert_eq!(
        state(&items[1]["statusUpdate"]),
        "TASK_STATE_INPUT_REQUIRED"
    );
}
