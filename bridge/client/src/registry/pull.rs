//! Reads from a registry: lists, and cards by tag or digest.

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
    http::{ReadRequest, RegistryResponse},
    pages::Pages,
    reference::is_digest,
};

/// The largest number of tags of one repository. The order of tags does not follow versions, so all are
/// needed to find the newest.
const MOST_TAGS: usize = 10_000;

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
        let reference = format!("{}/v2/_catalog", self.host);
        let most = self.options.repositories;
        let page = |catalogue: Catalogue| catalogue.repositories;
        self.listed(&reference, "", "_catalog", most, page).await
    }

    /// Returns the tags of a repository, on all pages.
    ///
    /// # Errors
    /// [`RegistryError::NotFound`] if there is no such repository.
    pub async fn tags(&self, repository: &str) -> Result<Vec<String>> {
        self.check_reference(repository, "latest")?;
        let reference = format!("{}/{repository}", self.host);
        let path = format!("{repository}/tags/list");
        let page = |tags: Tags| tags.tags.unwrap_or_default();
        self.listed(&reference, repository, &path, MOST_TAGS, page).await
    }

    async fn listed<T: DeserializeOwned>(
        &self,
        reference: &str,
        repository: &str,
        path: &str,
        most: usize,
        page: impl Fn(T) -> Vec<String>,
    ) -> Result<Vec<String>> {
        let mut pages = Pages::at_most(most);
        while pages.go_on() {
            let mut query = vec![("n", self.options.page.to_string())];
            query.extend(pages.last().map(|last| ("last", last.to_owned())));
            let answer = self.http.get(ReadRequest { reference, repository, path, query: &query });
            let RegistryResponse { body, .. } = self.in_time(answer).await?;
            let read = serde_json::from_slice(&body);
            let read = read.map_err(|error| RegistryError::refused(reference, &error.to_string()));
            pages.add(page(read?));
        }
        pages
            .all()
            .ok_or_else(|| RegistryError::TooMany { reference: reference.to_owned(), limit: most })
    }

    /// Pulls a card by tag or digest. The content is checked against its digests.
    ///
    /// # Errors
    /// [`RegistryError`]; [`RegistryError::NotACard`] if the artifact is something else.
    pub async fn pull(&self, repository: &str, version: &str) -> Result<PulledCard> {
        let name = self.shown(repository, version);
        let (manifest, digest) = self.pull_manifest(repository, version).await?;
        let not_a_card = |why: String| RegistryError::NotACard { reference: name.clone(), why };
        let manifest = read_manifest(&manifest).map_err(not_a_card)?;
        let layer = artifact::card_layer(&manifest).map_err(not_a_card)?;
        if usize::try_from(layer.size).map_or(true, |size| size > self.options.size) {
            return Err(self.too_large(repository, version));
        }
        let body = self.blob(&name, repository, &layer.digest).await?;
        let card = wire::from_slice(&body).map_err(|error| not_a_card(error.to_string()))?;
        Ok(PulledCard { card, digest })
    }

    /// Returns the digest that a tag points to now.
    pub(super) async fn digest(&self, repository: &str, tag: &str) -> Result<String> {
        self.check_reference(repository, tag)?;
        let (name, path) = (self.shown(repository, tag), manifest_path(repository, tag));
        let asked = self.http.head(wanted(&name, repository, &path));
        match self.in_time(asked).await? {
            Some(digest) => Ok(digest),
            // Some registries do not send the digest, so it is computed.
            None => Ok(self.pull_manifest(repository, tag).await?.1),
        }
    }

    /// Pulls a manifest as bytes, with its digest.
    async fn pull_manifest(&self, repository: &str, version: &str) -> Result<(Vec<u8>, String)> {
        self.check_reference(repository, version)?;
        let (name, path) = (self.shown(repository, version), manifest_path(repository, version));
        let asked = self.http.get(wanted(&name, repository, &path));
        let RegistryResponse { digest, body } = self.in_time(asked).await?;
        // For a pull by digest, that digest is expected whatever the registry sends.
        let expected = if is_digest(version) { Some(version.to_owned()) } else { digest };
        let digest = expected.unwrap_or_else(|| digest::of(&body));
        let checked = digest::check(&body, &digest);
        checked.map_err(|why| RegistryError::refused(&name, &why))?;
        Ok((body, digest))
    }

    async fn blob(&self, name: &str, repository: &str, digest: &str) -> Result<Vec<u8>> {
        let refused = |why: String| RegistryError::refused(name, &why);
        if !is_digest(digest) || digest.contains(['/', '?', '#', '%']) {
            return Err(refused(format!("expected a layer with a digest, found {digest:?}")));
        }
        let path = format!("{repository}/blobs/{digest}");
        let wanted = wanted(name, repository, &path);
        let asked = self.http.get_within(wanted, self.options.size);
        let body = self.in_time(asked).await?.body;
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

pub(super) fn wanted<'a>(
    reference: &'a str,
    repository: &'a str,
    path: &'a str,
) -> ReadRequest<'a> {
    ReadRequest { reference, repository, path, query: &[] }
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

pub(super) fn manifest_path(repository: &str, version: &str) -> String {
    format!("{repository}/manifests/{version}")
}
