//! A bot's calls reach its turns through any of several bridges.

use axum::response::IntoResponse as _;
use futures_util::future::join_all;
use reqwest::StatusCode;
use serde_json::{Value, json};
use tokio::time::{Instant, sleep, timeout};

use super::{
    address::Address,
    replicas::{LONG, Talk},
    server::{Database, Server},
};
use crate::{
    bots::{AGENTS_SDK, on_node},
    program::Bridge,
    remote::{
        all_said,
        standin::{Post, StandIn},
    },
};

/// A turn does not end because its bot is quiet for a moment, however slow the machine is.
const PATIENT: &str = "ending = { quiet = '60s', settle = '60s' }";

/// Bridges on one database behind one address, which the bot calls too.
struct Replicas {
    database: Database,
    address: Address,
    bridges: Vec<Talk>,
}

impl Replicas {
    /// Three bridges with this bot, and further keys of it.
    async fn with(bot: &str, keys: &str) -> Self {
        let database = Server::shared().database().await;
        let address = Address::start().await;
        let callback = format!("callback_url = '{}'", address.url);
        let agent = format!("[[agents]]\nname = 'bot'\nbot = '{bot}'\n{keys}\n");
        let bridges = [(); 3].map(|()| Talk::of(&database, &callback, &agent));
        address.leads_to(bridges.iter().map(|talk| talk.bridge.url()));
        Self { database, address, bridges: bridges.into() }
    }

    /// Begins a task at the first bridge, and returns it with what the bot got.
    async fn begin(&self, bot: &StandIn, message: Value) -> (Value, Post) {
        let before = bot.posts().len();
        let task = self.bridges[0].send("bot", message, false).await;
        let begun = Instant::now();
        loop {
            if let Some(post) = bot.posts().into_iter().nth(before) {
                return (task["id"].clone(), post);
            }
            assert!(begun.elapsed() < LONG, "the bot was not called");
            sleep(std::time::Duration::from_millis(5)).await;
        }
    }

    /// Posts an activity to the bridge with this number, and returns the id that it got.
    async fn post_to(&self, number: usize, post: &Post, activity: &Value) -> Value {
        let url = post.below(&format!("/activities/{}", post.id()));
        let url = url.replace(&self.address.url, self.bridges[number].bridge.url());
        let (status, body) = post.call("POST", &url, activity).await;
        assert_eq!(status, 200, "{body}");
        body["id"].clone()
    }

    /// Waits until no bridge works on a conversation.
    async fn no_turn_runs(&self) {
        let none = "SELECT count(*) FROM (SELECT WHERE NOT EXISTS (SELECT FROM bridge.conversations)) AS t";
        self.is(none).await;
    }

    async fn is(&self, sql: &str) {
        let begun = Instant::now();
        while self.database.number(sql).await == 0 {
            assert!(begun.elapsed() < LONG, "{sql}");
            sleep(std::time::Duration::from_millis(5)).await;
        }
    }
}

/// Starts a bot that accepts messages and sends nothing by itself.
async fn silent() -> StandIn {
    StandIn::that(async |_| StatusCode::ACCEPTED.into_response()).await
}

fn last() -> Value {
    json!({"text": "last", "inputHint": "expectingInput"})
}

#[tokio::test(flavor = "multi_thread")]
async fn a_bots_messages_reach_their_turn_through_any_bridge() {
    let bot = silent().await;
    let replicas = Replicas::with(&bot.url, &format!("conversation = 'task'\n{PATIENT}")).await;
    let [one, two, three] = &replicas.bridges[..] else {
        panic!("expected three");
    };
    let (id, post) = replicas.begin(&bot, json!({"messageId": "m1"})).await;
    let streaming = two.stream("bot", &id);
    let saying = async {
        post.send(json!({"type": "typing"})).await;
        post.say("first").await;
        let slip = post.say("slip").await;
        let second = post.say("sceond").await;
        let (status, body) = {
            let url = post.below(&format!("/activities/{second}"));
            let update = post.reply(json!({"text": "second"}));
            post.call("PUT", &url, &update).await
        };
        assert_eq!(status, 200, "{body}");
        let url = post.below(&format!("/activities/{slip}"));
        assert_eq!(post.call("DELETE", &url, &Value::Null).await.0, 200);
        let members = post.below("/members");
        assert_eq!(post.call("GET", &members, &Value::Null).await.0, 200);
        post.send(last()).await;
    };
    let replicas = &replicas;
    let going_on = async {
        saying.await;
        assert_eq!(replicas.address.count(), 8);
        for bridge in [one, two, three] {
            let task = bridge.becomes("bot", &id, "TASK_STATE_INPUT_REQUIRED");
            let task = task.await;
            assert_eq!(all_said(&task), ["first", "second", "last"], "{task}");
        }
        // The next turn runs in another bridge, and is canceled through the third.
        let next = json!({"messageId": "m2", "taskId": id});
        two.send("bot", next, false).await;
        // The message waits as long as the first turn is still being closed.
        two.becomes("bot", &id, "TASK_STATE_WORKING").await;
        three.call("bot", "CancelTask", json!({"id": id})).await;
        one.becomes("bot", &id, "TASK_STATE_CANCELED").await;
    };
    let (streamed, ()) = tokio::join!(timeout(LONG, streaming), going_on);
    let streamed = streamed.unwrap();
    for state in ["TASK_STATE_INPUT_REQUIRED", "TASK_STATE_CANCELED"] {
        assert!(streamed.contains(state), "{streamed}");
    }
    replicas.no_turn_runs().await;
}

