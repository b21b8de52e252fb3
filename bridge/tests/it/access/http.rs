//! Tests credentials over HTTP, and the answers to missing and wrong ones.

use axum::http::{StatusCode, header::WWW_AUTHENTICATE};
use insta::assert_snapshot;
use serde_json::{Value, json};

use super::{ISSUER, guarded, json as body, secrets, send, token, tokens};
use crate::app;

fn need(all: &[&str]) -> Value {
    let one = |name: &&str| ((*name).to_owned(), json!({"list": []}));
    json!([{"schemes": all.iter().map(one).collect::<serde_json::Map<_, _>>()}])
}

/// Health checks of load balancers have no credentials.
#[tokio::test]
async fn an_address_is_checked_without_credentials() {
    let scheme = json!({"s": {"httpAuthSecurityScheme": {"scheme": "Bearer"}}});
    let app = guarded(&scheme, &need(&["s"]), &[("s", secrets(&[("me", "s3cret")]))]).await;
    for path in ["/", "/a2a", "/a2a/echo"] {
        assert_eq!(app::get(&app, path, None).await.status(), StatusCode::OK, "{path}");
        assert_eq!(send(&app, path, &[]).await.status(), StatusCode::UNAUTHORIZED, "{path}");
    }
}

#[tokio::test]
async fn each_scheme_accepts_its_declared_credential() {
    let key = |at: &str| json!({"apiKeySecurityScheme": {"location": at, "name": "x-key"}});
    let http = |scheme: &str| json!({"httpAuthSecurityScheme": {"scheme": scheme}});
    let oauth = json!({"oauth2SecurityScheme": {"flows": {"clientCredentials": {
        "tokenUrl": "https://id.test/token", "scopes": {}}}}});
    let oidc = json!({"openIdConnectSecurityScheme": {"openIdConnectUrl": "https://id.test/m"}});
    let good = format!("Bearer {}", token(ISSUER, "me", &json!({})));
    let late = format!("Bearer {}", token(ISSUER, "me", &json!({"exp": 1})));
    let other = format!("Bearer {}", token(ISSUER, "me", &json!({"aud": "x"})));
    let known = || secrets(&[("me", "s3cret")]);
    for (scheme, check, right, wrong) in [
        (key("header"), known(), ("x-key", "s3cret"), ("x-key", "guess")),
        (key("cookie"), known(), ("cookie", "x-key=s3cret"), ("cookie", "x-key=guess")),
        (
            http("basic"),
            known(),
            ("authorization", "Basic bWU6czNjcmV0"),
            ("authorization", "Basic bWU6eA=="),
        ),
        (
            http("Bearer"),
            known(),
            ("authorization", "Bearer s3cret"),
            ("authorization", "Bearer guess"),
        ),
        (http("Bearer"), tokens(), ("authorization", &good), ("authorization", &late)),
        (oauth, tokens(), ("authorization", &good), ("authorization", &other)),
        (oidc, tokens(), ("authorization", &good), ("authorization", "Bearer e30.e30.e30")),
    ] {
        let app = guarded(&json!({"s": scheme}), &need(&["s"]), &[("s", check)]).await;
        let answer = send(&app, "/a2a", &[right]).await;
        assert_eq!(answer.status(), StatusCode::OK, "{scheme}");
        let (_, answered) = body(answer).await;
        assert!(answered["result"]["task"].is_object(), "{answered}");
        for shown in [vec![wrong], vec![]] {
            let refused = send(&app, "/a2a", &shown).await;
            assert_eq!(refused.status(), StatusCode::UNAUTHORIZED, "{scheme}");
            assert!(refused.headers().contains_key(WWW_AUTHENTICATE));
            let text = app::text(refused).await;
            assert!(!text.contains("guess") && !text.contains("s3cret"), "{text}");
        }
    }
    let app = guarded(&json!({"s": key("query")}), &need(&["s"]), &[("s", known())]).await;
    assert_eq!(send(&app, "/a2a?x-key=s3cret", &[]).await.status(), StatusCode::OK);
    assert_eq!(send(&app, "/a2a?x-key=guess", &[]).await.status(), StatusCode::UNAUTHORIZED);
}

