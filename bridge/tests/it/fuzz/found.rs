//! Agents that are found: cards that are judged and chosen from, and registries of cards.

use std::sync::{Arc, Mutex};

use axum::{
    Json, Router,
    body::Body,
    extract::{Path, State},
    http::{Response, StatusCode, header::CONTENT_TYPE},
    response::IntoResponse as _,
    routing::get,
};
use bridge_client::{
    Client, Options,
    discovery::{AgentEndpoint, Discovered},
    registry::{CardReference, Registry, RegistryError, RegistryOptions},
};
use bridge_protocol::dialect::{Version, card, lenient};
use bridge_verify::lint::lint;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use tokio::{net::TcpListener, runtime::Runtime, time::timeout};
use url::Url;

use super::{Verdict, bytes, corpus, fuzz, json as documents, streams::LIMIT};

/// Stands for the digest of the card, which a registry would have computed.
const DIGEST: &str = "sha256:CARD";

fn cards() -> Vec<Vec<u8>> {
    corpus::recorded(|document| document.get("skills").is_some())
}

#[test]
fn found_cards() {
    let place: Url = "http://agents.test/.well-known/agent-card.json".parse().unwrap();
    fuzz("found_cards", &cards(), documents::change, |input| {
        let Ok(document) = serde_json::from_slice::<Value>(input) else {
            return Ok(());
        };
        judged(&document)?;
        let found = Discovered::from_card(document.clone(), place.clone());
        let Ok(lenient::LenientCard { card: read, .. }) = lenient::read_leniently(document) else {
            return match found {
                Ok(found) => Err(format!("{found:?} was found in what is no card")),
                Err(_) => Ok(()),
            };
        };
        let interfaces = read.supported_interfaces.iter();
        let offered: Vec<Option<Version>> =
            interfaces.map(|one| Version::of(&one.protocol_version)).collect();
        let client = Client::for_card(read, &place, &Options::default());
        let found = found.map(|found| spoken(&found));
        let client = client.map(|client| Some(client.version()));
        // Each chooses among what is offered by the bindings that it has.
        let chosen = found.into_iter().chain(client).flatten();
        let is_offered = |version| offered.contains(&Some(version));
        match chosen.clone().all(is_offered) {
            true => Ok(()),
            false => Err(format!("{:?} is not among {offered:?}", chosen.collect::<Vec<_>>())),
        }
    });
}

/// Returns the version that an interface of a card selects for the agent.
fn spoken(found: &Discovered) -> Option<Version> {
    match &found.endpoint {
        AgentEndpoint::Interface { version, .. } => Some(*version),
        AgentEndpoint::TasksSend { .. } => Some(Version::V0_1),
        AgentEndpoint::Execute { .. } => None,
    }
}

/// Checks that a card which no client can read is reported, and that the most important finding comes first.
fn judged(document: &Value) -> Verdict {
    let (_, findings) = lint(document);
    let is_told = findings.iter().any(|finding| finding.rule == "readable");
    let is_unreadable = card::read(document.clone()).is_err();
    let is_sorted = findings.is_sorted_by_key(|finding| finding.level);
    match is_told == is_unreadable && is_sorted {
        true => Ok(()),
        false => Err(format!("unreadable: {is_unreadable}, but {findings:?}")),
    }
}

#[test]
fn card_references() {
    let digest = format!("localhost:5000/plan@sha256:{}", "0".repeat(64));
    let seeds = [
        "localhost:5000/agents/plan:v1",
        "registry.test/plan:1.0.0",
        "[::1]:5000/a/b/c:latest",
        &digest,
    ];
    let seeds = seeds.map(|text| text.as_bytes().to_vec());
    fuzz("card_references", &seeds, bytes::change, |input| {
        let text = String::from_utf8_lossy(input);
        let Ok(read) = text.parse::<CardReference>() else {
            return Ok(());
        };
        let again = read.to_string().parse::<CardReference>();
        match again {
            Ok(again) if again == read => Ok(()),
            other => Err(format!("{read:?} comes back as {other:?}")),
        }
    });
}

/// The answers of a registry: `manifest`, `card`, `catalog` and `tags`.
type RegistryAnswers = Arc<Mutex<Value>>;