/// The bridge in which the turn runs dies while another one waits for its answer.
#[tokio::test(flavor = "multi_thread")]
async fn a_bots_messages_survive_the_bridge_of_their_turn() {
    let bot = silent().await;
    let mut replicas = Replicas::with(&bot.url, &format!("conversation = 'task'\n{PATIENT}")).await;
    let (id, post) = replicas.begin(&bot, json!({"messageId": "m1"})).await;
    post.say("before").await;
    let urls = [1, 2].map(|number| replicas.bridges[number].bridge.url().to_owned());
    replicas.address.leads_to(urls.iter().map(String::as_str));
    replicas.bridges[0].bridge.pause();
    let saying = tokio::spawn({
        let post = post.clone();
        async move { post.say("on its way").await }
    });
    replicas.is("SELECT count(*) FROM bridge.calls").await;
    replicas.bridges[0].bridge.kill();
    timeout(LONG, saying).await.unwrap().unwrap();
    post.send(last()).await;
    let done = replicas.bridges[1].becomes("bot", &id, "TASK_STATE_INPUT_REQUIRED");
    let done = done.await;
    assert_eq!(all_said(&done), ["before", "on its way", "last"], "{done}");
}

/// SDKs post again what got no answer, and may reach another bridge then.
#[tokio::test(flavor = "multi_thread")]
async fn a_repeated_activity_is_logged_once() {
    let bot = silent().await;
    let mut replicas =
        Replicas::with(&bot.url, &format!("conversation = 'context'\n{PATIENT}")).await;
    let message = json!({"messageId": "m1", "contextId": "c"});
    let (id, post) = replicas.begin(&bot, message).await;
    let said = post.reply(json!({"id": "own-1", "text": "in the turn"}));
    let ids = join_all((0..6).map(|number| replicas.post_to(number % 3, &post, &said))).await;
    assert!(ids.iter().all(|id| *id == ids[0]), "{ids:?}");
    let early = post.reply(json!({"id": "own-2", "text": "to the one that dies"}));
    let first = replicas.post_to(0, &post, &early).await;
    replicas.bridges[0].bridge.kill();
    let again = replicas.post_to(1, &post, &early).await;
    assert_eq!(again, first);
    let end = post.reply(json!({"type": "endOfConversation", "text": "over"}));
    replicas.post_to(2, &post, &end).await;
    let done = replicas.bridges[1].becomes("bot", &id, "TASK_STATE_COMPLETED").await;
    let text = done.to_string();
    for said in ["in the turn", "to the one that dies"] {
        assert_eq!(text.matches(said).count(), 1, "{text}");
    }
    // A message after the end of the turn begins another task, once. One of the turn is dropped.
    replicas.no_turn_runs().await;
    let later = post.reply(json!({"id": "own-3", "text": "after the turn"}));
    let ids = join_all((0..6).map(|number| replicas.post_to(1 + number % 2, &post, &later))).await;
    assert!(ids.iter().all(|id| *id == ids[0]), "{ids:?}");
    let page = replicas.bridges[2].call("bot", "ListTasks", json!({"includeArtifacts": true}));
    let page = page.await;
    assert_eq!(page["totalSize"], 2, "{page}");
    assert_eq!(page.to_string().matches("after the turn").count(), 1, "{page}");
}

/// The messages of users to a bot in one task, and its answers.
const TALKS: [&[&str]; 5] =
    [&["hello"], &["count", "count", "count"], &["ask", "that one"], &["correct"], &["later"]];

/// Runs the talks with these bridges in turn, and returns the states and texts after each message.
async fn talks(bridges: &[Talk], bot: &Bridge) -> Vec<(Value, Vec<String>)> {
    let (http, mut seen, mut number) = (reqwest::Client::new(), Vec::new(), 0);
    let mut next = || {
        number += 1;
        (&bridges[number % bridges.len()], format!("m{number}"))
    };
    for says in TALKS {
        let mut id = Value::Null;
        for text in says {
            let (bridge, message_id) = next();
            let mut message = json!({"messageId": message_id, "parts": [{"text": text}]});
            if !id.is_null() {
                message["taskId"] = id.clone();
            }
            let task = bridge.send("bot", message, true).await;
            id = task["id"].clone();
            let task = next().0.task("bot", &id).await;
            seen.push((task["status"]["state"].clone(), all_said(&task)));
        }
        if *says == ["later"] {
            let now = format!("{}/now/{}", bot.url(), id.as_str().unwrap());
            let told = http.post(now).send().await.unwrap();
            assert_eq!(told.status(), 200);
            let task = next().0.task("bot", &id).await;
            seen.push((task["status"]["state"].clone(), all_said(&task)));
        }
    }
    seen
}

/// Unmodified bots see no difference between one bridge and three behind an address that is not sticky.
async fn sees_no_difference(bot: &Bridge) {
    let url = format!("{}/api/messages", bot.url());
    let keys = "conversation = 'task'\nsilent_end = 'input-required'";
    let database = Server::shared().database().await;
    let agent = format!("[[agents]]\nname = 'bot'\nbot = '{url}'\n{keys}\n");
    let alone = talks(&[Talk::of(&database, "", &agent)], bot).await;
    let replicas = Replicas::with(&url, keys).await;
    let together = talks(&replicas.bridges, bot).await;
    assert_eq!(together, alone);
    assert!(alone.iter().all(|(_, said)| !said.is_empty()), "{alone:?}");
    assert!(replicas.address.count() > 6);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_agents_sdk_for_python_is_served_by_three_bridges() {
    let bot = AGENTS_SDK.start().await;
    sees_no_difference(&bot).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_bot_framework_for_node_is_served_by_three_bridges() {
    let bot = on_node("bot_framework.js", &[]).await;
    sees_no_difference(&bot).await;
}
