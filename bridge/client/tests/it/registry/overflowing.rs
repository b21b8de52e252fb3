//! Tests with a registry whose answers exceed the limits, or come late.

use std::sync::Arc;

use axum::{
    Json, Router,
    body::{Body, Bytes},
    extract::State,
    http::{StatusCode, Uri},
    response::{IntoResponse as _, Response},
    routing::get,
};
use bridge_client::registry::{Registry, RegistryError, RegistryOptions};
use futures_util::stream;
use serde_json::{Value, json};
use tokio::{net::TcpListener, sync::Barrier};

use crate::site::{json as answer_with, site};

/// The limits here are small, so that the tests are fast.
const ANSWER: usize = 64 << 10;
const CARD: usize = 16 << 10;

/// The answer that never ends.
type Endless = &'static str;

/// Returns a registry with one valid card, except for the answer that never ends.
async fn overflowing(endless: Endless) -> Registry {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/", listener.local_addr().unwrap());
    let app = Router::new().fallback(answer).with_state(endless);
    tokio::spawn(async move { axum::serve(listener, app).await });
    let options = RegistryOptions {
        answer: ANSWER,
        size: CARD,
        repositories: 3,
        ..RegistryOptions::default()
    };
    Registry::new(&url.parse().unwrap(), options).unwrap()
}

async fn answer(State(endless): State<Endless>, uri: Uri) -> Response {
    let path = uri.path();
    let is_refused = endless == "refusal";
    if is_refused || path.contains(endless) {
        let piece = || Ok::<_, std::io::Error>(Bytes::from_static(&[b' '; 8 << 10]));
        let pieces = stream::repeat_with(piece);
        let status = if is_refused { StatusCode::IM_A_TEAPOT } else { StatusCode::OK };
        return (status, Body::from_stream(pieces)).into_response();
    }
    let many: Vec<String> = (0..100).map(|n| format!("agents/a{n}")).collect();
    Json(match path {
        "/v2/_catalog" if endless == "many" => json!({"repositories": many}),
        "/v2/_catalog" if endless == "pages" => {
            let last = uri.query().unwrap().rsplit('=').next().unwrap();
            json!({"repositories": [format!("{last}x")]})
        }
        "/v2/_catalog" => json!({"repositories": ["agents/plan"]}),
        "/v2/agents/plan/tags/list" => json!({"name": "agents/plan", "tags": ["v1"]}),
        "/v2/agents/plan/manifests/v1" => manifest(),
        _ => return StatusCode::NOT_FOUND.into_response(),
    })
    .into_response()
}

/// Returns a registry whose manifest declares a small size for the layer.
fn manifest() -> Value {
    let empty = format!("sha256:{}", "0".repeat(64));
    let layer = json!({"mediaType": "application/json", "digest": empty, "size": 2});
    json!({
        "schemaVersion": 2,
        "mediaType": "application/vnd.oci.image.manifest.v1+json",
        "config": {"mediaType": "application/vnd.oci.empty.v1+json", "digest": empty, "size": 2},
        "layers": [layer],
    })
}

#[tokio::test]
async fn an_answer_without_end_is_given_up() {
    for (endless, name, limit) in [
        ("/tags/list", "agents/plan", ANSWER),
        ("/manifests/v1", "agents/plan:v1", ANSWER),
        ("/blobs/", "agents/plan:v1", CARD),
        ("/_catalog", "v2/_catalog", ANSWER),
    ] {
        let registry = overflowing(endless).await;
        let error = match endless {
            "/tags/list" => registry.tags("agents/plan").await.unwrap_err(),
            "/_catalog" => registry.list().await.unwrap_err(),
            _ => registry.pull("agents/plan", "v1").await.unwrap_err(),
        };
        let told = error.to_string();
        assert!(told.ends_with(&format!("/{name} is larger than {limit} bytes")), "{told}");
    }
}

#[tokio::test]
async fn of_a_refusal_without_end_the_beginning_is_enough() {
    let error = overflowing("refusal").await.list().await.unwrap_err();
    assert!(error.to_string().ends_with("418 I'm a teapot"), "{error}");
}

#[tokio::test]
async fn an_endless_artifact_does_not_hide_that_the_skill_is_missing() {
    let error = overflowing("/blobs/").await.find("plan").await.unwrap_err();
    let told = error.to_string();
    assert!(told.contains("agents/plan:v1 is larger than 16384 bytes"), "{told}");
    assert!(matches!(error, RegistryError::NoSkill { .. }));
}

#[tokio::test]
async fn a_registry_of_other_artifacts_has_no_agents() {
    let error = overflowing("many").await.find("plan").await.unwrap_err();
    let told = error.to_string();
    assert!(told.contains("/v2/_catalog lists more than 3: expected a registry"), "{told}");
}

#[tokio::test]
async fn a_list_without_end_is_given_up() {
    let error = overflowing("pages").await.list().await.unwrap_err();
    assert!(matches!(error, RegistryError::TooMany { limit: 3, .. }), "{error}");
}

/// Such a registry answers every page with all that it has.
#[tokio::test]
async fn a_registry_without_pages_is_listed_once() {
    assert_eq!(overflowing("nothing").await.list().await.unwrap(), ["agents/plan"]);
}

/// The registry answers a request for its list once there are two of them.
#[tokio::test]
async fn agents_are_looked_for_at_the_same_time() {
    let both = Arc::new(Barrier::new(2));
    let list = async move || {
        both.wait().await;
        Json(json!({"repositories": []}))
    };
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/", listener.local_addr().unwrap());
    let app = Router::new().route("/v2/_catalog", get(list));
    tokio::spawn(async move { axum::serve(listener, app).await });
    let registry = Registry::new(&url.parse().unwrap(), RegistryOptions::default()).unwrap();
    let (one, other) = tokio::join!(registry.find("plan"), registry.find("build"));
    for found in [one, other] {
        assert!(matches!(found, Err(RegistryError::NoSkill { .. })), "{found:?}");
    }
}

/// If each repetition were looked for among all tags, this would take minutes.
#[tokio::test]
async fn tags_that_are_repeated_cost_little() {
    let tags = (0..9_999).map(|n| n.to_string()).chain(vec!["v".to_owned(); 900_000]);
    let tags = json!({"tags": tags.collect::<Vec<_>>()});
    let registry = site(&[("GET /v2/plan/tags/list", answer_with(&tags))]).await;
    let registry = Registry::new(&registry.url, RegistryOptions::default()).unwrap();
    assert_eq!(registry.tags("plan").await.unwrap().len(), 10_000);
}

/// Content must match its digest, whatever the registry declares.
#[tokio::test]
async fn a_manifest_with_another_digest_is_refused() {
    let registry = overflowing("nothing").await;
    let digest = format!("sha256:{}", "0".repeat(64));
    let error = registry.pull("agents/plan", &digest).await.unwrap_err();
    assert!(matches!(error, RegistryError::NotFound(_)), "{error}");
    let error = registry.pull("agents/plan", "v1").await.unwrap_err();
    assert!(matches!(error, RegistryError::NotFound(_)), "{error}");
}
