//! Tests of agents that do not exist or cannot be reached.

use std::time::Duration;

use axum::{Router, http::StatusCode};
use mcp_tools::agents::AgentsSettings;
use serde_json::json;
use tokio::net::TcpListener;

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
        (
            "ftp://127.0.0.1",
            "error",
            "target_url: expected an http or https URL",
        ),
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
    let found = Tools::with(AgentsSettings::default())
        .discover(&agent.url)
        .await;
    assert_eq!(found["status"], "error");
    assert!(
        found["error"]
            .as_str()
            .unwrap()
            .contains("not a public address"),
        "{found}"
    );
}

#[tokio::test]
async fn a_site_that_takes_longer_than_the_client_waits_is_asked_once() {
    let agent = Agent::start(weather(), Vec::new()).await;
    let tools = Tools::answering_within(settings(), Duration::ZERO);
    let mut found = tools.discover(&agent.url).await;
    assert_eq!(found["status"], "working");
    while found["status"] == "working" {
        tokio::task::yield_now().await;
        found = tools.discover(&agent.url).await;
    }
    assert_eq!(
        (&found["status"], &found["agent_name"]),
        (&json!("success"), &json!("Weather"))
    );
    assert_eq!(
        tools.discover(&agent.url).await["status"],
        "working",
        "it is looked for again"
    );
}
