//! Tests of agents that do not exist or cannot be reached.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use axum::{Router, http::StatusCode, routing::get};
use mcp_tools::agents::AgentsSettings;
use serde_json::json;
use tokio::{net::TcpListener, sync::watch};

use super::{Agent, Tools, settings, weather};

#[tokio::test]
async fn a_missing_and_a_broken_agent_are_distinguished() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let empty = format!("http://{}", listener.local_addr().unwrap());
    tokio::spawn(async move { axum::serve(listener, Router::new()).await });
    let broken = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let failing = format!("http://{}", broken.local_addr().unwrap());
    let app = Router::new().fallback(|| async { StatusCode::INTERNAL_SERVER_ERROR });
    tokio::spawn(async move { axum::serve(broken, app).await });

    let tools = Tools::with(settings());
    for (url, status, why) in [
        (empty.as_str(), "not_found", "there is no agent card at"),
        (failing.as_str(), "error", "HTTP status 500"),
        ("http://127.0.0.1:1", "error", "cannot be reached"),
        ("ftp://127.0.0.1", "error", "target_url: expected an http or https URL"),
    ] {
        let found = tools.discover(url).await;
        assert_eq!(found["status"], status, "{found}");
        assert!(found["error"].as_str().unwrap().contains(why), "{found}");
    }
    let nobody = json!({"task_base_url": empty, "contextual_query_text": "hello"});
    assert_eq!(tools.invoke(nobody).await["status"], "not_found");
}

#[tokio::test]
async fn private_addresses_are_reached_only_if_the_operator_says_so() {
    let agent = Agent::start(weather(), Vec::new()).await;
    let found = Tools::with(AgentsSettings::default()).discover(&agent.url).await;
    assert_eq!(found["status"], "error");
    assert!(found["error"].as_str().unwrap().contains("not a public address"), "{found}");
}

#[tokio::test]
async fn a_site_that_takes_longer_than_the_client_waits_is_asked_once() {
    let (open, gate) = watch::channel(false);
    let asked = Arc::new(AtomicUsize::new(0));
    let count = asked.clone();
    let answer = move || {
        let mut gate = gate.clone();
        count.fetch_add(1, Ordering::Relaxed);
        async move {
            gate.wait_for(|open| *open).await.unwrap();
            StatusCode::INTERNAL_SERVER_ERROR
        }
    };
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let app = Router::new().route("/.well-known/agent-card.json", get(answer));
    tokio::spawn(async move { axum::serve(listener, app).await });

    let tools = Tools::answering_within(settings(), Duration::ZERO);
    for _ in 0..2 {
        assert_eq!(tools.discover(&url).await["status"], "working");
    }
    open.send_replace(true);
    let found = loop {
        let found = tools.discover(&url).await;
        match found["status"] == "working" {
            true => tokio::task::yield_now().await,
            false => break found,
        }
    };
    assert_eq!(found["status"], "error", "{found}");
    assert_eq!(asked.load(Ordering::Relaxed), 1);
}
