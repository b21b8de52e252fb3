//! Tests that credentials are sent with every request, and only to their agent.

use bridge_client::{BearerToken, Client, Credentials, Fault, Options};
use serde_json::{Value, json};
use url::Url;

use crate::server::{card_0_3, hello, reply, serve};

const CARD: &str = "/.well-known/agent-card.json";

fn options() -> Options {
    let credentials = Credentials::default().bearer("hunter2").unwrap();
    Options {
        credentials: credentials.header("X-API-Key", "swordfish").unwrap(),
        ..Options::default()
    }
}

#[tokio::test]
async fn they_are_sent_and_what_repeats_them_is_not_told() {
    let answer = || reply(403, "text/plain", "hunter2 may not, nor may swordfish");
    let (url, asked) = serve(CARD, card_0_3(), answer).await;
    let client = Client::connect(&url, &options()).await.unwrap();
    let waiting = client.send_message(hello()).await.unwrap_err();
    let streaming = client.send_streaming_message(hello()).await.unwrap_err();
    for error in [waiting, streaming] {
        let shown = format!("{error} {error:?}");
        assert!(shown.contains("*** may not, nor may ***"), "{shown}");
        assert!(!shown.contains("hunter2") && !shown.contains("swordfish"));
    }
    let asked = asked.lock().unwrap().clone();
    assert_eq!(asked.len(), 2);
    for (headers, _) in asked {
        assert_eq!(headers["authorization"], "Bearer hunter2");
        assert_eq!(headers["x-api-key"], "swordfish");
    }
    assert!(!format!("{client:?}").contains("hunter2"));
}

#[tokio::test]
async fn a_token_is_replaced_while_a_client_uses_it() {
    let answer = || reply(401, "text/plain", "first or second has expired");
    let (url, asked) = serve(CARD, card_0_3(), answer).await;
    let token = BearerToken::new("first").unwrap();
    let options = Options {
        credentials: Credentials::default()
            .bearer("replaced by the next one")
            .unwrap()
            .bearer_token(&token),
        ..Options::default()
    };
    let client = Client::connect(&url, &options).await.unwrap();
    let refused = client.send_message(hello()).await.unwrap_err();
    assert!(matches!(refused.fault, Fault::Unauthenticated { .. }));
    token.replace("second").unwrap();
    assert!(token.replace("two\nlines").is_err());
    let refused = client.send_streaming_message(hello()).await.unwrap_err();
    let told = refused.to_string();
    assert!(told.ends_with("first or *** has expired"), "{told}");
    assert!(!format!("{client:?} {token:?}").contains("second"));
    let asked = asked.lock().unwrap().clone();
    let sent: Vec<_> =
        asked.iter().map(|(headers, _)| headers["authorization"].to_str().unwrap()).collect();
    assert_eq!(sent, ["Bearer first", "Bearer second"]);
}

#[tokio::test]
async fn a_card_cannot_have_them_sent_elsewhere() {
    let card = json!({"name": "Thief", "url": "http://thief.test/", "protocolVersion": "0.3.0",
        "preferredTransport": "JSONRPC"});
    let (url, _) = serve(CARD, card, || reply(200, "text/plain", "")).await;
    let error = Client::connect(&url, &options()).await.unwrap_err();
    let shown = error.to_string();
    assert!(shown.contains("names http://thief.test/ for messages"), "{shown}");
    let elsewhere = Url::parse("http://thief.test/").unwrap();
    assert_ne!(url.origin(), elsewhere.origin());
    assert!(Client::connect(&url, &Options::default()).await.is_ok());
}

/// Returns a card that requires any of these lists of schemes.
fn card(asked: &Value) -> Value {
    let key = |location| json!({"apiKeySecurityScheme": {"location": location, "name": "key"}});
    let http = |scheme| json!({"httpAuthSecurityScheme": {"scheme": scheme}});
    let schemes = |names: &Value| {
        let names = names.as_array().unwrap().iter();
        let schemes: serde_json::Map<_, _> =
            names.map(|name| (name.as_str().unwrap().to_owned(), json!({"list": []}))).collect();
        json!({ "schemes": schemes })
    };
    let asked: Vec<_> = asked.as_array().unwrap().iter().map(schemes).collect();
    json!({"name": "Guarded", "securityRequirements": asked,
        "supportedInterfaces": [{"url": "URL", "protocolBinding": "JSONRPC", "protocolVersion": "1.0"}],
        "securitySchemes": {"in-header": key("header"), "in-query": key("query"), "in-cookie": key("cookie"),
            "user": http("basic"), "token": http("bearer"), "tls": {"mtlsSecurityScheme": {}},
            "oidc": {"openIdConnectSecurityScheme": {"openIdConnectUrl": "https://id.test/"}}}})
}

