//! Tests the routes that bots call.

use std::sync::{Arc, Mutex};

use axum::response::IntoResponse as _;
use bridge::bot::{
    BotError, async_trait,
    remote::{Admission, AdmissionError, BotCall, ConnectorCall, Credential, RemoteBot},
};
use futures_util::future::join_all;
use reqwest::{StatusCode, header::HeaderValue};
use serde_json::{Value, json};

use super::{StandIn, World, all_said, message, quick, remote, said, standin::Post, state};

/// Returns a bot that has received a message, in an open conversation.
async fn spoken_to() -> (StandIn, World, Post, Value) {
    let bot = StandIn::echo().await;
    let world = World::of(&bot, quick()).await;
    let task = world.say("hi").await;
    let post = bot.posts().remove(0);
    (bot, world, post, task)
}

#[tokio::test]
async fn members_are_the_user_and_the_bot() {
    let (_bot, _world, post, _) = spoken_to().await;
    let both = json!([post.activity["from"], post.activity["recipient"]]);
    let (user, answered) = (post.activity["from"]["id"].as_str().unwrap(), post.id());
    for (path, expected) in [
        ("/members".to_owned(), both.clone()),
        ("/pagedmembers".into(), json!({"members": both})),
        (format!("/activities/{answered}/members"), both.clone()),
        (format!("/members/{user}"), both[0].clone()),
    ] {
        let (status, body) = post.call("GET", &post.below(&path), &Value::Null).await;
        assert_eq!((status, body), (200, expected), "{path}");
    }
    let (status, body) = post.call("GET", &post.below("/members/x"), &Value::Null).await;
    assert_eq!((status, &body["error"]["code"]), (404, &json!("MemberNotFound")));
}

/// Bots without an SDK often add a slash, although the service URL ends with one.
#[tokio::test]
async fn a_service_url_may_be_followed_by_another_slash() {
    let (_bot, _world, post, _) = spoken_to().await;
    let base = post.activity["serviceUrl"].as_str().unwrap();
    assert!(base.ends_with('/'));
    for slash in ["", "/"] {
        let url = format!("{base}{slash}v3/conversations/{}/activities", post.conversation());
        let said = json!({"type": "message", "text": "hi"});
        let (status, body) = post.call("POST", &url, &said).await;
        assert_eq!(status, 200, "{body}");
    }
}

/// Bots without an SDK add an id to the path that may be empty.
#[tokio::test]
async fn a_path_may_end_with_a_slash() {
    let (_bot, _world, post, _) = spoken_to().await;
    let said = json!({"type": "message", "text": "hi"});
    for (method, path, body) in [
        ("POST", "/activities/".to_owned(), &said),
        ("POST", format!("/activities/{}/", post.id()), &said),
        ("GET", "/members/".to_owned(), &Value::Null),
    ] {
        let (status, body) = post.call(method, &post.below(&path), body).await;
        assert_eq!(status, 200, "{path}: {body}");
    }
}

/// Bots in JavaScript cut texts in the middle of an emoji.
#[tokio::test]
async fn half_an_emoji_does_not_lose_the_message() {
    let (_bot, world, post, task) = spoken_to().await;
    let half = r#"{"type": "message", "text": "cut \ud83d"}"#;
    let request = reqwest::Client::new().post(post.below("/activities"));
    let answer = request.header("content-type", "application/json").body(half).send().await;
    assert_eq!(answer.unwrap().status(), 200);
    assert_eq!(all_said(&world.task(&task["id"]).await), ["Echo: hi", "cut \u{fffd}"]);
}

#[tokio::test]
async fn messages_are_updated_and_deleted() {
    let (_bot, world, post, task) = spoken_to().await;
    let id = post.say("first").await;
    let event = async || {
        let task = world.task(&task["id"]).await;
        task["metadata"]["urn:activity:event"].clone()
    };
    let url = post.below(&format!("/activities/{id}"));
    let update = post.reply(json!({"text": "second", "id": id}));
    let (status, body) = post.call("PUT", &url, &update).await;
    assert_eq!((status, body), (200, json!({ "id": id })));
    let told = event().await;
    assert_eq!((&told["type"], &told["id"]), (&json!("messageUpdate"), &json!(id)));
    assert_eq!(told["text"], "second");
    let (status, _) = post.call("DELETE", &url, &Value::Null).await;
    assert_eq!(status, 200);
    let told = event().await;
    assert_eq!((&told["type"], &told["id"]), (&json!("messageDelete"), &json!(id)));
    for method in ["PUT", "DELETE"] {
        let unknown = post.below("/activities/unknown");
        let (status, body) = post.call(method, &unknown, &update).await;
        assert_eq!((status, &body["error"]["code"]), (404, &json!("ActivityNotFound")));
    }
}

