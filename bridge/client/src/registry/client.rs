//! One registry: what is in it is listed, pulled and pushed.

use std::time::Duration;

use bridge_protocol::dialect::card;
use oci_client::{
    Reference,
    client::{ClientConfig, ClientProtocol},
    errors::OciDistributionError,
    manifest::OciManifest,
};
use serde::{Deserialize, de::DeserializeOwned};
use serde_json::Value;
use tokio::sync::Mutex;
use url::Url;

use super::{
    RegistryError, RegistryOptions, artifact, digest,
    pages::Pages,
    reader::{Answer, Reader, Wanted},
    reference::{host_of, is_digest, oci_reference, shown},
    shelf::Shelf,
};
use crate::credentials::is_loopback;

/// How many tags one repository may have; of more nobody could say which is the newest.
const MOST_TAGS: usize = 10_000;

/// A registry with agent cards. Cheap to share behind an `Arc`; every method takes `&self`.
pub struct Registry {
    pub(super) url: Url,
    pub(super) options: RegistryOptions,
    pub(super) shelf: Mutex<Shelf>,
    pub(super) http: reqwest::Client,
    reader: Reader,
    /// What pushes.
    oci: oci_client::Client,
    host: String,
}

/// A card that was pulled.
#[derive(Clone, Debug, PartialEq)]
pub struct Pulled {
    /// The card, as it was pushed.
    pub card: Value,
    /// The digest of its manifest, which names this version for ever.
    pub digest: String,
}

impl Registry {
    /// The registry at an address such as `http://localhost:5000`; nothing is asked yet.
    ///
    /// # Errors
    /// [`RegistryError::Address`], and [`RegistryError::PlainHttp`] where http would leave this machine.
    pub fn new(url: &Url, options: RegistryOptions) -> Result<Self, RegistryError> {
        let host = host_of(url);
        let protocol = match url.scheme() {
            "https" => ClientProtocol::Https,
            "http" if is_loopback(url) => ClientProtocol::Http,
            "http" => return Err(RegistryError::PlainHttp { host }),
            _ => return Err(RegistryError::Address(url.to_string())),
        };
        let unusable = |cause: String| RegistryError::Unreachable {
            registry: host.clone(),
            cause,
        };
        use_ring();
        let oci = oci_client::Client::try_from(ClientConfig {
            protocol,
            connect_timeout: Some(options.connect),
            read_timeout: Some(options.reply),
            platform_resolver: None,
            ..ClientConfig::default()
        });
        let http = reqwest::Client::builder()
            .redirect(reqwest::redirect::Policy::none())
            .timeout(options.health)
            .no_proxy()
            .build();
        Ok(Self {
            url: url.clone(),
            shelf: Mutex::default(),
            http: http.map_err(|error| unusable(error.to_string()))?,
            reader: Reader::new(url, &options).map_err(|error| unusable(error.to_string()))?,
            oci: oci.map_err(|error| unusable(error.to_string()))?,
            options,
            host,
        })
    }

    /// Pushes a card and gives the digest of its manifest.
    ///
    /// # Errors
    /// [`RegistryError::NotACard`] before anything is sent, and what the registry says.
    pub async fn push(
        &self,
        repository: &str,
        tag: &str,
        card: &Value,
    ) -> Result<String, RegistryError> {
        let reference = self.reference(repository, tag)?;
        let (read, _) = card::read(card.clone()).map_err(|why| RegistryError::NotACard {
            reference: self.shown(repository, tag),
            why: why.to_string(),
        })?;
        let json = card.to_string().into_bytes();
        if json.len() > self.options.size {
            return Err(self.too_large(repository, tag));
        }
        let (manifest, layer, config) = artifact::write(&read, json);
        let auth = &self.options.auth;
        let layers = [layer];
        let pushing = self
            .oci
            .push(&reference, &layers, config, auth, Some(manifest));
        // The crate's future is large, and whoever waits would have to hold all of it.
        let pushing = Box::pin(pushing);
        self.pushed(&self.shown(repository, tag), pushing).await?;
        self.digest(repository, tag).await
    }

