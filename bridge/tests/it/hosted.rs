//! Tests the errors of a host of agents before it serves.

use std::{collections::BTreeMap, sync::Arc};

use axum::{
    Router,
    body::{Body, Bytes, to_bytes},
    http::{Request, StatusCode},
};
use bridge::{
    access::Access,
    host::{Host, HostError},
    store::MemoryStore,
};
use bridge_protocol::a2a::AgentCard;
use serde_json::Value;
use tower::ServiceExt as _;

use crate::app::agent;

const URL: &str = "http://localhost:3978";

async fn refused(change: impl FnOnce(Host) -> Host, url: &str) -> String {
    let host = Host::new(Arc::new(MemoryStore::new()), [agent("echo")]);
    let refused: Result<Router, HostError> = change(host).router(url).await;
    refused.expect_err(url).to_string()
}

#[tokio::test]
async fn a_setting_for_an_unknown_agent_is_refused() {
    let card = AgentCard::named("Echo", "Says it again.");
    let access = Access::new(&card, "echo", BTreeMap::new()).unwrap();
    let name = "ecko";
    for (setting, told) in [
        ("access", refused(|host| host.access(name, access), URL).await),
        ("path", refused(|host| host.path(name, "/one"), URL).await),
        ("extended_card", refused(|host| host.extended_card(name, card), URL).await),
        ("flat_results", refused(|host| host.flat_results(name), URL).await),
        ("turns", refused(|host| host.turns(name, "words"), URL).await),
    ] {
        let expected = format!("{setting} is set for \"ecko\", but no agent has this name");
        assert_eq!(told, expected);
    }
}

#[tokio::test]
async fn unsigned_pushes_are_refused() {
    let told = refused(Host::signed_push, URL).await;
    assert!(told.contains("need an issuer"), "{told}");
}

#[tokio::test]
async fn paths_and_urls_that_cannot_be_served_are_refused() {
    for path in [
        "agents/one",
        "",
        "/",
        "/.well-known",
        "/agents/*",
        "/agents/{x}",
        "/a b",
        "/healthz",
        "/a2a/catalog",
    ] {
        let told = refused(|host| host.path("echo", path), URL).await;
        assert!(told.starts_with("the path of \"echo\": "), "{path}: {told}");
    }
    for url in ["nonsense", "", "ftp://h.test", "/agents"] {
        let told = refused(|host| host, url).await;
        assert!(told.starts_with("expected a URL for clients"), "{told}");
    }
    for path in ["/agents/one", "/a2a/v1", "/a2a/catalogue"] {
        let host = Host::new(Arc::new(MemoryStore::new()), [agent("echo")]);
        drop(host.path("echo", path).router(URL).await.unwrap());
    }
}

#[tokio::test]
async fn a_path_of_no_agent_says_where_agents_are_listed() {
    let echo = || Host::new(Arc::new(MemoryStore::new()), [agent("echo")]);
    let hosted = echo().start(URL).await.unwrap();
    for replaced in [false, true] {
        if replaced {
            hosted.replace(echo()).unwrap();
        }
        let (status, told) = posted(hosted.router(), "/echo").await;
        assert_eq!(status, StatusCode::NOT_FOUND);
        let told: Value = serde_json::from_slice(&told).unwrap();
        let expected = "there is nothing at /echo: all agents are listed at /a2a/catalog";
        assert_eq!(told["error"]["message"], expected);
    }
    // In another app, the paths begin with that of the app.
    let app = Router::new().nest("/agents", hosted.router());
    for (path, expected) in [
        ("/agents/echo", "nothing at /agents/echo: all agents are listed at /agents/a2a/catalog"),
        (
            "/agents/a2a/echo/tasks/t:explode",
            "nothing at /agents/a2a/echo/tasks/t:explode: the operations of agent \"echo\" are below /agents/a2a/echo, such as \
             POST /agents/a2a/echo/message:send, and all agents are listed at /agents/a2a/catalog",
        ),
    ] {
        let (_, told) = posted(app.clone(), path).await;
        let told: Value = serde_json::from_slice(&told).unwrap();
        let message = told["error"]["message"].as_str().unwrap();
        assert!(message.ends_with(expected), "{message}");
    }
    // The app in which the routes are mounted answers for other paths.
    let app = Router::new().fallback(async || "other").merge(echo().router(URL).await.unwrap());
    assert_eq!(posted(app, "/echo").await, (StatusCode::OK, "other".into()));
}

async fn posted(app: Router, path: &str) -> (StatusCode, Bytes) {
    let request = Request::post(path).body(Body::from("{}")).unwrap();
    let response = app.oneshot(request).await.unwrap();
    let status = response.status();
    (status, to_bytes(response.into_body(), 10_000).await.unwrap())
}
