//! Tests with a real registry: pushing, pulling and finding cards.

mod oras;
mod overflowing;
mod program;
mod token;
mod without_head;

use bridge_client::{
    discovery::AgentEndpoint,
    registry::{
        CardReference, Registry, RegistryAgent, RegistryAuth, RegistryError, RegistryOptions,
    },
};
use serde_json::{Value, json};

use crate::site::{Site, json as answer, site};
use program::Program;

/// The htpasswd entry of `registry` with the password `hunter2`.
const HTPASSWD: &str = "registry:$2b$04$k6XB6.tpyRFnQ07A6gZgj.TJ32q3x4ium8zkbGSPKq3d/8OYpqgoC\n";

/// Starts a registry.
async fn registry() -> (Program, Registry) {
    let program = Program::start().await;
    let registry = Registry::new(&program.url, RegistryOptions::default()).unwrap();
    (program, registry)
}

fn card(name: &str, version: &str, skill: &str, url: &str) -> Value {
    json!({"name": name, "url": url, "version": version, "skills": [
        {"id": skill, "description": "d", "input_schema": {"type": "object"}},
    ]})
}

/// Returns a running agent.
async fn agent() -> Site {
    site(&[("GET /agent-card", answer(&json!({})))]).await
}

/// Pushes the card of an agent at this address, to `REPOSITORY:TAG`.
async fn publish(registry: &Registry, place: &str, version: &str, skill: &str, at: &Site) {
    let (repository, tag) = place.split_once(':').unwrap();
    let card = card("n", version, skill, at.url.as_str());
    registry.push(repository, tag, &card).await.unwrap();
}

/// Returns the address of the agent with this skill.
async fn found_at(registry: &Registry, skill: &str) -> String {
    url_of(&registry.find(skill).await.unwrap()).to_owned()
}

fn url_of(found: &RegistryAgent) -> &str {
    let AgentEndpoint::Execute { base } = &found.agent.endpoint else {
        panic!("{:?}", found.agent.endpoint);
    };
    base.as_str()
}

#[tokio::test]
async fn a_card_is_pushed_listed_and_pulled_by_tag_and_by_digest() {
    let (_program, registry) = registry().await;
    assert_eq!(registry.list().await.unwrap(), Vec::<String>::new());
    let plan = card("plan-agent", "1.0.0", "create_plan", "http://localhost:8001");
    let digest = registry.push("agents/plan", "v1", &plan).await.unwrap();
    let again = registry.push("agents/plan", "1.0.0", &plan).await.unwrap();
    assert_eq!(digest, again, "the same card is the same artifact");
    assert_eq!(registry.list().await.unwrap(), ["agents/plan"]);
    let mut tags = registry.tags("agents/plan").await.unwrap();
    tags.sort();
    assert_eq!(tags, ["1.0.0", "v1"]);
    for version in ["v1", &digest] {
        let pulled = registry.pull("agents/plan", version).await.unwrap();
        assert_eq!((pulled.card, pulled.digest), (plan.clone(), digest.clone()), "{version}");
    }
}

#[tokio::test]
async fn lists_have_pages() {
    let program = Program::start().await;
    let options = RegistryOptions { page: 2, ..RegistryOptions::default() };
    let registry = Registry::new(&program.url, options).unwrap();
    for index in 0..5 {
        let card = card("n", "1.0.0", "s", "http://localhost:1");
        registry.push(&format!("agents/a{index}"), "v1", &card).await.unwrap();
    }
    let all: Vec<String> = (0..5).map(|index| format!("agents/a{index}")).collect();
    assert_eq!(registry.list().await.unwrap(), all);
}

