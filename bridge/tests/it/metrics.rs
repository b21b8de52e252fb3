//! Tests the metrics for operators.

use std::{sync::Arc, time::Duration};

use bridge::{
    agent::ConversationScope,
    bot::remote::{Channel, ChannelSettings, RemoteBot},
    host::Host,
    metrics::TextFormat,
    store::MemoryStore,
};
use serde_json::json;

use crate::{
    app::{app, events, get, rpc, say, text},
    world::{self, at_once, send, stream, world},
};

/// Returns the lines of the text without comments and without durations.
fn counts(text: &str) -> Vec<&str> {
    let is_count = |line: &&str| !line.starts_with('#') && !line.contains("_seconds_");
    text.lines().filter(is_count).collect()
}

#[tokio::test]
async fn requests_and_tasks_are_counted() {
    let app = app().await;
    rpc(&app, Some("1.0"), "SendMessage", say("m-1", "hi")).await;
    rpc(&app, None, "tasks/send", json!({"id": "t", "message": {"role": "user", "parts": []}}))
        .await;
    rpc(&app, Some("1.0"), "GetTask", json!({"id": "none"})).await;
    rpc(&app, Some("1.0"), "NoSuchMethod", json!({})).await;
    events(&app, Some("1.0"), "SendStreamingMessage", say("m-2", "hi")).await;
    events(&app, None, "tasks/resubscribe", json!({"id": "none"})).await;
    let response = get(&app, "/metrics", None).await;
    let media_type = response.headers()["content-type"].to_str().unwrap();
    assert_eq!(media_type, "text/plain; version=0.0.4; charset=utf-8");
    let text = text(response).await;
    let mut counts = counts(&text);
    counts.sort_unstable();
    let asked = |operation, outcome| {
        let labels = format!(r#"agent="echo",operation="{operation}",outcome="{outcome}""#);
        format!("bridge_requests_total{{{labels}}} 1")
    };
    let mut expected = vec![
        asked("GetTask", "TASK_NOT_FOUND"),
        asked("SendMessage", "OK"),
        asked("SendMessage", "INVALID_PARAMS"),
        asked("SendStreamingMessage", "OK"),
        asked("SubscribeToTask", "TASK_NOT_FOUND"),
        asked("none", "METHOD_NOT_FOUND"),
        "bridge_leases_held 0".to_owned(),
        "bridge_replicas 0".to_owned(),
        "bridge_store_damaged_tasks 0".to_owned(),
        "bridge_store_lost_bytes 0".to_owned(),
        r#"bridge_streams_open{agent="echo"} 0"#.to_owned(),
        r#"bridge_tasks_open{agent="echo"} 0"#.to_owned(),
        r#"bridge_turns_queued{agent="echo"} 0"#.to_owned(),
        r#"bridge_turns_running{agent="echo"} 0"#.to_owned(),
    ];
    expected.sort_unstable();
    assert_eq!(counts, expected);
    for line in [
        r#"bridge_turn_duration_seconds_count{agent="echo",outcome="answered"} 2"#,
        "bridge_store_append_duration_seconds_count 4",
        "# TYPE bridge_requests_total counter",
    ] {
        assert!(text.lines().any(|one| one == line), "{line} is not in {text}");
    }
}

#[tokio::test]
async fn a_scraper_gets_the_format_that_it_names() {
    let app = app().await;
    let accepted =
        "application/openmetrics-text;version=1.0.0;q=0.6,text/plain;version=0.0.4;q=0.3,*/*;q=0.1";
    for (accept, media_type, is_open_metrics) in [
        (accepted, "application/openmetrics-text; version=1.0.0; charset=utf-8", true),
        ("text/plain", "text/plain; version=0.0.4; charset=utf-8", false),
    ] {
        let response = get(&app, "/metrics", Some(("accept", accept))).await;
        assert_eq!(response.headers()["content-type"], media_type);
        assert_eq!(response.headers()["vary"], "accept");
        let text = text(response).await;
        assert_eq!(text.ends_with("# EOF\n"), is_open_metrics, "{text}");
        assert_eq!(text.contains("# UNIT "), is_open_metrics, "{text}");
    }
}

/// A bot that nobody reaches must not look like one that answers.
#[tokio::test]
async fn a_bot_that_cannot_be_reached_is_seen() {
    let store = Arc::new(MemoryStore::new());
    let here = "http://127.0.0.1:3978";
    let channel = Channel::new(store.clone(), ChannelSettings::at(here.parse().unwrap())).unwrap();
    let gone = "http://127.0.0.1:1/api/messages".parse().unwrap();
    let agent = channel.agent(RemoteBot::new("gone", gone));
    let app = Host::new(store, [agent]).connector(channel);
    let app = app.router(here).await.unwrap();
    let is_count = |line: &&str| line.starts_with("bridge_turn_duration_seconds_count");
    for failures in 0..2 {
        let text = text(get(&app, "/metrics", None).await).await;
        let turns: Vec<_> = text.lines().filter(is_count).collect();
        let labels = r#"agent="gone",outcome="failed""#;
        let expected = format!("bridge_turn_duration_seconds_count{{{labels}}} {failures}");
        assert_eq!(turns, [expected], "rate() needs a first value");
        rpc(&app, Some("1.0"), "SendMessage", say("m-1", "hi")).await;
    }
}

#[tokio::test(start_paused = true)]
async fn running_turns_are_counted() {
    let world = world(Arc::new(MemoryStore::new()), ConversationScope::Context);
    for text in ["slow ask", "hang", "a"] {
        send(&world, at_once(text, Some("c-1"))).await.unwrap();
    }
    let open = stream(&world, world::say("slow", None)).await;
    let told = |expected: [usize; 4]| {
        let text = world.service.turns().measured().text(TextFormat::OpenMetrics);
        let counts: Vec<&str> = counts(&text);
        let names = ["turns_running", "turns_queued", "tasks_open", "streams_open"];
        for (name, expected) in names.into_iter().zip(expected) {
            let line = format!(r#"bridge_{name}{{agent="agent"}} {expected}"#);
            assert!(counts.contains(&line.as_str()), "{line} is not in {text}");
        }
    };
    told([2, 2, 4, 1]);
    drop(open);
    tokio::time::sleep(Duration::from_secs(10)).await;
    // The one that asks for input has not ended, one hangs, and one waits for that.
    told([1, 1, 3, 0]);
    tokio::time::sleep(Duration::from_secs(100)).await;
    told([0, 0, 1, 0]);
}

#[tokio::test]
async fn readiness_is_reported() {
    let app = app().await;
    for (path, body) in [("/healthz", "ok"), ("/readyz", "ready")] {
        let response = get(&app, path, None).await;
        assert_eq!(response.status(), 200, "{path}");
        assert_eq!(response.headers()["cache-control"], "no-store", "{path}");
        assert_eq!(response.headers()["x-content-type-options"], "nosniff", "{path}");
        assert_eq!(text(response).await, body);
    }
}

/// OpenMetrics appends `_total` to the names of counters, so both forms are searched for.
#[tokio::test]
async fn the_reference_page_describes_each_metric() {
    let text = text(get(&app().await, "/metrics", None).await).await;
    let page = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/reference/metrics.md");
    let page = std::fs::read_to_string(page).unwrap();
    let typed = text.lines().filter_map(|line| line.strip_prefix("# TYPE "));
    for metric in typed {
        let name = metric.split(' ').next().unwrap();
        let described = [format!("`{name}`"), format!("`{name}_total`")];
        assert!(
            described.iter().any(|described| page.contains(described)),
            "{name} is missing in docs/reference/metrics.md"
        );
    }
}