    /// The repositories of the registry (`/v2/_catalog`), on all pages.
    ///
    /// # Errors
    /// [`RegistryError::TooMany`] if there are more than [`RegistryOptions::repositories`].
    pub async fn list(&self) -> Result<Vec<String>, RegistryError> {
        let reference = format!("{}/v2/_catalog", self.host);
        let most = self.options.repositories;
        let page = |catalogue: Catalogue| catalogue.repositories;
        self.listed(&reference, "", "_catalog", most, page).await
    }

    /// The tags of a repository, on all pages.
    ///
    /// # Errors
    /// [`RegistryError::NotFound`] if there is no such repository.
    pub async fn tags(&self, repository: &str) -> Result<Vec<String>, RegistryError> {
        self.reference(repository, "latest")?;
        let reference = format!("{}/{repository}", self.host);
        let path = format!("{repository}/tags/list");
        let page = |tags: Tags| tags.tags.unwrap_or_default();
        self.listed(&reference, repository, &path, MOST_TAGS, page)
            .await
    }

    async fn listed<T: DeserializeOwned>(
        &self,
        reference: &str,
        repository: &str,
        path: &str,
        most: usize,
        page: impl Fn(T) -> Vec<String>,
    ) -> Result<Vec<String>, RegistryError> {
        let mut pages = Pages::at_most(most);
        while pages.go_on() {
            let mut query = vec![("n", self.options.page.to_string())];
            query.extend(pages.last().map(|last| ("last", last.to_owned())));
            let answer = self.reader.get(Wanted {
                reference,
                repository,
                path,
                query: &query,
            });
            let Answer { body, .. } = self.in_time(answer).await?;
            let read = serde_json::from_slice(&body);
            let read = read.map_err(|error| RegistryError::refused(reference, &error.to_string()));
            pages.add(page(read?));
        }
        pages.all().ok_or_else(|| RegistryError::TooMany {
            reference: reference.to_owned(),
            limit: most,
        })
    }

    /// Pulls a card by tag or by digest. What arrives is checked against its digests.
    ///
    /// # Errors
    /// [`RegistryError`]; [`RegistryError::NotACard`] if something else is there.
    pub async fn pull(&self, repository: &str, version: &str) -> Result<Pulled, RegistryError> {
        let name = self.shown(repository, version);
        let (manifest, digest) = self.pull_manifest(repository, version).await?;
        let not_a_card = |why: String| RegistryError::NotACard {
            reference: name.clone(),
            why,
        };
        let manifest = serde_json::from_slice(&manifest);
        let OciManifest::Image(manifest) =
            manifest.map_err(|error| not_a_card(error.to_string()))?
        else {
            return Err(not_a_card(
                "expected one layer of JSON, found an index of images".into(),
            ));
        };
        let layer = artifact::card_layer(&manifest).map_err(not_a_card)?;
        if usize::try_from(layer.size).map_or(true, |size| size > self.options.size) {
            return Err(self.too_large(repository, version));
        }
        let body = self.blob(&name, repository, &layer.digest).await?;
        let card = serde_json::from_slice(&body).map_err(|error| not_a_card(error.to_string()))?;
        Ok(Pulled { card, digest })
    }

    /// The digest that a tag names now.
    pub(super) async fn digest(
        &self,
        repository: &str,
        tag: &str,
    ) -> Result<String, RegistryError> {
        self.reference(repository, tag)?;
        let (name, path) = (self.shown(repository, tag), manifest_path(repository, tag));
        let asked = self.reader.head(wanted(&name, repository, &path));
        match self.in_time(asked).await? {
            Some(digest) => Ok(digest),
            // Some registries leave it to the reader.
            None => Ok(self.pull_manifest(repository, tag).await?.1),
        }
    }

    /// A manifest as it arrived, with its digest.
    async fn pull_manifest(
        &self,
        repository: &str,
        version: &str,
    ) -> Result<(Vec<u8>, String), RegistryError> {
        self.reference(repository, version)?;
        let (name, path) = (
            self.shown(repository, version),
            manifest_path(repository, version),
        );
        let asked = self.reader.get(wanted(&name, repository, &path));
        let Answer { digest, body } = self.in_time(asked).await?;
        // By digest it is asked for what it has to be, whatever the registry says.
        let expected = match is_digest(version) {
            true => Some(version.to_owned()),
            false => digest,
        };
        let digest = expected.unwrap_or_else(|| digest::of(&body));
        let checked = digest::check(&body, &digest);
        checked.map_err(|why| RegistryError::refused(&name, &why))?;
        Ok((body, digest))
    }

