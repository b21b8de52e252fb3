//! Tests the metrics of several bridges on one database.

use std::time::Duration;

use axum::response::IntoResponse as _;
use reqwest::StatusCode;
use serde_json::json;
use tokio::time::{Instant, sleep};

use super::{
    replicas::{LONG, Talk},
    server::Server,
};
use crate::remote::standin::StandIn;

impl Talk {
    /// Returns the value of a metric with these labels, if there is one.
    async fn metric(&self, name: &str) -> Option<u64> {
        let url = format!("{}/metrics", self.bridge.url());
        let text = reqwest::get(url).await.unwrap().text().await.unwrap();
        let values = text.lines().filter_map(|line| line.strip_prefix(name));
        let mut values = values.filter_map(|value| value.strip_prefix(' '));
        values.next().map(|value| value.parse().unwrap())
    }

    async fn tells(&self, name: &str, value: u64) {
        let begun = Instant::now();
        loop {
            let told = self.metric(name).await;
            if told == Some(value) {
                return;
            }
            assert!(begun.elapsed() < LONG, "{name}: expected {value}, is {told:?}");
            sleep(Duration::from_millis(20)).await;
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn each_bridge_tells_of_all() {
    let database = Server::shared().database().await;
    let (mut one, two) = (Talk::with(&database), Talk::with(&database));
    for bridge in [&one, &two] {
        bridge.tells("bridge_replicas", 2).await;
    }
    let message = |id: &str, context: &str| json!({"messageId": id, "contextId": context});
    for (id, context) in [("m1", "c"), ("m2", "d")] {
        one.send("hanging", message(id, context), false).await;
    }
    two.send("hanging", message("m3", "e"), false).await;
    two.send("echo", message("m4", "f"), true).await;
    one.tells("bridge_leases_held", 2).await;
    two.tells("bridge_leases_held", 1).await;
    let open = r#"bridge_tasks_open{agent="hanging"}"#;
    for bridge in [&one, &two] {
        bridge.tells(open, 3).await;
        bridge.tells(r#"bridge_tasks_open{agent="echo"}"#, 0).await;
    }
    let failed = r#"bridge_turns_taken_over_total{agent="hanging",outcome="failed"}"#;
    assert_eq!(two.metric(failed).await, None);
    one.bridge.kill();
    two.tells(failed, 2).await;
    two.tells("bridge_replicas", 1).await;
    two.tells("bridge_leases_held", 1).await;
    two.tells(open, 1).await;
    // A starting bridge finds nothing to take over, and the same number of open tasks.
    let three = Talk::with(&database);
    assert_eq!(three.metric(open).await, Some(1));
    assert_eq!(three.metric(failed).await, None);
}

#[tokio::test(flavor = "multi_thread")]
async fn calls_between_bridges_are_counted_at_both() {
    let bot = StandIn::that(async |_| StatusCode::ACCEPTED.into_response()).await;
    let database = Server::shared().database().await;
    let agent = format!(
        "[[agents]]\nname = 'bot'\nbot = '{}'\nconversation = 'task'\nending = {{ quiet = '60s', settle = '60s' }}\n",
        bot.url
    );
    // The bot's calls reach the other bridge only.
    let two = Talk::of(&database, "", &agent);
    let callback = format!("callback_url = '{}'", two.bridge.url());
    let mut one = Talk::of(&database, &callback, &agent);
    let task = one.send("bot", json!({"messageId": "m1"}), false).await;
    let begun = Instant::now();
    let post = loop {
        if let Some(post) = bot.posts().into_iter().next() {
            break post;
        }
        assert!(begun.elapsed() < LONG, "the bot was not called");
        sleep(Duration::from_millis(5)).await;
    };
    post.say("first").await;
    post.say("second").await;
    let [out, taken, failed] =
        [("out", "answered"), ("in", "answered"), ("out", "failed")].map(|(direction, outcome)| {
            format!(r#"bridge_handed_calls_total{{direction="{direction}",outcome="{outcome}"}}"#)
        });
    for (bridge, name, value) in [(&two, &out, 2), (&one, &taken, 2), (&two, &taken, 0)] {
        assert_eq!(bridge.metric(name).await, Some(value), "{name}");
    }
    // A call that the other bridge cannot answer any more has failed, and its activity goes to the bridge that
    // continues the turn.
    one.bridge.pause();
    let saying = tokio::spawn({
        let post = post.clone();
        async move { post.say("third").await }
    });
    let handed = "SELECT count(*) FROM bridge.calls WHERE answer IS NULL";
    while database.number(handed).await == 0 {
        sleep(Duration::from_millis(5)).await;
    }
    one.bridge.kill();
    saying.await.unwrap();
    two.tells(&failed, 1).await;
    let continued = r#"bridge_turns_taken_over_total{agent="bot",outcome="continued"}"#;
    two.tells(continued, 1).await;
    let text = two.task("bot", &task["id"]).await.to_string();
    assert_eq!(text.matches("third").count(), 1, "{text}");
}
