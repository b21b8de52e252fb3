//! The client of one registry, and how it pushes cards.

use std::{collections::BTreeMap, sync::Mutex};

use bridge_http::is_loopback;
use bridge_protocol::dialect::card;
use bytes::Bytes;
use reqwest::{Client, header::HeaderValue};
use serde_json::Value;
use url::Url;

use super::{
    RegistryError, RegistryOptions, Result, artifact,
    cache::Entry,
    digest,
    http::{self, Content},
    reference::{self, host_of, shown},
};

/// A registry with agent cards. Cheap to share behind an `Arc`; every method takes `&self`.
#[derive(Debug)]
pub struct Registry {
    pub(super) url: Url,
    pub(super) host: String,
    pub(super) options: RegistryOptions,
    pub(super) http: Client,
    /// The accepted `Authorization` header of each repository.
    pub(super) shown: Mutex<BTreeMap<String, HeaderValue>>,
    pub(super) cache: Mutex<Vec<Entry>>,
}

impl Registry {
    /// Creates a client for the registry at an address such as `http://localhost:5000`; nothing is sent yet.
    ///
    /// # Errors
    /// [`RegistryError::Address`], or [`RegistryError::PlainHttp`] if plain HTTP would leave this machine.
    pub fn new(url: &Url, options: RegistryOptions) -> Result<Self> {
        let host = host_of(url);
        match url.scheme() {
            "https" => {}
            "http" if is_loopback(url) => {}
            "http" => return Err(RegistryError::PlainHttp(host)),
            _ => return Err(RegistryError::Address(url.to_string())),
        }
        let http = http::client(url, &options).map_err(|error| RegistryError::Unreachable {
            registry: host.clone(),
            cause: error.to_string(),
        })?;
        let (shown, cache) = (Mutex::default(), Mutex::default());
        Ok(Self { url: url.clone(), host, options, http, shown, cache })
    }

    /// Pushes a card and returns the digest of its manifest.
    ///
    /// # Errors
    /// [`RegistryError::NotACard`] before anything is sent, or an error of the registry.
    pub async fn push(&self, repository: &str, tag: &str, card: &Value) -> Result<String> {
        let artifact = self.artifact(repository, tag)?;
        let (read, _) = card::read(card.clone()).map_err(|why| RegistryError::NotACard {
            reference: artifact.reference.clone(),
            why: why.to_string(),
        })?;
        let json = card.to_string().into_bytes();
        if json.len() > self.options.size {
            return Err(self.too_large(&artifact));
        }
        let manifest = serde_json::to_vec(&artifact::manifest(&read, &json));
        let manifest = manifest
            .map_err(|error| RegistryError::refused(&artifact.reference, &error.to_string()))?;
        let digest = digest::of(&manifest);
        let pushing = async {
            self.put_blob(&artifact, json.into()).await?;
            self.put_blob(&artifact, Bytes::from_static(artifact::CONFIG)).await?;
            self.put_manifest(&artifact, manifest.into()).await
        };
        self.in_time(pushing).await?;
        Ok(digest)
    }

    /// Returns the artifact of this name, whose content is its manifest.
    pub(super) fn artifact(&self, repository: &str, version: &str) -> Result<Content> {
        reference::check(&self.host, repository, version)?;
        Ok(Content {
            reference: shown(&self.host, repository, version),
            repository: repository.to_owned(),
            url: self.below(&format!("{repository}/manifests/{version}")),
        })
    }

    pub(super) fn too_large(&self, artifact: &Content) -> RegistryError {
        RegistryError::TooLarge { reference: artifact.reference.clone(), limit: self.options.size }
    }

    /// Applies the time limit to a request.
    pub(super) async fn in_time<T>(&self, asked: impl Future<Output = Result<T>>) -> Result<T> {
        let limit = self.options.reply;
        tokio::time::timeout(limit, asked)
            .await
            .unwrap_or_else(|_| Err(RegistryError::Timeout { registry: self.host.clone(), limit }))
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

    /// A future that finds agents can be sent to another thread.
    #[test]
    fn finding_can_be_sent_between_threads() {
        fn sent(_: &(impl Send + ?Sized)) {}
        let url = Url::parse("http://localhost:5000").unwrap();
        let registry = Registry::new(&url, RegistryOptions::default()).unwrap();
        sent(&registry.find("x"));
    }
}