/// Returns a registry with these answers and their digests.
async fn registry(said: &RegistryAnswers) -> Url {
    let app = Router::new()
        .route("/v2/", get(async || Json(json!({}))))
        .route(
            "/v2/_catalog",
            get(async |State(said): State<RegistryAnswers>| part(&said, "catalog")),
        )
        .route(
            "/v2/plan/tags/list",
            get(async |State(said): State<RegistryAnswers>| part(&said, "tags")),
        )
        .route("/v2/plan/manifests/{version}", get(manifest))
        .route("/v2/plan/blobs/{digest}", get(blob))
        .with_state(said.clone());
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/", listener.local_addr().unwrap());
    tokio::spawn(async move { axum::serve(listener, app).await });
    url.parse().unwrap()
}

fn part(said: &RegistryAnswers, name: &str) -> Response<Body> {
    Json(said.lock().unwrap()[name].clone()).into_response()
}

async fn manifest(State(said): State<RegistryAnswers>) -> Response<Body> {
    let said = said.lock().unwrap();
    let manifest = said["manifest"].to_string();
    let manifest = manifest.replace(DIGEST, &digest(&said["card"].to_string()));
    let media_type = said["manifest"]["mediaType"].as_str().unwrap_or("application/json");
    let response = Response::builder()
        .header(CONTENT_TYPE, media_type)
        .header("docker-content-digest", digest(&manifest))
        .body(Body::from(manifest));
    response.unwrap_or_else(|_| StatusCode::BAD_REQUEST.into_response())
}

async fn blob(State(said): State<RegistryAnswers>, Path(asked): Path<String>) -> Response<Body> {
    let card = said.lock().unwrap()["card"].to_string();
    // Another digest is answered with the same card, as by a registry that lies.
    let _ = asked;
    card.into_response()
}

fn digest(text: &str) -> String {
    let hash = Sha256::digest(text);
    let hex: String = hash.iter().map(|byte| format!("{byte:02x}")).collect();
    format!("sha256:{hex}")
}

/// Registries with one card each.
fn registries() -> Vec<Vec<u8>> {
    let said = cards().into_iter().map(|card| {
        let card: Value = serde_json::from_slice(&card).unwrap();
        let size = card.to_string().len();
        let layer = json!({"mediaType": "application/json", "digest": DIGEST, "size": size,
            "annotations": {"org.opencontainers.image.title": "agent-card.json"}});
        let empty = json!({"mediaType": "application/vnd.oci.empty.v1+json", "size": 2,
            "digest": "sha256:44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a"});
        let manifest = json!({"schemaVersion": 2, "config": empty, "layers": [layer],
            "mediaType": "application/vnd.oci.image.manifest.v1+json",
            "artifactType": "application/vnd.a2a.agent-card.v1+json"});
        json!({"manifest": manifest, "card": card, "catalog": {"repositories": ["plan"]},
            "tags": {"name": "plan", "tags": ["v1", "v2-rc.1", "latest"]}})
    });
    said.map(|said| said.to_string().into_bytes()).collect()
}

#[test]
fn registries_of_cards() {
    let (runtime, said) = (Runtime::new().unwrap(), RegistryAnswers::default());
    let url = runtime.block_on(registry(&said));
    let registry = Registry::new(&url, RegistryOptions::default()).unwrap();
    fuzz("registries_of_cards", &registries(), documents::change, |input| {
        let Ok(document) = serde_json::from_slice::<Value>(input) else {
            return Ok(());
        };
        *said.lock().unwrap() = document.clone();
        let asked = async {
            let _ = registry.list().await;
            let _ = registry.tags("plan").await;
            registry.pull("plan", "v1").await
        };
        let pulled = runtime.block_on(async { timeout(LIMIT, asked).await });
        match pulled.map_err(|_| "the registry is asked without end".to_owned())? {
            Ok(pulled) if pulled.card != document["card"] => {
                Err(format!("{pulled:?} is not the card"))
            }
            Ok(_) if !names_card(&document) => Err("a card of another digest was taken".to_owned()),
            Err(error @ RegistryError::Timeout { .. }) => Err(error.to_string()),
            Ok(_) | Err(_) => Ok(()),
        }
    });
}

/// Returns whether some layer has the digest of the card.
fn names_card(said: &Value) -> bool {
    let own = digest(&said["card"].to_string());
    let layers = said["manifest"]["layers"].as_array().into_iter().flatten();
    let mut digests = layers.filter_map(|layer| layer["digest"].as_str());
    digests.any(|named| named == DIGEST || named == own)
}