fn holding(names: &[&str]) -> Options {
    let hold = |held: Credentials, name: &&str| held.named(name, &format!("{name}:x")).unwrap();
    Options { credentials: names.iter().fold(Credentials::default(), hold), ..Options::default() }
}

#[tokio::test]
async fn credentials_are_sent_as_the_card_declares() {
    let basic = "Basic dXNlcjp4";
    for (asked, held, shown) in [
        (json!([["in-header"]]), vec!["in-header", "token"], vec![("key", "in-header:x")]),
        (json!([["in-cookie"]]), vec!["in-cookie"], vec![("cookie", "key=in-cookie:x")]),
        (json!([["user"]]), vec!["user"], vec![("authorization", basic)]),
        (json!([["oidc"], ["token"]]), vec!["token"], vec![("authorization", "Bearer token:x")]),
        (
            json!([["token", "in-header"], ["user"]]),
            vec!["token", "in-header", "user"],
            vec![("authorization", "Bearer token:x"), ("key", "in-header:x")],
        ),
        (json!([[], ["token"]]), vec!["token"], vec![("authorization", "Bearer token:x")]),
        (json!([["token"], []]), vec!["user"], vec![]),
        (json!([]), vec!["oidc", "tls"], vec![("authorization", "Bearer oidc:x")]),
    ] {
        let (url, requests) = serve(CARD, card(&asked), || reply(500, "text/plain", "")).await;
        let client = Client::connect(&url, &holding(&held)).await.unwrap();
        client.send_message(hello()).await.unwrap_err();
        let headers = requests.lock().unwrap()[0].0.clone();
        let secrets = ["authorization", "cookie", "key"].into_iter().filter_map(|name| {
            let value = headers.get(name)?;
            Some((name, value.to_str().unwrap()))
        });
        assert_eq!(secrets.collect::<Vec<_>>(), shown, "{asked}");
    }
}

#[tokio::test]
async fn a_key_in_the_query_is_shown_and_not_told() {
    let (url, _) = serve(CARD, card(&json!([["in-query"]])), || {
        reply(500, "text/plain", "in-query:x is no key")
    })
    .await;
    let client = Client::connect(&url, &holding(&["in-query"])).await.unwrap();
    let error = client.send_message(hello()).await.unwrap_err();
    let shown = format!("{error} {error:?} {client:?}");
    assert!(shown.contains("*** is no key") && !shown.contains("in-query:x"), "{shown}");
}

#[tokio::test]
async fn credentials_for_other_hosts_are_named_in_the_error() {
    let asked = json!([["oidc"], ["token", "in-header"]]);
    let (url, requests) = serve(CARD, card(&asked), || reply(500, "text/plain", "")).await;
    let error = Client::connect(&url, &holding(&["user", "token"])).await.unwrap_err();
    let expected = "the card requires credentials for oidc, or in-header and token, \
        but those given are for token, user";
    assert!(error.to_string().ends_with(expected), "{error}");
    assert!(requests.lock().unwrap().is_empty());
}

#[tokio::test]
async fn a_closed_door_says_what_opens_it() {
    let answer = || {
        let mut answer = reply(
            401,
            "application/json",
            r#"{"jsonrpc":"2.0","id":1,"error":{"code":-32001,"message":"who are you?"}}"#,
        );
        let challenge = "Bearer realm=\"agents\"".parse().unwrap();
        answer.headers_mut().insert("www-authenticate", challenge);
        answer
    };
    let (url, _) = serve(CARD, card_0_3(), answer).await;
    let client = Client::connect(&url, &Options::default()).await.unwrap();
    let error = client.send_message(hello()).await.unwrap_err();
    assert_eq!(
        error.to_string(),
        format!(
            "SendMessage at {url}: the agent requires valid credentials \
            (it asks for Bearer realm=\"agents\"): who are you? (-32001)"
        )
    );
    let (url, _) = serve(CARD, card_0_3(), || reply(401, "text/plain", "")).await;
    let client = Client::connect(&url, &Options::default()).await.unwrap();
    let error = client.send_message(hello()).await.unwrap_err();
    assert!(error.to_string().ends_with("the agent requires valid credentials"), "{error}");
    let (url, _) = serve(CARD, card_0_3(), || reply(403, "text/plain", "not you")).await;
    let client = Client::connect(&url, &Options::default()).await.unwrap();
    let error = client.send_streaming_message(hello()).await.unwrap_err();
    assert!(matches!(error.fault, Fault::Forbidden { challenge: None, .. }), "{error}");
}
