//! Tests of discovery: which agents are found, and the errors when there are none.

use std::time::Duration;

use bridge_client::{
    Credentials,
    discovery::{Discovered, DiscoveryError, DiscoveryOptions, discover, discover_all},
};
use bridge_protocol::dialect::Generation;
use serde_json::{Value, json};
use url::Url;

use crate::site::{Answer, json as card, redirect, site};

/// Options that allow addresses of this machine.
fn here() -> DiscoveryOptions {
    DiscoveryOptions { allow_private: true, ..DiscoveryOptions::default() }
}

async fn found(answers: &[(&str, Answer)], path: &str) -> (Discovered, Vec<String>) {
    let site = site(answers).await;
    let target = site.url.join(path).unwrap();
    let found = discover(&target, &here()).await.unwrap();
    (found, site.lines())
}

/// Returns the error, with the site's address as `URL`, and the number of requests.
async fn refused(answers: &[(&str, Answer)], options: &DiscoveryOptions) -> (String, usize) {
    let site = site(answers).await;
    let error = discover(&site.url, options).await.unwrap_err();
    let base = site.url.as_str().trim_end_matches('/');
    (error.to_string().replace(base, "URL"), site.asked().len())
}

/// Returns the card in the document that describes the agent of a club, without its comments.
fn club() -> Value {
    let text = include_str!("../../../../snapshots/wire/v0_1/urmston-card.json");
    serde_json::from_str(text).unwrap()
}

/// Returns the card in the document that describes agents in a registry.
fn plan() -> Value {
    let text = include_str!("../../../../snapshots/wire/execute/plan-card.json");
    serde_json::from_str(text).unwrap()
}

#[tokio::test]
async fn cards_of_every_generation_are_found_in_their_places() {
    let v1 = json!({"name": "n", "supportedInterfaces": [
        {"url": "URL/x", "protocolBinding": "JSONRPC", "protocolVersion": "1.0"},
    ]});
    let v3 = json!({"name": "n", "url": "URL", "protocolVersion": "0.3.0"});
    for (line, document, generation, speaks) in [
        ("GET /.well-known/agent-card.json", v1, Generation::V1_0, "JSONRPC 1.0"),
        ("GET /.well-known/agent-card.json", v3, Generation::V0_3, "JSONRPC 0.3"),
        ("GET /.well-known/agent.json", club(), Generation::V0_1, "tasks/send 0.1"),
        ("GET /agent.json", json!({"name": "n", "url": "URL"}), Generation::V0_2, "JSONRPC 0.3"),
        ("GET /agent-card", plan(), Generation::Execute, "execute"),
        (
            "GET /agent-card",
            json!({"name": "n", "url": "URL", "skills": [{"id": "s"}]}),
            Generation::Execute,
            "execute",
        ),
    ] {
        let (found, _) = found(&[(line, card(&document))], "").await;
        assert_eq!(found.generation, generation, "{line}");
        assert_eq!(found.endpoint.name(), speaks);
        assert!(line.ends_with(found.found_at.path()));
    }
}

/// Editors on Windows write it (RFC 8259, 8.1).
#[tokio::test]
async fn a_byte_order_mark_before_a_card_is_ignored() {
    let document = json!({"name": "n", "url": "URL", "protocolVersion": "0.3.0"});
    let marked = (200, None, format!("\u{feff}{document}"));
    let (found, _) = found(&[("GET /.well-known/agent-card.json", marked)], "").await;
    assert_eq!(found.generation, Generation::V0_3);
}

#[tokio::test]
async fn skills_are_something_to_call() {
    let (club, _) = found(&[("GET /.well-known/agent.json", card(&club()))], "").await;
    let skill = club.skill("check_team_availability_v1").unwrap();
    assert_eq!(skill.name, "TeamVacancyCheck");
    assert_eq!(skill.examples.len(), 2);
    let parameters = skill.parameters_schema.as_ref().unwrap();
    assert_eq!(parameters["required"], json!(["age"]));
    assert_eq!(skill.output_schema, None);

    let (plan, _) = found(&[("GET /agent-card", card(&plan()))], "").await;
    let skill = plan.skill("create_plan").unwrap();
    assert_eq!(skill.name, "create_plan");
    assert!(skill.parameters_schema.is_some() && skill.output_schema.is_some());
}

