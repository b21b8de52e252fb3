//! Tests whole activities for remote bots, and later activities of the bot.

use bridge_translate::full_activity::EXTENSION;
use serde_json::{Value, json};

use super::{StandIn, World, message, quick};

/// Returns a message of a client that supports the activity extension, with this activity.
fn carrying(text: &str, activity: &Value) -> Value {
    let mut message = message(text);
    message["extensions"] = json!([EXTENSION]);
    message["metadata"] = json!({ EXTENSION: activity });
    message
}

#[tokio::test]
async fn a_bot_gets_the_activity_with_its_own_address() {
    let bot = StandIn::echo().await;
    let world = World::of(&bot, quick()).await;
    let file = json!({"contentType": "image/png", "contentUrl": "data:image/png;base64,AAE="});
    let activity = json!({
        "type": "message", "id": "theirs", "text": "Yes", "textFormat": "markdown",
        "attachments": [file], "conversation": {"id": "theirs"}, "from": {"id": "mallory"},
        "serviceUrl": "http://elsewhere.example/", "channelData": {"postBack": true},
    });
    let task = world.send("bot", carrying("Yes", &activity)).await;
    let post = bot.posts().remove(0);
    assert_eq!(post.text(), "Yes");
    assert_eq!(post.activity["textFormat"], "markdown");
    assert_eq!(post.activity["attachments"], json!([file]));
    assert_eq!(post.activity["channelData"]["postBack"], true);
    assert_eq!(post.activity["channelData"]["id"], task["id"]);
    assert_eq!(post.conversation(), task["id"]);
    let own = format!("{}.1", task["id"].as_str().unwrap());
    assert_eq!(post.id(), own);
    let user = format!("unknown-{}", task["contextId"].as_str().unwrap());
    assert_eq!(post.activity["from"]["id"], user);
    let url = post.activity["serviceUrl"].as_str().unwrap();
    assert!(url.starts_with(&format!("http://{}/", world.address)));

    let said = &task["status"]["message"]["metadata"][EXTENSION];
    assert_eq!(said["text"], "Echo: Yes");
    assert!(!task.to_string().contains(url), "the service URL is a secret");
}

#[tokio::test]
async fn late_activities_are_transferred_in_full() {
    let bot = StandIn::echo().await;
    let world = World::of(&bot, quick()).await;
    let mut asking = message("hi");
    asking["extensions"] = json!([EXTENSION]);
    let task = world.send("bot", asking).await;
    bot.posts()[0].say("news").await;
    let has_news = |task: &Value| {
        let message = &task["status"]["message"];
        message["parts"][0]["text"] == "news" && message["metadata"][EXTENSION]["text"] == "news"
    };
    world.until(&task["id"], has_news).await;
}
