//! What is found in cards that others wrote, and in ones with everything wrong.

use bridge_protocol::lint::lint;
use serde_json::{Value, json};

/// The findings of a card, one a line.
fn shown(document: &Value) -> String {
    let (generation, findings) = lint(document);
    let generation = generation.map_or("none".to_owned(), |one| format!("{one:?}"));
    let lines = findings.iter().map(|one| {
        format!(
            "{} {} [{}]\n    {}\n    fix: {}\n",
            one.level, one.path, one.rule, one.message, one.fix
        )
    });
    format!("generation {generation}\n{}", lines.collect::<String>())
}

#[test]
fn cards_in_the_field() {
    insta::glob!(
        "../../../../snapshots/wire",
        "{agentbeats,minimal,sdk,specification,v0_1}/*{card,card-template}.json",
        |path| {
            let document: Value = serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap();
            let card = match document.get("result") {
                Some(card) => card,
                None => &document,
            };
            insta::assert_snapshot!(shown(card));
        }
    );
}

#[test]
fn everything_wrong_at_once() {
    let wrong_1_0 = json!({
        "name": " ", "description": "d", "version": "1",
        "supportedInterfaces": [
            {"url": "/a2a", "protocolBinding": "SOAP", "protocolVersion": "latest"},
            {"url": "http://agents.test/a2a", "protocolBinding": "JSONRPC", "protocolVersion": "1.0.0"},
            {"url": "http://agents.test/a2a", "protocolBinding": "JSONRPC", "protocolVersion": "1.0.0"},
            {"url": "https://a b/", "protocolBinding": "urn:own", "protocolVersion": "1.0"},
        ],
        "icon_url": "x", "iconUrl": "icon.png",
        "capabilities": {"extendedAgentCard": true},
        "defaultInputModes": ["text", "json", "voice"], "defaultOutputModes": [],
        "provider": {"organization": ""},
        "skills": [
            {"id": "s", "name": "S", "description": "<What it does>", "tags": []},
            {"id": "s"},
        ],
        "securitySchemes": {
            "key": {"apiKeySecurityScheme": {"location": "body", "name": "k"}},
            "query": {"apiKeySecurityScheme": {"location": "query", "name": "k"}},
            "odd": {"type": "http"},
            "oidc": {"openIdConnectSecurityScheme": {"openIdConnectUrl": "http://id.test/m"}},
            "old": {"oauth2SecurityScheme": {"flows": {"implicit": {"scopes": {}}}}},
        },
        "securityRequirements": [
            {"schemes": {"key": {"list": []}, "lock": {"list": []}}}, {"schemes": {"old": {"list": []}}},
        ],
        "signatures": [{"protected": "e30", "signature": ""}],
    });
    let wrong_0_3 = json!({
        "protocolVersion": "0.3.0", "url": "agents.test", "preferredTransport": "REST",
        "additionalInterfaces": [{"url": "grpc://h", "transport": ""}],
        "supportsAuthenticatedExtendedCard": true, "security": [{"none": []}],
    });
    let cards = [
        wrong_1_0,
        wrong_0_3,
        json!([]),
        json!({"name": 7, "url": "http://localhost"}),
    ];
    insta::assert_snapshot!(cards.iter().map(shown).collect::<Vec<_>>().join("\n"));
}

#[test]
fn nothing_is_found_in_a_good_card() {
    let good = json!({
        "name": "n", "description": "d", "version": "1.0.0", "capabilities": {},
        "supportedInterfaces": [
            {"url": "https://h.test/a2a", "protocolBinding": "JSONRPC", "protocolVersion": "1.0"},
        ],
        "defaultInputModes": ["text/plain"], "defaultOutputModes": ["text/plain"],
        "skills": [{"id": "s", "name": "S", "description": "d", "tags": []}],
    });
    assert_eq!(lint(&good).1, []);
}