#[tokio::test]
async fn refusals_say_what_to_show() {
    let schemes = json!({
        "key": {"apiKeySecurityScheme": {"location": "header", "name": "X-Key"}},
        "password": {"httpAuthSecurityScheme": {"scheme": "Basic"}},
        "token": {"httpAuthSecurityScheme": {"scheme": "Bearer"}},
    });
    let requirements = json!([
        {"schemes": {"token": {"list": ["ask", "tell"]}}},
        {"schemes": {"key": {"list": []}, "password": {"list": []}}},
    ]);
    let known = || secrets(&[("me", "s3cret")]);
    let checks = [("key", known()), ("password", known()), ("token", tokens())];
    let app = guarded(&schemes, &requirements, &checks).await;
    let poor = format!("Bearer {}", token(ISSUER, "me", &json!({"scope": "ask"})));
    let rich = format!("Bearer {}", token(ISSUER, "me", &json!({"scope": "ask tell"})));
    let stranger = format!("Bearer {}", token("https://evil.test\"", "me", &json!({})));
    let mut told = String::new();
    for (what, path, headers) in [
        ("nothing, in 1.0", "/a2a", &[("a2a-version", "1.0")][..]),
        ("nothing, in 0.3", "/a2a/echo", &[]),
        ("a bare task of 0.1", "/tasks/send", &[]),
        ("a key alone", "/", &[("x-key", "s3cret")]),
        ("a stranger's token", "/a2a", &[("authorization", &stranger)]),
        ("too few scopes", "/a2a", &[("authorization", &poor)]),
        ("all scopes", "/a2a", &[("authorization", &rich)]),
    ] {
        let answer = send(&app, path, headers).await;
        told += &format!("## {what}\n{}\n", answer.status());
        for challenge in answer.headers().get_all(WWW_AUTHENTICATE) {
            told += &format!("www-authenticate: {}\n", challenge.to_str().unwrap());
        }
        let (status, answered) = body(answer).await;
        if status != StatusCode::OK {
            told += &format!("{}\n", serde_json::to_string_pretty(&answered).unwrap());
        }
    }
    assert_snapshot!(told);
}

#[tokio::test]
async fn cards_and_health_are_for_everybody() {
    let schemes = json!({"s": {"httpAuthSecurityScheme": {"scheme": "Bearer"}}});
    let app = guarded(&schemes, &need(&["s"]), &[("s", tokens())]).await;
    for path in [
        "/.well-known/agent-card.json",
        "/.well-known/agent.json",
        "/a2a/echo/.well-known/agent-card.json",
        "/a2a/catalog",
        "/healthz",
        "/readyz",
    ] {
        assert_eq!(app::get(&app, path, None).await.status(), StatusCode::OK, "{path}");
    }
}

#[tokio::test]
async fn the_openapi_document_says_how_agents_refuse() {
    let schemes = json!({"s": {"httpAuthSecurityScheme": {"scheme": "Bearer"}}});
    let app = guarded(&schemes, &need(&["s"]), &[("s", tokens())]).await;
    for (app, is_said) in [(app, true), (app::app().await, false)] {
        let (_, document) = body(app::get(&app, "/openapi.json", None).await).await;
        for (path, method) in [("/", "post"), ("/tasks", "get"), ("/v1/card", "get")] {
            let responses = &document["paths"][path][method]["responses"];
            assert_eq!(responses.get("401").is_some(), is_said, "{path}");
        }
        let card = &document["paths"]["/.well-known/agent-card.json"]["get"]["responses"];
        assert!(card["200"].is_object() && card.get("401").is_none());
    }
}