#[tokio::test]
async fn missing_and_invalid_cards_are_reported() {
    let (program, registry) = registry().await;
    let host = program.host();
    let error = registry.pull("agents/plan", "v1").await.unwrap_err();
    assert_eq!(error.to_string(), format!("there is no {host}/agents/plan:v1 in the registry"));
    let error = registry.tags("agents/plan").await.unwrap_err();
    assert!(matches!(error, RegistryError::NotFound(_)), "{error}");
    let error = registry.push("agents/plan", "v1", &json!({"url": "u"})).await.unwrap_err();
    assert!(error.to_string().contains("name: expected a string, found nothing"), "{error}");
    let error = registry.push("Agents", "v1", &json!({})).await.unwrap_err();
    assert!(matches!(error, RegistryError::Reference(_)), "{error}");
    oras::push(&program.url, "image", "v1", &oras::TAR, b"not json").await;
    let error = registry.pull("image", "v1").await.unwrap_err();
    assert!(matches!(error, RegistryError::NotACard { .. }), "{error}");
}

#[tokio::test]
async fn cards_of_oras_and_ours_are_found_alike() {
    let (program, registry) = registry().await;
    let here = agent().await;
    for (index, form) in oras::FORMS.iter().enumerate() {
        let (repository, skill) = (format!("agents/a{index}"), format!("skill_{index}"));
        let card = card("n", "1.0.0", &skill, here.url.as_str()).to_string();
        oras::push(&program.url, &repository, "v1", form, card.as_bytes()).await;
        let found = registry.find(&skill).await.unwrap();
        assert_eq!((found.repository, found.tag.as_str()), (repository, "v1"));
    }
    let card = card("n", "1.0.0", "ours", here.url.as_str());
    registry.push("agents/ours", "v1", &card).await.unwrap();
    assert_eq!(registry.find("ours").await.unwrap().repository, "agents/ours");
    let mut manifest = oras::manifest(&program.url, "agents/ours", "v1").await;
    // The port in the card differs in each run.
    for key in ["digest", "size"] {
        manifest["layers"][0][key] = "of the card".into();
    }
    insta::assert_json_snapshot!(manifest);
}

#[tokio::test]
async fn the_newest_version_that_is_healthy_is_found() {
    let (_program, registry) = registry().await;
    let (old, new, broken) = (
        agent().await,
        agent().await,
        site(&[("GET /agent-card", (503, None, String::new()))]).await,
    );
    publish(&registry, "agents/plan:v1", "1.0.0", "plan", &old).await;
    publish(&registry, "agents/other:v0.9", "9.0.0", "plan", &old).await;
    assert_eq!(found_at(&registry, "plan").await, old.url.as_str());
    // The agent is replaced in the registry while the client runs.
    publish(&registry, "agents/plan:v2", "2.0.0", "plan", &new).await;
    let found = registry.find("plan").await.unwrap();
    assert_eq!((url_of(&found), found.tag.as_str()), (new.url.as_str(), "v2"));
    publish(&registry, "agents/plan:v10", "10.0.0", "plan", &broken).await;
    let found = registry.find("plan").await.unwrap();
    assert_eq!((url_of(&found), found.tag.as_str()), (new.url.as_str(), "v2"));
}

#[tokio::test]
async fn a_missing_skill_and_missing_healthy_agents_are_distinguished() {
    let (program, registry) = registry().await;
    let host = program.host();
    let error = registry.find("plan").await.unwrap_err();
    assert_eq!(
        error.to_string(),
        format!("no agent in {host} has the skill \"plan\": it is empty")
    );
    let broken = site(&[("GET /agent-card", (503, None, String::new()))]).await;
    publish(&registry, "agents/plan:v1", "1.0.0", "plan", &broken).await;
    oras::push(&program.url, "image", "v1", &oras::TAR, b"x").await;
    let error = registry.find("review").await.unwrap_err();
    assert_eq!(
        error.to_string(),
        format!(
            "no agent in {host} has the skill \"review\": looked at agents/plan:v1 (plan); \
             image:v1 (expected one layer of JSON, found 1 of application/vnd.oci.image.layer.v1.tar)"
        )
    );
    let error = registry.find("plan").await.unwrap_err();
    assert_eq!(
        error.to_string(),
        format!(
            "no agent with the skill \"plan\" is healthy: agents/plan:v1 at {}: HTTP status 503",
            broken.url
        )
    );
}