    async fn blob(
        &self,
        name: &str,
        repository: &str,
        digest: &str,
    ) -> Result<Vec<u8>, RegistryError> {
        let refused = |why: String| RegistryError::refused(name, &why);
        if !is_digest(digest) || digest.contains(['/', '?', '#', '%']) {
            return Err(refused(format!(
                "expected a layer with a digest, found {digest:?}"
            )));
        }
        let path = format!("{repository}/blobs/{digest}");
        let wanted = wanted(name, repository, &path);
        let asked = self.reader.get_within(wanted, self.options.size);
        let body = self.in_time(asked).await?.body;
        digest::check(&body, digest).map_err(refused)?;
        Ok(body)
    }

    fn reference(&self, repository: &str, version: &str) -> Result<Reference, RegistryError> {
        oci_reference(&self.host, repository, version)
    }

    /// A reference as people write it.
    pub(super) fn shown(&self, repository: &str, version: &str) -> String {
        shown(&self.host, repository, version)
    }

    fn too_large(&self, repository: &str, version: &str) -> RegistryError {
        RegistryError::TooLarge {
            reference: self.shown(repository, version),
            limit: self.options.size,
        }
    }

    /// What pushing answers within the limit of time.
    async fn pushed<T>(
        &self,
        reference: &str,
        pushing: impl Future<Output = Result<T, OciDistributionError>>,
    ) -> Result<T, RegistryError> {
        let told = async {
            let pushed = pushing.await;
            pushed.map_err(|error| RegistryError::of(&error, &self.host, reference))
        };
        self.in_time(told).await
    }

    async fn in_time<T>(
        &self,
        asked: impl Future<Output = Result<T, RegistryError>>,
    ) -> Result<T, RegistryError> {
        let limit: Duration = self.options.reply;
        tokio::time::timeout(limit, asked)
            .await
            .unwrap_or_else(|_| {
                Err(RegistryError::Timeout {
                    registry: self.host.clone(),
                    limit,
                })
            })
    }
}

impl std::fmt::Debug for Registry {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Registry")
            .field("url", &self.url.as_str())
            .finish_non_exhaustive()
    }
}

/// A page of the catalogue (distribution specification, "Listing Repositories").
#[derive(Deserialize)]
struct Catalogue {
    repositories: Vec<String>,
}

/// A page of tags; a repository whose tags are gone has null.
#[derive(Deserialize)]
struct Tags {
    tags: Option<Vec<String>>,
}

fn wanted<'a>(reference: &'a str, repository: &'a str, path: &'a str) -> Wanted<'a> {
    Wanted {
        reference,
        repository,
        path,
        query: &[],
    }
}

fn manifest_path(repository: &str, version: &str) -> String {
    format!("{repository}/manifests/{version}")
}

/// The crate's TLS has no provider of its own; whoever set one already is left with it.
fn use_ring() {
    if rustls::crypto::CryptoProvider::get_default().is_none() {
        let set = rustls::crypto::ring::default_provider().install_default();
        // Somebody was quicker, and theirs will do.
        drop(set);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn http_stays_on_this_machine() {
        for (url, error) in [
            ("http://localhost:5000", None),
            ("http://127.0.0.1:5000", None),
            ("https://registry.test", None),
            (
                "http://registry.test",
                Some("http is for registries of this machine only: use https://registry.test"),
            ),
            (
                "oci://registry.test",
                Some(
                    "expected a registry such as https://HOST or http://localhost:5000, found \"oci://registry.test\"",
                ),
            ),
        ] {
            let made = Registry::new(&Url::parse(url).unwrap(), RegistryOptions::default());
            assert_eq!(made.err().map(|error| error.to_string()).as_deref(), error);
        }
    }

    /// Whoever finds agents does it among other things, on whatever thread.
    #[test]
    fn finding_can_be_sent_between_threads() {
        fn sent(_: &(impl Send + ?Sized)) {}
        let url = Url::parse("http://localhost:5000").unwrap();
        let registry = Registry::new(&url, RegistryOptions::default()).unwrap();
        sent(&registry.find("x"));
    }
}