#[tokio::test]
async fn the_path_is_looked_below_before_the_origin() {
    let document = card(&json!({"name": "n", "url": "URL/a2a/x"}));
    let (below, lines) = found(&[("GET /a2a/x/agent.json", document.clone())], "/a2a/x/").await;
    assert!(below.found_at.path().starts_with("/a2a/x/"));
    assert_eq!(lines.len(), 3);
    let (_, lines) = found(&[("GET /agent.json", document.clone())], "/a2a/x").await;
    assert_eq!(lines.len(), 7);
    let (_, lines) = found(&[("GET /cards/x.json", document)], "/cards/x.json").await;
    assert_eq!(lines, ["GET /cards/x.json"]);
}

#[tokio::test]
async fn a_missing_card_is_not_found_and_a_broken_one_is_reported() {
    let first = "GET /.well-known/agent-card.json";
    let gone = (410, None, String::new());
    let (error, asked) = refused(&[(first, gone)], &here()).await;
    assert_eq!(
        error,
        "there is no agent card at URL/: looked at URL/.well-known/agent-card.json, URL/.well-known/agent.json, \
         URL/agent.json, URL/agent-card"
    );
    assert_eq!(asked, 4);
    for (answer, told) in [
        ((500, None, String::new()), "answered with HTTP status 500"),
        ((401, None, String::new()), "answered with HTTP status 401"),
        (
            (200, None, "<html>".to_owned()),
            "is no agent card: expected JSON, found a page of HTML or XML",
        ),
        (
            card(&json!({"name": "n"})),
            "is no agent card: expected at least one of supportedInterfaces, or url as in 0.3 and before, found neither",
        ),
        (
            card(&json!({"name": "n", "supportedInterfaces": [
                {"url": "h:1", "protocolBinding": "GRPC", "protocolVersion": "0.1"},
            ]})),
            "offers GRPC 0.1: expected JSONRPC, HTTP+JSON",
        ),
        (
            redirect("http://elsewhere.test/card"),
            "another host: use that address if it is the right one",
        ),
        (redirect("URL/.well-known/agent-card.json"), "redirects more than 5 times"),
    ] {
        let (error, _) = refused(&[(first, answer)], &here()).await;
        assert!(error.contains("URL/.well-known/agent-card.json"), "{error}");
        assert!(error.contains(told), "{error}");
    }
}

#[tokio::test]
async fn a_later_place_mends_an_earlier_one() {
    let (_, lines) = found(
        &[
            ("GET /.well-known/agent-card.json", (500, None, String::new())),
            ("GET /.well-known/agent.json", redirect("/moved/agent.json")),
            ("GET /moved/agent.json", card(&json!({"name": "n", "url": "URL"}))),
        ],
        "",
    )
    .await;
    assert_eq!(lines.len(), 3);
}

#[tokio::test]
async fn other_hosts_are_followed_where_that_is_allowed_without_the_credentials() {
    let other = site(&[("GET /card", card(&json!({"name": "n", "url": "http://a"})))]).await;
    // Another name of this machine, since another port is another host too.
    let there = other.url.join("/card").unwrap().to_string();
    let site = site(&[("GET /.well-known/agent-card.json", redirect(&there))]).await;
    let options = DiscoveryOptions {
        allow_elsewhere: true,
        credentials: Credentials::default().bearer("hunter2").unwrap(),
        ..here()
    };
    let found = discover(&site.url, &options).await.unwrap();
    assert_eq!(found.found_at.as_str(), there);
    assert_eq!(site.asked()[0].headers["authorization"], "Bearer hunter2");
    assert!(!other.asked()[0].headers.contains_key("authorization"));
}

#[tokio::test]
async fn size_and_time_are_limited() {
    let large = (200, None, "x".repeat(100));
    let options = DiscoveryOptions { size: 99, ..here() };
    let (error, _) = refused(&[("GET /.well-known/agent-card.json", large)], &options).await;
    assert!(error.ends_with("is larger than 99 bytes"), "{error}");

    let silent = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let target = format!("http://{}", silent.local_addr().unwrap());
    let options = DiscoveryOptions { place: Duration::from_millis(50), ..here() };
    let error = discover(&Url::parse(&target).unwrap(), &options).await.unwrap_err();
    assert!(matches!(error, DiscoveryError::Timeout { .. }), "{error}");
}

