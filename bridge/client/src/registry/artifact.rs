//! The form of a card in a registry.
//!
//! Cards are written in one form. They are read from any artifact that `oras` and similar tools push for one
//! JSON file: a layer of this crate's type, else of a JSON type, else with a title that ends in `.json`.
//! Artifacts with several such layers are refused.

use std::collections::BTreeMap;

use bridge_protocol::a2a::AgentCard;
use serde::{Deserialize, Serialize};

use super::digest;

/// The artifact type of an agent card.
pub const ARTIFACT_TYPE: &str = "application/vnd.a2a.agent-card.v1+json";

pub(super) const MANIFEST_TYPE: &str = "application/vnd.oci.image.manifest.v1+json";
const EMPTY_TYPE: &str = "application/vnd.oci.empty.v1+json";
const TITLE: &str = "org.opencontainers.image.title";

/// The config of every card: the image specification wants one ("Guidance for an Empty Descriptor").
pub(super) const CONFIG: &[u8] = b"{}";

/// A manifest (image specification, "Image Manifest"), as far as it matters to cards.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Manifest {
    schema_version: u8,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    media_type: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    artifact_type: Option<String>,
    pub(super) config: Descriptor,
    pub(super) layers: Vec<Descriptor>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    annotations: Option<BTreeMap<String, String>>,
}

/// Some content and its type (image specification, "Content Descriptors").
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Descriptor {
    media_type: String,
    pub(super) digest: String,
    pub(super) size: i64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    annotations: Option<BTreeMap<String, String>>,
}

impl Descriptor {
    fn of(content: &[u8], media_type: &str) -> Self {
        Self {
            media_type: media_type.to_owned(),
            digest: digest::of(content),
            size: i64::try_from(content.len()).unwrap_or(i64::MAX),
            annotations: None,
        }
    }
}

/// Builds the manifest of a card with this JSON.
pub(super) fn manifest(card: &AgentCard, json: &[u8]) -> Manifest {
    let title = BTreeMap::from([(TITLE.to_owned(), "agent-card.json".to_owned())]);
    Manifest {
        schema_version: 2,
        media_type: Some(MANIFEST_TYPE.to_owned()),
        artifact_type: Some(ARTIFACT_TYPE.to_owned()),
        config: Descriptor::of(CONFIG, EMPTY_TYPE),
        layers: vec![Descriptor {
            annotations: Some(title),
            ..Descriptor::of(json, "application/json")
        }],
        annotations: Some(annotations(card)),
    }
}

fn annotations(card: &AgentCard) -> BTreeMap<String, String> {
    let annotations =
        [("title", &card.name), ("description", &card.description), ("version", &card.version)];
    let annotations = annotations.into_iter().filter(|(_, value)| !value.is_empty());
    annotations
        .map(|(key, value)| (format!("org.opencontainers.image.{key}"), value.clone()))
        .collect()
}

/// Returns the layer that contains the card.
pub(super) fn card_layer(manifest: &Manifest) -> Result<&Descriptor, String> {
    let layers = &manifest.layers;
    let tests: [fn(&Descriptor) -> bool; 3] =
        [|layer| layer.media_type == ARTIFACT_TYPE, is_json, is_titled_json];
    for is_card in tests {
        let mut cards = layers.iter().filter(|layer| is_card(layer));
        match (cards.next(), cards.next()) {
            (Some(card), None) => return Ok(card),
            (Some(_), Some(_)) => break,
            (None, _) => {}
        }
    }
    let types: Vec<&str> = layers.iter().map(|layer| layer.media_type.as_str()).collect();
    Err(format!("expected one layer of JSON, found {} of {}", layers.len(), types.join(", ")))
}

fn is_json(layer: &Descriptor) -> bool {
    let kind = layer.media_type.split(';').next().unwrap_or_default();
    kind == "application/json" || kind.ends_with("+json")
}

fn is_titled_json(layer: &Descriptor) -> bool {
    let annotations = layer.annotations.as_ref();
    let title = annotations.and_then(|annotations| annotations.get(TITLE));
    title.is_some_and(|title| title.ends_with(".json"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn layer((media_type, title): (&str, &str)) -> Descriptor {
        Descriptor {
            media_type: media_type.to_owned(),
            digest: title.to_owned(),
            annotations: Some(BTreeMap::from([(TITLE.to_owned(), title.to_owned())])),
            ..Descriptor::default()
        }
    }

    #[test]
    fn a_card_is_found_in_every_form() {
        const TAR: &str = "application/vnd.oci.image.layer.v1.tar";
        for (layers, found) in [
            (vec![("application/json", "card.json")], Some("card.json")),
            (vec![(TAR, "plan_agent_card.json")], Some("plan_agent_card.json")),
            (vec![(ARTIFACT_TYPE, "a")], Some("a")),
            (vec![("application/json", "other.json"), (ARTIFACT_TYPE, "a")], Some("a")),
            (vec![(TAR, "README.md"), ("application/a2a+json; v=1", "c")], Some("c")),
            (vec![("application/json", "a.json"), ("application/json", "b.json")], None),
            (vec![(TAR, "image.tar")], None),
            (vec![], None),
        ] {
            let manifest = Manifest {
                layers: layers.iter().copied().map(layer).collect(),
                ..Manifest::default()
            };
            let card = card_layer(&manifest).map(|layer| layer.digest.as_str());
            assert_eq!(card.ok(), found, "{layers:?}");
        }
    }
}
