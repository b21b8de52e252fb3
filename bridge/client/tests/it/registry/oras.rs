//! Artifacts of a single file as the program `oras` pushes them, written by hand from its manifests.

use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use url::Url;

/// A form of artifact: the members of the manifest, and the layer's type and title.
pub(super) struct Form {
    artifact_type: Option<&'static str>,
    config_type: &'static str,
    config: &'static [u8],
    media_type: &'static str,
    title: &'static str,
}

/// The manifest of `oras push REF card.tar`.
pub(super) const TAR: Form = Form { title: "image.tar", ..FORMS_UNTYPED };

const FORMS_UNTYPED: Form = Form {
    artifact_type: Some("application/vnd.unknown.artifact.v1"),
    config_type: "application/vnd.oci.empty.v1+json",
    config: b"{}",
    media_type: "application/vnd.oci.image.layer.v1.tar",
    title: "plan_agent_card.json",
};

/// The forms of artifacts that `oras` pushes, each of which is a card.
pub(super) const FORMS: [Form; 4] = [
    // oras push REF plan_agent_card.json
    FORMS_UNTYPED,
    // oras push REF plan_agent_card.json:application/json
    Form { media_type: "application/json", ..FORMS_UNTYPED },
    // oras push --artifact-type application/vnd.agent.card+json REF card.json:application/vnd.agent.card+json
    Form {
        artifact_type: Some("application/vnd.agent.card+json"),
        media_type: "application/vnd.agent.card+json",
        title: "card.json",
        ..FORMS_UNTYPED
    },
    // The same before version 1.1 of the image specification.
    Form {
        artifact_type: None,
        config_type: "application/vnd.unknown.config.v1+json",
        media_type: "application/json",
        ..FORMS_UNTYPED
    },
];

/// Pushes one file.
pub(super) async fn push(registry: &Url, repository: &str, tag: &str, form: &Form, file: &[u8]) {
    let layer = blob(registry, repository, file).await;
    let config = blob(registry, repository, form.config).await;
    let mut manifest = json!({
        "schemaVersion": 2,
        "mediaType": "application/vnd.oci.image.manifest.v1+json",
        "config": {"mediaType": form.config_type, "digest": config, "size": form.config.len()},
        "layers": [{
            "mediaType": form.media_type, "digest": layer, "size": file.len(),
            "annotations": {"org.opencontainers.image.title": form.title},
        }],
        "annotations": {"org.opencontainers.image.created": "2026-11-01T00:00:00Z"},
    });
    if let Some(kind) = form.artifact_type {
        manifest["artifactType"] = kind.into();
    }
    let put = reqwest::Client::new()
        .put(format!("{registry}v2/{repository}/manifests/{tag}"))
        .header("content-type", "application/vnd.oci.image.manifest.v1+json")
        .body(manifest.to_string());
    put.send().await.unwrap().error_for_status().unwrap();
}

/// Uploads a blob and returns its digest.
async fn blob(registry: &Url, repository: &str, data: &[u8]) -> String {
    let digest = format!("sha256:{:x}", Sha256::digest(data));
    let http = reqwest::Client::new();
    let begun = http.post(format!("{registry}v2/{repository}/blobs/uploads/"));
    let begun = begun.send().await.unwrap().error_for_status().unwrap();
    let place = begun.headers()["location"].to_str().unwrap().to_owned();
    let put = http.put(place).query(&[("digest", &digest)]);
    let put = put.header("content-type", "application/octet-stream").body(data.to_vec());
    put.send().await.unwrap().error_for_status().unwrap();
    digest
}

/// Returns the bytes of a manifest in the registry.
pub(super) async fn manifest(registry: &Url, repository: &str, tag: &str) -> Value {
    let get = reqwest::Client::new()
        .get(format!("{registry}v2/{repository}/manifests/{tag}"))
        .header("accept", "application/vnd.oci.image.manifest.v1+json");
    let text = get.send().await.unwrap().text().await.unwrap();
    serde_json::from_str(&text).unwrap()
}
