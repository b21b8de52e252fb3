//! Tests skills with requirements in the configuration, as clients call them: refusals name the missing credentials.

use std::fs;

use bridge_client::{
    Binding, ClientError, Credentials, Fault, Options,
    discovery::Discovered,
    invocation::{Invocation, InvocationError, invoke},
};
use reqwest::{Client, Url};
use serde_json::{Map, Value, json};

use super::{
    ISSUER, jwks,
    program::{folder, serve},
    token,
};
use crate::program::Bridge;

const CONFIG: &str = r#"
grpc = { card = true }

[[agents]]
name = "a"
builtin = "echo"
access.token.token = { issuer = "https://id.test", audience = ["echo-agent"], jwks_file = "keys.json" }

[agents.card]
security_schemes.token.httpAuthSecurityScheme = { scheme = "Bearer" }
skills = [
    { id = "refund", description = "d", input_schema = {}, security = [{ token = ["pay"] }] },
    { id = "talk", description = "d" },
]

[agents.extended_card]
skills = [{ id = "audit", description = "d", security = [{ token = ["look"] }] }]
"#;

/// Returns the agent by the card at this path.
async fn agent(bridge: &Bridge, path: &str) -> Discovered {
    let http = Client::builder().no_proxy().build().unwrap();
    let at: Url = format!("{}{path}", bridge.url()).parse().unwrap();
    let card = http.get(at.clone()).send().await.unwrap();
    Discovered::from_card(card.json().await.unwrap(), at).unwrap()
}

fn options(binding: Option<Binding>, scope: Option<&str>) -> Options {
    let token = |scope| token(ISSUER, "me", &json!({"scope": scope}));
    let credentials =
        scope.into_iter().fold(Credentials::default(), |all, one| all.bearer(&token(one)).unwrap());
    Options { binding, credentials, ..Options::default() }
}

/// Returns the outcome of a call: a word, and the required credentials.
async fn called(agent: &Discovered, skill: &str, options: &Options) -> (&'static str, String) {
    let call = Invocation::new("m-1", skill, Map::new());
    let error = match invoke(agent, &call, options).await {
        // The reaction of an agent that repeats the message does not matter here.
        Ok(_) => return ("called", String::new()),
        Err(InvocationError::Agent(ClientError { fault, .. })) => fault,
        Err(other) => panic!("{other}"),
    };
    match error {
        Fault::Unauthenticated { challenge, .. } => ("unknown", challenge.unwrap_or_default()),
        Fault::Forbidden { challenge, explanation } => {
            let expected = "the skill refund: the token for token lacks";
            assert!(explanation.contains(expected), "{explanation}");
            ("forbidden", challenge.unwrap_or_default())
        }
        other => panic!("{other}"),
    }
}

#[tokio::test]
async fn every_binding_reports_what_a_skill_requires() {
    let folder = folder(CONFIG);
    fs::write(folder.path().join("keys.json"), jwks().to_string()).unwrap();
    let bridge = serve(folder.path());
    let card = "/.well-known/agent-card.json";
    let mut ways = vec![
        (card, Some(Binding::JsonRpc)),
        (card, Some(Binding::HttpJson)),
        ("/agent-card", None),
    ];
    if cfg!(feature = "grpc") {
        ways.push((card, Some(Binding::Grpc)));
    }
    let more = r#"Bearer realm="a", error="insufficient_scope", scope="pay""#;
    for (card, binding) in ways {
        let agent = agent(&bridge, card).await;
        for (scope, expected) in [
            (None, ("unknown", r#"Bearer realm="a""#)),
            (Some("look"), ("forbidden", more)),
            (Some("pay look"), ("called", "")),
        ] {
            let (word, asked) = called(&agent, "refund", &options(binding, scope)).await;
            assert_eq!((word, asked.as_str()), expected, "{binding:?} {scope:?}");
        }
    }
}

#[tokio::test]
async fn the_file_says_what_a_skill_needs() {
    let folder = folder(CONFIG);
    fs::write(folder.path().join("keys.json"), jwks().to_string()).unwrap();
    let bridge = serve(folder.path());
    let http = Client::builder().no_proxy().build().unwrap();
    for (skill, scope, expected) in [
        ("refund", None, 401),
        ("refund", Some("look"), 403),
        ("refund", Some("pay"), 200),
        ("audit", None, 401),
        ("audit", Some("pay"), 403),
        ("audit", Some("look"), 200),
        ("talk", None, 200),
    ] {
        let mut params = crate::app::say("m", "hi");
        params["message"]["metadata"] = json!({"skillId": skill});
        let body: Value =
            json!({"jsonrpc": "2.0", "id": 1, "method": "SendMessage", "params": params});
        let post = http.post(format!("{}/a2a", bridge.url())).json(&body);
        let post = scope.into_iter().fold(post, |post, scope| {
            post.bearer_auth(token(ISSUER, "me", &json!({"scope": scope})))
        });
        let seen = post.send().await.unwrap().status().as_u16();
        assert_eq!(seen, expected, "{skill} {scope:?}");
    }
}
