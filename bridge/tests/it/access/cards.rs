//! Tests the public card, which may be cached, and the card for authenticated callers.

use axum::http::StatusCode;
#[cfg(feature = "grpc")]
use bridge_protocol::a2a::Operation;
use serde_json::{Value, json};

use super::{ISSUER, guarded, token, tokens, ways::ApiCall};
use crate::app;

fn bearer() -> String {
    format!("Bearer {}", token(ISSUER, "me", &json!({})))
}

fn schemes() -> Value {
    json!({"s": {"httpAuthSecurityScheme": {"scheme": "Bearer"}}})
}

/// Returns the extended card in every binding, with where its interfaces stand.
fn ways() -> Vec<(&'static str, ApiCall)> {
    let get = |path: &str| ApiCall::Get(path.to_owned());
    vec![
        ("/result/supportedInterfaces", ApiCall::Rpc("1.0", "GetExtendedAgentCard", json!({}))),
        ("/result/url", ApiCall::Rpc("0.3", "agent/getAuthenticatedExtendedCard", json!({}))),
        ("/supportedInterfaces", get("/a2a/extendedAgentCard")),
        ("/supportedInterfaces", get("/extendedAgentCard")),
        ("/url", get("/a2a/v1/card")),
        #[cfg(feature = "grpc")]
        ("/supportedInterfaces", ApiCall::Grpc(Operation::GetExtendedAgentCard, json!({}))),
    ]
}

#[tokio::test]
async fn known_callers_are_shown_more() {
    let needed = json!([{"schemes": {"s": {"list": []}}}]);
    for requirements in [json!([]), needed] {
        let app = guarded(&schemes(), &requirements, &[("s", tokens())]).await;
        let good = bearer();
        for (at, way) in ways() {
            let told = way.ask(&app, &[("authorization", &good)]).await;
            let card = told.json();
            assert!(!card.pointer(at).unwrap().is_null(), "{card}");
            let of = at.rsplit_once('/').unwrap().0;
            assert_eq!(card.pointer(&format!("{of}/skills/0/id")), Some(&json!("secret")));
            for wrong in [None, Some(("authorization", "Bearer e30.e30.e30"))] {
                let told = way.ask(&app, wrong.as_slice()).await;
                assert_eq!(told.status, 401, "{at}: {told:?}");
                assert!(told.challenges[0].starts_with("Bearer realm=\"echo\""));
                assert!(!told.text.contains("For friends."), "{told:?}");
            }
        }
    }
}

#[tokio::test]
async fn nobody_keeps_what_is_one_callers() {
    let app = guarded(&schemes(), &json!([]), &[("s", tokens())]).await;
    let good = bearer();
    for path in ["/a2a/extendedAgentCard", "/a2a/v1/card", "/a2a/tasks", "/a2a/tasks/none"] {
        let told = ApiCall::Get(path.to_owned());
        let told = told.ask(&app, &[("authorization", &good)]).await;
        assert_eq!(told.headers["cache-control"], "no-store", "{path}");
    }
}

#[tokio::test]
async fn everybody_sees_the_same_card_and_may_keep_it() {
    let needed = json!([{"schemes": {"s": {"list": []}}}]);
    let app = guarded(&schemes(), &needed, &[("s", tokens())]).await;
    let good = bearer();
    for path in [
        "/.well-known/agent-card.json",
        "/.well-known/agent.json",
        "/agent.json",
        "/a2a/echo/.well-known/agent-card.json",
        "/a2a/catalog",
    ] {
        let way = ApiCall::Get(path.to_owned());
        let told = way.ask(&app, &[]).await;
        assert_eq!(told.status, 200, "{path}");
        assert_eq!(told.headers["cache-control"], "public, max-age=60", "{path}");
        assert_eq!(told.headers["vary"], "A2A-Version", "{path}");
        assert!(told.headers.contains_key("last-modified"), "{path}");
        let known = way.ask(&app, &[("authorization", &good)]).await;
        assert_eq!((&known.text, &known.headers), (&told.text, &told.headers));
        let etag = told.headers["etag"].to_str().unwrap();
        let again = way.ask(&app, &[("if-none-match", etag)]).await;
        assert_eq!((again.status, again.text.as_str()), (304, ""), "{path}");
        assert_eq!(again.headers["etag"], told.headers["etag"], "{path}");
    }
    let both = ApiCall::Get("/.well-known/agent-card.json".to_owned());
    let (both, pure) = (both.ask(&app, &[]).await, both.ask(&app, &[("a2a-version", "1.0")]).await);
    assert_ne!(both.headers["etag"], pure.headers["etag"]);
}

#[tokio::test]
async fn a_card_says_whether_there_is_more() {
    let open = guarded(&schemes(), &json!([]), &[("s", tokens())]).await;
    let public = ApiCall::Get("/.well-known/agent-card.json".to_owned());
    let public = public.ask(&open, &[]).await.json();
    assert_eq!(public["capabilities"]["extendedAgentCard"], true);
    assert_eq!(public["supportsAuthenticatedExtendedCard"], true);
    assert_eq!(public["skills"], json!([]));
    let plain = app::app().await;
    for (_, way) in ways() {
        let none = way.ask(&plain, &[]).await;
        let is_told = [StatusCode::OK, StatusCode::BAD_REQUEST].map(|status| status.as_u16());
        assert!(is_told.contains(&none.status), "{none:?}");
        assert!(
            none.text.contains("UNSUPPORTED_OPERATION")
                || none.text.contains("EXTENDED_AGENT_CARD_NOT_CONFIGURED"),
            "{none:?}"
        );
    }
}
