//! Tests that refused callers are counted by agent, outcome and scheme, without naming them.

#[cfg(feature = "grpc")]
use bridge_protocol::a2a::Operation;
use serde_json::json;

use super::{ISSUER, hosted, secrets, token, tokens, ways::ApiCall};
use crate::app;

#[tokio::test]
async fn refusals_are_counted_by_what_was_wrong() {
    let card = json!({
        "securitySchemes": {
            "staff": {"httpAuthSecurityScheme": {"scheme": "Bearer"}},
            "key": {"apiKeySecurityScheme": {"location": "header", "name": "X-Key"}},
        },
        "securityRequirements": [
            {"schemes": {"staff": {"list": ["ask"]}}}, {"schemes": {"key": {"list": []}}},
        ],
        "skills": [{"id": "refund", "name": "r", "description": "d", "tags": [],
            "securityRequirements": [{"schemes": {"staff": {"list": ["pay"]}}}]}],
    });
    let checks = [("staff", tokens()), ("key", secrets(&[("ci", "s3cret")]))];
    let app = hosted(&card, &checks).await;
    let (poor, asking) = (token(ISSUER, "me", &json!({})), json!({"scope": "ask"}));
    let poor = format!("Bearer {poor}");
    let asking = format!("Bearer {}", token(ISSUER, "me", &asking));
    let named = json!({"message": {"messageId": "m", "role": "ROLE_USER",
        "parts": [{"data": {"skill_id": "refund"}}]}});
    let rpc = || ApiCall::Rpc("1.0", "SendMessage", named.clone());
    let rest = || ApiCall::Get("/a2a/tasks".to_owned());
    for (way, shown) in [
        (rpc(), None),
        (rest(), None),
        (rest(), Some(("x-key", "guess"))),
        (rest(), Some(("authorization", "Bearer guess"))),
        (rpc(), Some(("authorization", poor.as_str()))),
        (rpc(), Some(("authorization", asking.as_str()))),
        (rpc(), Some(("x-key", "s3cret"))),
        #[cfg(feature = "grpc")]
        (
            ApiCall::Grpc(Operation::SendMessage, named.clone()),
            Some(("authorization", asking.as_str())),
        ),
        // These requests are admitted.
        (rest(), Some(("x-key", "s3cret"))),
        (rest(), Some(("authorization", asking.as_str()))),
    ] {
        way.ask(&app, shown.as_slice()).await;
    }
    let text = app::text(app::get(&app, "/metrics", None).await).await;
    let is_ours = |line: &&str| line.starts_with("bridge_refusals_total");
    let mut counts: Vec<&str> = text.lines().filter(is_ours).collect();
    counts.sort_unstable();
    let count = |outcome: &str, scheme: &str, count: u32| {
        format!(
            r#"bridge_refusals_total{{agent="echo",outcome="{outcome}",scheme="{scheme}"}} {count}"#
        )
    };
    let scopes = if cfg!(feature = "grpc") { 3 } else { 2 };
    assert_eq!(
        counts,
        [
            count("forbidden", "none", 1),
            count("forbidden", "staff", scopes),
            count("unauthenticated", "key", 1),
            count("unauthenticated", "none", 2),
            count("unauthenticated", "staff", 1),
        ]
    );
    assert!(!text.contains(ISSUER), "nobody is named: {text}");
}
