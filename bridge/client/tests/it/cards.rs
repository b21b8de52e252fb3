//! Tests of cards: the cache, the check before use, and the extended card.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use async_trait::async_trait;
use axum::{
    Json, Router,
    http::{HeaderMap, StatusCode},
    response::IntoResponse as _,
    routing::{get, post},
};
use bridge_client::{CardCheck, Client, Options};
use bridge_protocol::a2a::AgentCard;
use serde_json::{Value, json};
use tokio::net::TcpListener;
use url::Url;

use crate::server::{card_1_0, result, serve};

const CARD: &str = "/.well-known/agent-card.json";

#[derive(Debug)]
struct NameCheck(&'static str);

#[async_trait]
impl CardCheck for NameCheck {
    async fn check(&self, card: &AgentCard) -> Result<(), String> {
        if card.name == self.0 { Ok(()) } else { Err(format!("{:?} did not sign it", self.0)) }
    }
}

fn checking(name: &'static str) -> Options {
    Options {
        signatures: Some(Arc::new(NameCheck(name))),
        extended_card: true,
        ..Options::default()
    }
}

#[tokio::test]
async fn a_card_that_does_not_pass_is_not_used() {
    let (url, _) = serve(CARD, card_1_0(), || result(&json!({}))).await;
    assert!(Client::connect(&url, &checking("New")).await.is_ok());
    let error = Client::connect(&url, &checking("Old")).await.unwrap_err();
    let expected = format!("card at {url}: the card is not trusted: \"Old\" did not sign it");
    assert_eq!(error.to_string(), expected);
}

fn public() -> Value {
    let mut card = card_1_0();
    card["capabilities"] = json!({"extendedAgentCard": true});
    card
}

#[tokio::test]
async fn the_extended_card_is_gone_by_and_checked_too() {
    let extended = || {
        result(&json!({"name": "More", "supportedInterfaces":
            [{"url": "v2", "protocolBinding": "HTTP+JSON", "protocolVersion": "1.0"}]}))
    };
    let (url, asked) = serve(CARD, public(), extended).await;
    let plain = Client::connect(&url, &Options::default()).await.unwrap();
    assert_eq!(plain.card().name, "New");
    assert!(asked.lock().unwrap().is_empty());
    let options = Options { extended_card: true, ..Options::default() };
    let client = Client::connect(&url, &options).await.unwrap();
    assert_eq!((client.card().name.as_str(), client.binding().as_str()), ("More", "HTTP+JSON"));
    let error = Client::connect(&url, &checking("New")).await.unwrap_err();
    assert!(error.to_string().starts_with("GetExtendedAgentCard at "), "{error}");
}

/// An invalid entry is dropped, in the extended card too.
#[tokio::test]
async fn the_extended_card_is_read_leniently() {
    let extended = || {
        result(&json!({"name": "More", "provider": "someone", "skills": [{"id": 7}, {"id": "s"}],
            "supportedInterfaces": [{"url": "v2", "protocolBinding": "JSONRPC"}]}))
    };
    let (url, _) = serve(CARD, public(), extended).await;
    let options = Options { extended_card: true, ..Options::default() };
    let client = Client::connect(&url, &options).await.unwrap();
    let card = client.card();
    assert_eq!((&*card.name, &*card.skills[0].id), ("More", "s"));
    assert_eq!(card.supported_interfaces[0].protocol_version, "1.0");
}

/// A client that supports an extension names it; agents that require others are refused.
#[tokio::test]
async fn an_extension_that_is_required_has_to_be_known() {
    let mut card = card_1_0();
    card["capabilities"] = json!({"extensions": [
        {"uri": "urn:must", "required": true}, {"uri": "urn:may", "required": false},
    ]});
    let (url, asked) = serve(CARD, card, || result(&json!({}))).await;
    let error = Client::connect(&url, &Options::default()).await.unwrap_err();
    let expected = format!(
        "card at {url}: the card requires an extension that this client does not know: urn:must"
    );
    assert_eq!(error.to_string(), expected);
    assert!(asked.lock().unwrap().is_empty());
    let options = Options { extensions: vec!["urn:must".to_owned()], ..Options::default() };
    assert!(Client::connect(&url, &options).await.is_ok());
}

#[tokio::test]
async fn a_card_that_is_the_same_is_not_sent_again() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = Url::parse(&format!("http://{}/", listener.local_addr().unwrap())).unwrap();
    let sent = Arc::new(AtomicUsize::new(0));
    let counted = sent.clone();
    let card = async move |headers: HeaderMap| {
        if headers.get("if-none-match").is_some_and(|etag| etag == "\"1\"") {
            return StatusCode::NOT_MODIFIED.into_response();
        }
        counted.fetch_add(1, Ordering::Relaxed);
        let card = json!({"name": "Same", "url": "/", "protocolVersion": "0.3.0"});
        ([("etag", "\"1\"")], Json(card)).into_response()
    };
    let app = Router::new().route(CARD, get(card)).route("/", post(async || ""));
    tokio::spawn(async move { axum::serve(listener, app).await });
    let options = Options::default();
    for _ in 0..3 {
        let client = Client::connect(&url, &options.clone()).await.unwrap();
        assert_eq!(client.card().name, "Same");
    }
    assert_eq!(sent.load(Ordering::Relaxed), 1);
    Client::connect(&url, &Options::default()).await.unwrap();
    assert_eq!(sent.load(Ordering::Relaxed), 2);
}

/// Many servers accept messages below a path, and show their only card at the origin.
#[tokio::test]
async fn a_card_at_the_origin_is_that_of_the_path_that_it_names() {
    let mut card = card_1_0();
    card["supportedInterfaces"][0]["url"] = json!("URLrpc");
    let (url, _) = serve(CARD, card, || result(&json!({}))).await;
    for path in ["rpc", "rpc/"] {
        let named = url.join(path).unwrap();
        let client = Client::connect(&named, &Options::default()).await.unwrap();
        assert_eq!(client.card().name, "New");
    }
    let other = url.join("other").unwrap();
    let error = Client::connect(&other, &Options::default()).await.unwrap_err();
    let places = format!("{other}{CARD} and {other}/.well-known/agent.json");
    assert_eq!(error.to_string(), format!("card at {places}: HTTP status 404"));
}