#[tokio::test]
async fn a_repeated_post_is_one_message() {
    let (_bot, world, post, task) = spoken_to().await;
    let said = post.reply(json!({"text": "news", "id": "own-1"}));
    let url = post.below(&format!("/activities/{}", post.id()));
    let posts = (0..3).map(|_| post.call("POST", &url, &said));
    let first = join_all(posts).await;
    let again = post.call("POST", &url, &said).await;
    assert!(first.iter().all(|one| *one == again), "{first:?}");
    let mut other = said.clone();
    other["text"] = "other news".into();
    assert_ne!(post.call("POST", &url, &other).await, again);
    post.say("no id").await;
    post.say("no id").await;
    let task = world.task(&task["id"]).await;
    let expected = ["Echo: hi", "news", "other news", "no id", "no id"];
    assert_eq!(all_said(&task), expected);
}

#[tokio::test]
async fn histories_and_removals_become_data() {
    let (_bot, world, post, task) = spoken_to().await;
    let history = json!({"activities": [{"type": "message", "text": "earlier"}]});
    let (status, _) = post.call("POST", &post.below("/activities/history"), &history).await;
    assert_eq!(status, 200);
    let metadata = world.task(&task["id"]).await["metadata"]["urn:activity:event"].clone();
    assert_eq!((&metadata["name"], &metadata["value"]), (&json!("history"), &history));
    let user = post.activity["from"]["id"].as_str().unwrap();
    let url = post.below(&format!("/members/{user}"));
    assert_eq!(post.call("DELETE", &url, &Value::Null).await.0, 200);
    let task = world.task(&task["id"]).await;
    let metadata = &task["metadata"]["urn:activity:event"];
    assert_eq!(metadata["membersRemoved"][0]["id"], user);
    assert_eq!(all_said(&task), ["Echo: hi"]);
}

#[tokio::test]
async fn reactions_become_data() {
    let (_bot, world, post, task) = spoken_to().await;
    let url = post.below(&format!("/activities/{}/reactions/like", post.id()));
    for (method, member) in [("PUT", "reactionsAdded"), ("DELETE", "reactionsRemoved")] {
        let (status, body) = post.call(method, &url, &Value::Null).await;
        assert_eq!(status, 200, "{body}");
        let task = world.task(&task["id"]).await;
        let event = &task["metadata"]["urn:activity:event"];
        assert_eq!(event[member], json!([{"type": "like"}]), "{event}");
    }
}

#[tokio::test]
async fn an_invalid_call_is_reported_and_changes_nothing() {
    let (_bot, world, post, task) = spoken_to().await;
    let before = world.task(&task["id"]).await;
    let secret =
        post.activity["serviceUrl"].as_str().unwrap().split('/').nth(4).unwrap().to_owned();
    let guessed = post.below("/activities").replace(&secret, &"0".repeat(secret.len()));
    let foreign = post.route("/conversations/01900000-0000-7000-8000-000000000000/activities");
    let bare =
        format!("http://{}/v3/conversations/{}/activities", world.address, post.conversation());
    let good = post.reply(json!({"text": "x"}));
    for (url, body, expected) in [
        (guessed, good.clone(), (404, "NotFound")),
        (foreign, good.clone(), (404, "ConversationNotFound")),
        (bare, good.clone(), (404, "NotFound")),
        (post.below("/nothing/there"), good, (404, "NotFound")),
        (post.below("/activities"), json!({"text": "x"}), (400, "BadSyntax")),
        (post.below("/activities"), json!("x"), (400, "BadSyntax")),
        (post.below("/activities/history"), json!({}), (400, "BadSyntax")),
        (post.below("/attachments"), json!({}), (400, "BadSyntax")),
        (post.below("/attachments"), json!({"originalBase64": "*"}), (400, "BadSyntax")),
    ] {
        let (status, answer) = post.call("POST", &url, &body).await;
        let code = answer["error"]["code"].as_str().unwrap_or_default();
        assert_eq!((status, code), expected, "{url}: {answer}");
        assert!(answer["error"]["message"].is_string());
        assert!(!answer.to_string().contains(&secret));
    }
    assert_eq!(world.task(&task["id"]).await, before);
}

