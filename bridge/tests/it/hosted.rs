//! Tests the errors of a host of agents before it serves.

use std::{collections::BTreeMap, sync::Arc};

use axum::Router;
use bridge::{
    access::Access,
    host::{Host, HostError},
    store::MemoryStore,
};
use bridge_protocol::a2a::AgentCard;

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
