//! Tests with a registry that does not answer HEAD requests, and refuses others.

use bridge_client::registry::{Registry, RegistryError, RegistryOptions};
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use super::{card, url_of};
use crate::site::{json as answer, site};

fn digest_of(text: &str) -> String {
    format!("sha256:{:x}", Sha256::digest(text))
}

fn manifest(card: &str) -> Value {
    let layer =
        json!({"mediaType": "application/json", "digest": digest_of(card), "size": card.len()});
    let config = json!({"mediaType": "application/vnd.oci.empty.v1+json", "digest": digest_of("{}"), "size": 2});
    json!({"schemaVersion": 2, "config": config, "layers": [layer]})
}

#[tokio::test]
async fn each_repository_keeps_its_own_card() {
    let here = site(&[("GET /agent-card", answer(&json!({})))]).await;
    let text =
        |skill: &str| card("n", "1.0.0", skill, here.url.join(skill).unwrap().as_str()).to_string();
    let (plan, build) = (text("plan"), text("build"));
    let tags = answer(&json!({"tags": ["v1"]}));
    let blob = |card: &str| format!("GET /v2/agents/{}/blobs/{}", card_name(card), digest_of(card));
    let (plan_blob, build_blob) = (blob(&plan), blob(&build));
    let registry = site(&[
        ("GET /v2/_catalog", answer(&json!({"repositories": ["agents/plan", "agents/build"]}))),
        ("GET /v2/agents/plan/tags/list", tags.clone()),
        ("GET /v2/agents/build/tags/list", tags),
        ("GET /v2/agents/plan/manifests/v1", answer(&manifest(&plan))),
        ("GET /v2/agents/build/manifests/v1", answer(&manifest(&build))),
        (&plan_blob, (200, None, plan.clone())),
        (&build_blob, (200, None, build.clone())),
    ])
    .await;
    let registry = Registry::new(&registry.url, RegistryOptions::default()).unwrap();
    for _ in 0..2 {
        let found = registry.agents().await.unwrap();
        let found: Vec<_> =
            found.iter().map(|one| (one.repository.as_str(), url_of(one))).collect();
        let at = |skill: &str| here.url.join(skill).unwrap().to_string();
        assert_eq!(found, [("agents/plan", &*at("plan")), ("agents/build", &*at("build"))]);
    }
}

/// Returns the name of the skill in a card, which is that of its repository, too.
fn card_name(card: &str) -> String {
    let card: Value = serde_json::from_str(card).unwrap();
    card["skills"][0]["id"].as_str().unwrap().to_owned()
}

/// A registry that is asked too often may refuse a card now, and send it later.
#[tokio::test]
async fn a_card_that_was_refused_is_asked_for_again() {
    let text = card("n", "1.0.0", "plan", "http://localhost:1/").to_string();
    let blob = format!("GET /v2/plan/blobs/{}", digest_of(&text));
    let sent = answer(&manifest(&text));
    let registry = site(&[
        ("GET /v2/_catalog", answer(&json!({"repositories": ["plan"]}))),
        ("GET /v2/plan/tags/list", answer(&json!({"tags": ["v1"]}))),
        ("HEAD /v2/plan/manifests/v1", (200, None, String::new())),
        ("GET /v2/plan/manifests/v1", sent.clone()),
        ("GET /v2/plan/manifests/v1", (429, None, "too many requests".to_owned())),
        ("GET /v2/plan/manifests/v1", sent),
        (&blob, (200, None, text.clone())),
    ])
    .await;
    let registry = Registry::new(&registry.url, RegistryOptions::default()).unwrap();
    assert!(registry.agents().await.unwrap().is_empty());
    assert_eq!(registry.agents().await.unwrap().len(), 1);
}

#[tokio::test]
async fn a_repository_whose_tags_are_refused_is_named() {
    let registry = site(&[
        ("GET /v2/_catalog", answer(&json!({"repositories": ["gone", "plan"]}))),
        ("GET /v2/plan/tags/list", (429, None, "too many requests".to_owned())),
    ])
    .await;
    let registry = Registry::new(&registry.url, RegistryOptions::default()).unwrap();
    let error = registry.find("plan").await.unwrap_err();
    let RegistryError::NoSkill { looked, .. } = &error else {
        panic!("{error}");
    };
    assert!(looked.len() == 1 && looked[0].contains("429 Too Many Requests"), "{looked:?}");
}

#[tokio::test]
async fn a_tag_that_is_no_card_does_not_hide_the_others() {
    let text = card("n", "1.0.0", "plan", "http://localhost:1/").to_string();
    let blob = format!("GET /v2/plan/blobs/{}", digest_of(&text));
    let registry = site(&[
        ("GET /v2/_catalog", answer(&json!({"repositories": ["plan"]}))),
        ("GET /v2/plan/tags/list", answer(&json!({"tags": ["v1", "v2"]}))),
        ("GET /v2/plan/manifests/v1", answer(&manifest(&text))),
        ("GET /v2/plan/manifests/v2", answer(&json!({"manifests": []}))),
        (&blob, (200, None, text.clone())),
    ])
    .await;
    let registry = Registry::new(&registry.url, RegistryOptions::default()).unwrap();
    let found = registry.agents().await.unwrap();
    let tags: Vec<_> = found.iter().map(|one| one.tag.as_str()).collect();
    assert_eq!(tags, ["v1"]);
}
