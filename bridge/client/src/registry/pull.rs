//! Reads from a registry: lists, and cards by tag or digest.

use std::collections::BTreeSet;

use bridge_protocol::wire;
use serde::{
    Deserialize,
    de::{DeserializeOwned, IgnoredAny},
};
use serde_json::Value;

use super::{
    Registry, RegistryError, Result,
    artifact::{self, Manifest},
    digest,
    http::Content,
    reference::{self, is_digest},
};

/// The largest number of tags of one repository. The order of tags does not follow versions, so all are
/// needed to find the newest.
const MOST_TAGS: usize = 10_000;

/// The number of pages read of a list; a registry with more is assumed to repeat itself without end.
const MOST_PAGES: usize = 1000;

/// A pulled card.
#[derive(Clone, Debug, PartialEq)]
pub struct PulledCard {
    /// The card as it was pushed.
    pub card: Value,
    /// The digest of its manifest, which identifies this version permanently.
    pub digest: String,
}

impl Registry {
    /// Returns the repositories of the registry (`/v2/_catalog`), on all pages.
    ///
    /// # Errors
    /// [`RegistryError::TooMany`] if there are more than [`super::RegistryOptions::repositories`].
    pub async fn list(&self) -> Result<Vec<String>> {
        let list = Content {
            reference: format!("{}/v2/_catalog", self.host),
            repository: String::new(),
            url: self.below("_catalog"),
        };
        let items = |page: Catalogue| page.repositories;
        self.listed(&list, self.options.repositories, items).await
    }

    /// Returns the tags of a repository, on all pages.
    ///
    /// # Errors
    /// [`RegistryError::NotFound`] if there is no such repository.
    pub async fn tags(&self, repository: &str) -> Result<Vec<String>> {
        reference::check(&self.host, repository, "latest")?;
        let list = Content {
            reference: format!("{}/{repository}", self.host),
            repository: repository.to_owned(),
            url: self.below(&format!("{repository}/tags/list")),
        };
        self.listed(&list, MOST_TAGS, |page: Tags| page.tags.unwrap_or_default()).await
    }

    /// Collects the pages of a list. Each page starts after the last item of the previous one. The list ends with
    /// a page that is empty or has nothing new (distribution specification, "Listing Tags").
    async fn listed<T: DeserializeOwned>(
        &self,
        list: &Content,
        most: usize,
        items: impl Fn(T) -> Vec<String>,
    ) -> Result<Vec<String>> {
        let (mut all, mut known) = (Vec::new(), BTreeSet::new());
        for _ in 0..MOST_PAGES {
            let mut page = list.clone();
            let last = all.last().map(|last| ("last", last));
            let n = self.options.page.to_string();
            page.url.query_pairs_mut().append_pair("n", &n).extend_pairs(last);
            let (body, _) = self.get(&page, self.options.answer).await?;
            let read = serde_json::from_slice(&body);
            let read =
                read.map_err(|error| RegistryError::refused(&list.reference, &error.to_string()));
            let before = all.len();
            all.extend(items(read?).into_iter().filter(|item| known.insert(item.clone())));
            if all.len() > most {
                let reference = list.reference.clone();
                return Err(RegistryError::TooMany { reference, limit: most });
            }
            if all.len() == before {
                break;
            }
        }
        Ok(all)
    }

    /// Pulls a card by tag or digest. The content is checked against its digests.
    ///
    /// # Errors
    /// [`RegistryError`]; [`RegistryError::NotACard`] if the artifact is something else.
    pub async fn pull(&self, repository: &str, version: &str) -> Result<PulledCard> {
        let artifact = self.artifact(repository, version)?;
        let (manifest, digest) = self.manifest(&artifact, version).await?;
        let not_a_card =
            |why: String| RegistryError::NotACard { reference: artifact.reference.clone(), why };
        let manifest = read_manifest(&manifest).map_err(not_a_card)?;
        let layer = artifact::card_layer(&manifest).map_err(not_a_card)?;
        if usize::try_from(layer.size).map_or(true, |size| size > self.options.size) {
            return Err(self.too_large(&artifact));
        }
        let body = self.blob(&artifact, &layer.digest).await?;
        let card = wire::from_slice(&body).map_err(|error| not_a_card(error.to_string()))?;
        Ok(PulledCard { card, digest })
    }

    /// Returns the digest that a tag points to now.
    pub(super) async fn digest(&self, repository: &str, tag: &str) -> Result<String> {
        let artifact = self.artifact(repository, tag)?;
        match self.head(&artifact).await? {
            Some(digest) => Ok(digest),
            // Some registries do not send the digest, so it is computed.
            None => Ok(self.manifest(&artifact, tag).await?.1),
        }
    }

    /// Pulls the manifest of an artifact as bytes, with its digest.
    async fn manifest(&self, artifact: &Content, version: &str) -> Result<(Vec<u8>, String)> {
        let (body, digest) = self.get(artifact, self.options.answer).await?;
        // For a pull by digest, that digest is expected whatever the registry sends.
        let expected = if is_digest(version) { Some(version.to_owned()) } else { digest };
        let digest = expected.unwrap_or_else(|| digest::of(&body));
        let checked = digest::check(&body, &digest);
        checked.map_err(|why| RegistryError::refused(&artifact.reference, &why))?;
        Ok((body, digest))
    }

    /// Pulls a layer of an artifact.
    async fn blob(&self, artifact: &Content, digest: &str) -> Result<Vec<u8>> {
        let refused = |why: String| RegistryError::refused(&artifact.reference, &why);
        if !is_digest(digest) || digest.contains(['/', '?', '#', '%']) {
            return Err(refused(format!("expected a layer with a digest, found {digest:?}")));
        }
        let url = self.below(&format!("{}/blobs/{digest}", artifact.repository));
        let (body, _) = self.get(&Content { url, ..artifact.clone() }, self.options.size).await?;
        digest::check(&body, digest).map_err(refused)?;
        Ok(body)
    }
}

/// A page of the catalogue (distribution specification, "Listing Repositories").
#[derive(Deserialize)]
struct Catalogue {
    repositories: Vec<String>,
}

/// A page of tags; null if all tags of the repository were deleted.
#[derive(Deserialize)]
struct Tags {
    tags: Option<Vec<String>>,
}

/// Reads the manifest of an artifact, which may also be an index of several.
fn read_manifest(text: &[u8]) -> Result<Manifest, String> {
    #[derive(Deserialize)]
    struct Index {
        #[serde(rename = "manifests")]
        _manifests: Vec<IgnoredAny>,
    }
    serde_json::from_slice(text).map_err(|error| match serde_json::from_slice::<Index>(text) {
        Ok(_) => "expected one layer of JSON, found an index of images".to_owned(),
        Err(_) => error.to_string(),
    })
}