/// gRPC has no URL for cards.
#[cfg(feature = "grpc")]
#[tokio::test]
async fn an_agent_of_grpc_is_healthy_if_it_takes_a_connection() {
    let (_program, registry) = registry().await;
    let here = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let gone = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    for (skill, listener) in [("plan", &here), ("build", &gone)] {
        let url = listener.local_addr().unwrap().to_string();
        let interface = json!({"url": url, "protocolBinding": "GRPC", "protocolVersion": "1.0"});
        let card = json!({"name": "n", "version": "1", "supportedInterfaces": [interface], "skills": [{"id": skill}]});
        registry.push(&format!("agents/{skill}"), "v1", &card).await.unwrap();
    }
    drop(gone);
    let found = registry.find("plan").await.unwrap();
    assert_eq!(found.agent.endpoint.name(), "GRPC 1.0");
    let error = registry.find("build").await.unwrap_err();
    assert!(matches!(error, RegistryError::NoneHealthy { .. }), "{error}");
}

#[tokio::test]
async fn an_unreachable_registry_is_reported_and_tolerated() {
    let (program, registry) = registry().await;
    let here = agent().await;
    publish(&registry, "agents/plan:v1", "1.0.0", "plan", &here).await;
    let found = tokio::spawn(async move {
        let found = registry.find("plan").await.unwrap();
        (registry, found)
    });
    let (registry, found) = found.await.unwrap();
    assert_eq!(found.stale, None);
    let stopped = program.stop().await;
    let found = registry.find("plan").await.unwrap();
    assert_eq!(url_of(&found), here.url.as_str());
    let why = found.stale.unwrap();
    assert!(matches!(why, RegistryError::Unreachable { .. }), "{why}");
    let error = registry.find("build").await.unwrap_err();
    assert!(matches!(error, RegistryError::Unreachable { .. }), "{error}");
    let _program = stopped.start().await;
    assert_eq!(registry.find("plan").await.unwrap().stale, None);
}

#[tokio::test]
async fn credentials_are_sent_on_a_challenge() {
    let program = Program::guarded(HTPASSWD).await;
    let with = |auth| {
        let options = RegistryOptions { auth, ..RegistryOptions::default() };
        Registry::new(&program.url, options).unwrap()
    };
    let password = |password: &str| RegistryAuth::Basic("registry".into(), password.into());
    let plan = card("n", "1.0.0", "plan", "http://localhost:1");
    for auth in [RegistryAuth::Anonymous, password("wrong")] {
        let registry = with(auth);
        let error = registry.list().await.unwrap_err();
        assert!(matches!(error, RegistryError::Unauthorized(_)), "{error}");
        let error = registry.push("plan", "v1", &plan).await.unwrap_err();
        assert!(matches!(error, RegistryError::Unauthorized(_)), "{error}");
    }
    let registry = with(password("hunter2"));
    registry.push("plan", "v1", &plan).await.unwrap();
    assert_eq!(registry.list().await.unwrap(), ["plan"]);
    assert!(!format!("{:?}", password("hunter2")).contains("hunter2"));
}

#[tokio::test]
async fn a_reference_names_its_registry() {
    let (program, registry) = registry().await;
    let plan = card("n", "1.0.0", "plan", "http://localhost:1");
    let digest = registry.push("agents/plan", "v1", &plan).await.unwrap();
    let host = program.host();
    let reference: CardReference = format!("{host}/agents/plan@{digest}").parse().unwrap();
    assert_eq!(reference.registry, program.url);
    let pulled = registry.pull(&reference.repository, &reference.version).await.unwrap();
    assert_eq!(pulled.card, plan);
}
