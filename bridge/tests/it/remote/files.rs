//! Tests files from users and from bots.

use axum::response::IntoResponse as _;
use reqwest::StatusCode;
use serde_json::{Value, json};

use super::{StandIn, World, quick, remote, standin::Post};

async fn fetch(url: &str) -> (u16, String, Vec<u8>) {
    let answer = reqwest::get(url).await.unwrap();
    let status = answer.status().as_u16();
    let kind = answer.headers().get("content-type").map(|kind| kind.to_str().unwrap().to_owned());
    (status, kind.unwrap_or_default(), answer.bytes().await.unwrap().to_vec())
}

#[tokio::test]
async fn a_bot_fetches_what_the_user_sends_and_may_send_it_back() {
    let bot = StandIn::that(async |post: Post| {
        let attachments = post.activity["attachments"].clone();
        let url = attachments[0]["contentUrl"].as_str().unwrap();
        let (status, kind, bytes) = fetch(url).await;
        assert_eq!((status, kind.as_str(), bytes), (200, "image/png", vec![0, 1, 2]));
        post.send(json!({"text": "the same", "attachments": attachments})).await;
        StatusCode::OK.into_response()
    })
    .await;
    let world = World::of(&bot, quick()).await;
    let parts = json!([
        {"text": "look"},
        {"url": "data:text/plain,mine"},
        {"raw": "AAEC", "filename": "a.png", "mediaType": "image/png"},
        {"url": "https://example.com/b.png"},
    ]);
    let parts = json!([parts[0], parts[2], parts[1], parts[3]]);
    let task =
        world.send("bot", json!({"messageId": "m", "role": "ROLE_USER", "parts": parts})).await;
    let sent = &bot.posts()[0].activity;
    let urls = sent["attachments"].as_array().unwrap().iter();
    let urls: Vec<&str> = urls.map(|one| one["contentUrl"].as_str().unwrap()).collect();
    assert_eq!(urls[1..], ["data:text/plain,mine", "https://example.com/b.png"]);
    assert_eq!(sent["attachments"][0]["name"], "a.png");
    // The SDKs of bots want a type.
    assert_eq!(sent["attachments"][2]["contentType"], "application/octet-stream");
    let echoed = task["status"]["message"]["parts"].as_array().unwrap();
    // Clients reach the bridge at its public address, which bots on the same machine do not accept.
    let public = urls[0].replace("//localhost:", "//127.0.0.1:");
    assert_eq!(echoed[1]["url"].as_str(), Some(&*public));
    let (_, info) = bot.posts()[0]
        .call("GET", urls[0].strip_suffix("/views/original").unwrap(), &Value::Null)
        .await;
    let expected = json!({"name": "a.png", "type": "image/png",
        "views": [{"viewId": "original", "size": 3}]});
    assert_eq!(info, expected);
}

#[tokio::test]
async fn a_client_fetches_what_the_bot_uploads() {
    // Larger than one record, and no multiple of its size.
    let (bytes, encoded) = (vec![7_u8; 150_000], "BwcH".repeat(50_000));
    let bot = StandIn::that(move |post: Post| {
        let upload = json!({"name": "big", "type": "application/x-seven",
            "originalBase64": encoded, "thumbnailBase64": "AAEC"});
        async move {
            let (status, kept) = post.call("POST", &post.below("/attachments"), &upload).await;
            assert_eq!(status, 200, "{kept}");
            // The URL has the form that SDKs use: below the service URL, which clients must not see.
            let url = post
                .route(&format!("/attachments/{}/views/original", kept["id"].as_str().unwrap()));
            post.send(
                json!({"attachments": [{"contentType": "application/x-seven", "contentUrl": url}]}),
            )
            .await;
            StatusCode::OK.into_response()
        }
    })
    .await;
    let world = World::of(&bot, quick()).await;
    let task = world.say("hi").await;
    assert!(!task.to_string().contains("/bots/"), "{task}");
    let url = task["status"]["message"]["parts"][0]["url"].as_str().unwrap();
    let fetched = fetch(url).await;
    assert_eq!((fetched.0, fetched.1.as_str()), (200, "application/x-seven"));
    assert!(fetched.2 == bytes);
    let thumbnail = fetch(&url.replace("original", "thumbnail")).await;
    assert_eq!((thumbnail.0, thumbnail.2), (200, vec![0, 1, 2]));
    for wrong in [url.replace("original", "x"), url.replace("attachments/", "attachments/0")] {
        assert_eq!(fetch(&wrong).await.0, 404, "{wrong}");
    }
    let _world = world.restart(vec![remote("bot", &bot, quick())]).await;
    assert!(fetch(url).await.2 == bytes);
}

#[tokio::test]
async fn uploads_have_a_limit() {
    let bot = StandIn::echo().await;
    let world = World::of(&bot, quick()).await;
    world.say("hi").await;
    let post = bot.posts().remove(0);
    let upload = json!({"originalBase64": "AAAA".repeat((1 << 20) / 3 + 1)});
    let (status, body) = post.call("POST", &post.below("/attachments"), &upload).await;
    assert_eq!((status, &body["error"]["code"]), (413, &json!("MessageSizeTooBig")));
    let activity = json!({"type": "message", "text": "a".repeat(17 << 20)});
    let (status, body) = post.call("POST", &post.below("/activities"), &activity).await;
    let error = &body["error"];
    assert_eq!((status, &error["code"]), (413, &json!("MessageSizeTooBig")));
    let big = json!({"originalBase64": "AAAA".repeat((1 << 20) / 3)});
    for expected in [200, 200, 413] {
        let (status, _) = post.call("POST", &post.below("/attachments"), &big).await;
        assert_eq!(status, expected);
    }
}
