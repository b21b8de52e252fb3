//! Tests of the findings in existing cards, and in cards with mistakes.

use bridge_verify::lint::lint;
use serde_json::{Value, json};

/// Returns the findings of a card, one per line.
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
    let cards = [wrong_1_0, wrong_0_3, json!([]), json!({"name": 7, "url": "http://localhost"})];
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

/// A valid card with one change, and the findings.
#[test]
fn each_mistake_is_found_by_itself() {
    let good = json!({
        "name": "n", "description": "d", "version": "1.0.0", "capabilities": {},
        "supportedInterfaces": [
            {"url": "https://h.test/a2a", "protocolBinding": "JSONRPC", "protocolVersion": "1.0"},
        ],
        "defaultInputModes": ["text/plain"], "defaultOutputModes": ["text/plain"],
        "skills": [{"id": "s", "name": "S", "description": "d", "tags": []}],
    });
    let es256 = "eyJhbGciOiJFUzI1NiIsImtpZCI6ImsifQ";
    for (pointer, value, expected) in [
        (
            "/supportedInterfaces/0/url",
            json!("ftp://h.test"),
            "error supportedInterfaces[0].url [url]",
        ),
        (
            "/supportedInterfaces/0/url",
            json!("https://<HOST>/a2a"),
            "error supportedInterfaces[0].url [url]",
        ),
        (
            "/supportedInterfaces/0/url",
            json!("http://0.0.0.0:9009/a2a"),
            "warning supportedInterfaces[0].url [unspecified-address]",
        ),
        (
            "/supportedInterfaces/0",
            json!({"url": "[::]:50051", "protocolBinding": "GRPC", "protocolVersion": "1.0"}),
            "warning supportedInterfaces[0].url [unspecified-address]",
        ),
        (
            "/supportedInterfaces/0",
            json!({"url": "[::1]:50051", "protocolBinding": "GRPC", "protocolVersion": "1.0"}),
            "note supportedInterfaces[0].url [local-address]",
        ),
        ("/documentationUrl", json!("https://h.test/{{version}}"), "error documentationUrl [url]"),
        ("/supportedInterfaces", json!([]), "error url [readable]"),
        ("/supportedInterfaces", json!([]), "write its address, such as \"url\""),
        (
            "/supportedInterfaces/0/url",
            json!("https://me:hunter2@h.test"),
            "error supportedInterfaces[0].url [url-credentials]",
        ),
        (
            "/supportedInterfaces/0/protocolVersion",
            json!("2.0"),
            "warning supportedInterfaces[0].protocolVersion [protocol-version]",
        ),
        (
            "/supportedInterfaces/0/protocolVersion",
            json!("2.0"),
            "error supportedInterfaces [reachable]",
        ),
        (
            "/supportedInterfaces/0/protocolBinding",
            json!("urn:own"),
            "error supportedInterfaces [reachable]",
        ),
        ("/supportedInterfaces/0/protocolBinding", json!(""), "is empty"),
        ("/name", json!("a\u{1b}[2J"), "error name [characters]"),
        ("/name", json!("a\nb"), "error name [characters]"),
        ("/description", json!("\u{202e}b"), "error description [characters]"),
        ("/version", json!(1.0), "expected a string, found the number 1.0"),
        ("/capabilities", json!(["streaming"]), "expected an object, found a list"),
        ("/capabilities", json!(null), "is missing"),
        ("/skills", json!({"s": {}}), "expected a list, found an object"),
        ("/skills/0/tags", json!("tea"), "expected a list, found the string"),
        ("/defaultInputModes", json!("text/plain"), "expected a list, found the string"),
        (
            "/signatures",
            json!([{"protected": es256, "signature": "AAAA"}]),
            "error signatures[0].signature [signature]",
        ),
    ] {
        let mut card = good.clone();
        card["signatures"] = json!([]);
        card["documentationUrl"] = json!("https://h.test/");
        *card.pointer_mut(pointer).unwrap() = value;
        let told = shown(&card);
        assert!(told.contains(expected) && !told.contains("hunter2"), "{told}");
    }
    let old = |version: &str| {
        shown(&json!({"name": "n", "url": "https://h.test", "protocolVersion": version}))
    };
    assert!(old("0.2.6").contains("\"0.2.6\" is A2A 0.2"), "{}", old("0.2.6"));
    assert!(old("").contains("is empty, so that"), "{}", old(""));
    let lines = shown(&json!({"name": "n", "url": "https://h.test", "description": "a\nb\tc"}));
    assert!(!lines.contains("characters"), "{lines}");
}

/// The SDKs of both versions pass what the card says to a gRPC channel, which takes host and port.
#[test]
fn a_grpc_interface_has_host_and_port_in_0_3_too() {
    let interface = |url: &str| json!({"url": url, "transport": "GRPC"});
    for (interfaces, main, expected) in [
        (json!([interface("h.test:50051")]), "https://h.test/a2a", None),
        (json!([]), "h.test:50051", None),
        (json!([interface("[::]:50051")]), "https://h.test/a2a", Some("[unspecified-address]")),
        (json!([interface("h.test")]), "https://h.test/a2a", Some("is no address of gRPC")),
    ] {
        let transport = if main.contains("://") { "JSONRPC" } else { "GRPC" };
        let card = json!({
            "name": "n", "description": "d", "version": "1.0.0", "protocolVersion": "0.3.0",
            "url": main, "preferredTransport": transport, "additionalInterfaces": interfaces,
            "capabilities": {}, "defaultInputModes": ["text/plain"], "defaultOutputModes": ["text/plain"],
            "skills": [{"id": "s", "name": "S", "description": "d", "tags": []}],
        });
        let told = shown(&card);
        match expected {
            Some(expected) => assert!(told.contains(expected), "{told}"),
            None => assert!(!told.contains("url"), "{told}"),
        }
    }
}