#[tokio::test]
async fn nobody_there_is_no_not_found() {
    let gone = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let target = format!("http://{}", gone.local_addr().unwrap());
    drop(gone);
    let error = discover(&Url::parse(&target).unwrap(), &here()).await.unwrap_err();
    assert!(matches!(error, DiscoveryError::Unreachable { .. }), "{error}");
    let error = discover(&Url::parse("ftp://h/").unwrap(), &here()).await.unwrap_err();
    assert!(matches!(error, DiscoveryError::Scheme(_)), "{error}");
}

#[tokio::test]
async fn private_addresses_are_refused_unless_allowed() {
    let site = site(&[]).await;
    let guarded = DiscoveryOptions::default();
    let port = site.url.port().unwrap();
    for host in ["127.0.0.1", "localhost", "[::ffff:127.0.0.1]", "2130706433"] {
        let target = Url::parse(&format!("http://{host}:{port}/")).unwrap();
        let error = discover(&target, &guarded).await.unwrap_err();
        assert!(matches!(error, DiscoveryError::Private { .. }), "{host}: {error}");
    }
    assert!(site.asked().is_empty());
}

#[tokio::test]
async fn a_catalogue_has_several_agents() {
    let one = |name: &str| json!({"name": name, "url": format!("URL/{name}")});
    let cards = card(&json!({"agents": [one("a"), one("b")]}));
    let site = site(&[
        ("GET /a2a/catalog", cards),
        ("GET /lone/agent.json", card(&one("lone"))),
        ("GET /bad", card(&json!({"agents": [one("a"), {"name": "b"}]}))),
    ])
    .await;
    for (path, names) in [
        ("/a2a/catalog?skill=x", vec!["a", "b"]),
        ("/", vec!["a", "b"]),
        ("/nowhere", vec!["a", "b"]),
        ("/lone", vec!["lone"]),
    ] {
        let found = discover_all(&site.url.join(path).unwrap(), &here()).await.unwrap();
        let found: Vec<&str> = found.iter().map(|agent| agent.card.name.as_str()).collect();
        assert_eq!(found, names, "{path}");
    }
    let error = discover_all(&site.url.join("/bad").unwrap(), &here()).await.unwrap_err();
    assert!(error.to_string().contains("is no agent card: agents[1]: expected"), "{error}");
}

#[tokio::test]
async fn all_agents_of_a_catalogue_are_found_within_one_limit() {
    let silent = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let silent = format!("http://{}/", silent.local_addr().unwrap());
    let interface =
        |url: &str| json!({"url": url, "protocolBinding": "JSONRPC", "protocolVersion": "1.0"});
    let one = json!({"name": "a", "supportedInterfaces": [interface(&silent), interface("URL")]});
    let site = site(&[("GET /a2a/catalog", card(&json!({"agents": vec![one; 100]})))]).await;
    let limit = Duration::from_millis(200);
    let options = DiscoveryOptions { place: limit, total: limit, ..here() };
    let error = discover_all(&site.url, &options).await.unwrap_err();
    assert!(matches!(error, DiscoveryError::Timeout { .. }), "{error}");
}

#[tokio::test]
async fn a_password_in_an_address_is_not_told() {
    let to = redirect("http://me:hunter2@elsewhere.test/");
    let endless = redirect("URL/endless");
    for (path, answer, expected) in [
        ("", (404, None, String::new()), "there is no agent card at"),
        ("/x.json", (500, None, String::new()), "answered with HTTP status 500"),
        ("/x.json", card(&json!({})), "is no agent card"),
        ("/x.json", to, "another host"),
        ("/x.json", endless, "redirects more than 5 times"),
        (
            "/x.json",
            card(&json!({"name": "n", "supportedInterfaces": [
            {"url": "URL", "protocolBinding": "urn:x", "protocolVersion": "1.0"}]})),
            "offers urn:x",
        ),
    ] {
        let answers = [("GET /x.json", answer), ("GET /endless", redirect("/endless"))];
        let site = site(&answers).await;
        let mut target = site.url.join(path).unwrap();
        target.set_username("me").unwrap();
        target.set_password(Some("hunter2")).unwrap();
        let error = discover(&target, &here()).await.unwrap_err();
        let told = error.to_string();
        assert!(told.contains(expected) && !told.contains("hunter2"), "{told}");
    }
}