/// A bot that lets nobody in without its word, and is let in with another one.
struct Words(Arc<Mutex<Vec<String>>>);

#[async_trait]
impl Credential for Words {
    async fn authorization(&self, call: &BotCall<'_>) -> Result<Option<HeaderValue>, BotError> {
        self.0.lock().unwrap().push(format!("{} {}", call.bot, call.service_url));
        Ok(Some(HeaderValue::from_static("Bearer to-bot")))
    }
}

#[async_trait]
impl Admission for Words {
    async fn admit(&self, call: &ConnectorCall<'_>) -> Result<(), AdmissionError> {
        match call.authorization.map(HeaderValue::as_bytes) {
            None => Err(AdmissionError::Unauthenticated("there is none".into())),
            Some(b"Bearer from-bot") => Ok(()),
            Some(_) => Err(AdmissionError::Forbidden(format!("it is not {}", call.agent))),
        }
    }
}

#[tokio::test]
async fn both_sides_authenticate_by_their_tokens() {
    let bot = StandIn::that(async |post: Post| {
        assert_eq!(post.headers["authorization"], "Bearer to-bot");
        let url = post.below("/activities");
        for (word, expected) in [(None, 401), (Some("wrong"), 403), (Some("from-bot"), 200)] {
            let mut call = reqwest::Client::new().post(&url);
            if let Some(word) = word {
                call = call.bearer_auth(word);
            }
            let answer = call.json(&post.reply(json!({"text": expected.to_string()}))).send().await;
            assert_eq!(answer.unwrap().status(), expected);
        }
        StatusCode::OK.into_response()
    })
    .await;
    let words = Arc::new(Words(Arc::default()));
    let hosted = RemoteBot {
        credential: words.clone(),
        admission: words.clone(),
        ..remote("bot", &bot, quick())
    };
    let task = World::with(vec![hosted]).await.say("hi").await;
    assert_eq!(all_said(&task), ["200"]);
    let service_url = bot.posts()[0].activity["serviceUrl"].as_str().unwrap().to_owned();
    let asked = words.0.lock().unwrap().clone();
    assert_eq!(asked, [format!("{} {service_url}", bot.url)]);
}

#[tokio::test]
async fn bots_cannot_cross_over_to_each_others_conversations() {
    let (one, two) = (StandIn::echo().await, StandIn::echo().await);
    let bots = vec![remote("bot", &one, quick()), remote("other", &two, quick())];
    let world = World::with(bots).await;
    let mut same = message("hi");
    same["contextId"] = "shared".into();
    let task = world.send("bot", same.clone()).await;
    let other = world.send("other", same).await;
    let (post, stranger) = (one.posts().remove(0), two.posts().remove(0));
    assert_ne!(post.activity["serviceUrl"], stranger.activity["serviceUrl"]);
    for path in ["", "/x"] {
        let path = format!("/conversations/{}/activities{path}", post.conversation());
        let body = stranger.reply(json!({"text": "I was never here"}));
        let (status, _) = stranger.call("POST", &stranger.route(&path), &body).await;
        assert_eq!(status, 404);
    }
    assert_eq!(world.task(&task["id"]).await["status"], task["status"]);
    assert_eq!(said(&other), "Echo: hi");
}

#[tokio::test]
async fn many_conversations_at_once_keep_apart() {
    let bot = StandIn::echo().await;
    let world = World::of(&bot, quick()).await;
    let texts: Vec<String> = (0..60).map(|number| format!("text {number}")).collect();
    let tasks = join_all(texts.iter().map(|text| world.say(text))).await;
    for (text, task) in texts.iter().zip(&tasks) {
        assert_eq!(all_said(task), [format!("Echo: {text}")]);
    }
}

#[tokio::test]
async fn a_flood_of_calls_is_kept_whole() {
    let bot = StandIn::that(async |post: Post| {
        let texts: Vec<String> = (0..200).map(|number| number.to_string()).collect();
        join_all(texts.iter().map(|text| post.say(text))).await;
        post.send(json!({"type": "endOfConversation"})).await;
        StatusCode::ACCEPTED.into_response()
    })
    .await;
    let task = World::of(&bot, quick()).await.say("hi").await;
    assert_eq!(state(&task), "TASK_STATE_COMPLETED");
    let mut said: Vec<u32> = all_said(&task).iter().map(|text| text.parse().unwrap()).collect();
    said.sort_unstable();
    assert_eq!(said, (0..200).collect::<Vec<_>>());
}
