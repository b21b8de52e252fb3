//! The client of one registry, and how it pushes cards.

use std::time::Duration;

use bridge_protocol::dialect::card;
use oci_client::{
    Reference,
    client::{ClientConfig, ClientProtocol},
    errors::OciDistributionError,
};
use serde_json::Value;
use tokio::sync::Mutex;
use url::Url;

use super::{
    RegistryError, RegistryOptions, artifact,
    cache::RegistryCache,
    reader::RegistryReader,
    reference::{host_of, oci_reference, shown},
};
use crate::credentials::is_loopback;

/// A registry with agent cards. Cheap to share behind an `Arc`; every method takes `&self`.
pub struct Registry {
    pub(super) url: Url,
    pub(super) options: RegistryOptions,
    pub(super) cache: Mutex<RegistryCache>,
    pub(super) http: reqwest::Client,
    pub(super) reader: RegistryReader,
    /// The client for pushing.
    oci: oci_client::Client,
    pub(super) host: String,
}

impl Registry {
    /// Creates a client for the registry at an address such as `http://localhost:5000`; nothing is sent yet.
    ///
    /// # Errors
    /// [`RegistryError::Address`], or [`RegistryError::PlainHttp`] if plain HTTP would leave this machine.
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
            cache: Mutex::default(),
            http: http.map_err(|error| unusable(error.to_string()))?,
            reader: RegistryReader::new(url, &options)
                .map_err(|error| unusable(error.to_string()))?,
            oci: oci.map_err(|error| unusable(error.to_string()))?,
            options,
            host,
        })
    }

    /// Pushes a card and returns the digest of its manifest.
    ///
    /// # Errors
    /// [`RegistryError::NotACard`] before anything is sent, or an error of the registry.
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
        // The future of `oci-client` is large, and so would be every future that awaits it.
        let pushing = Box::pin(pushing);
        self.pushed(&self.shown(repository, tag), pushing).await?;
        self.digest(repository, tag).await
    }

    /// Checks the name of an artifact and returns it in the form of `oci-client`.
    pub(super) fn reference(
        &self,
        repository: &str,
        version: &str,
    ) -> Result<Reference, RegistryError> {
        oci_reference(&self.host, repository, version)
    }

    /// The name of an artifact as text.
    pub(super) fn shown(&self, repository: &str, version: &str) -> String {
        shown(&self.host, repository, version)
    }

    pub(super) fn too_large(&self, repository: &str, version: &str) -> RegistryError {
        RegistryError::TooLarge {
            reference: self.shown(repository, version),
            limit: self.options.size,
        }
    }

    /// Pushes within the time limit.
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

    /// Applies the time limit to a request.
    pub(super) async fn in_time<T>(
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

/// Sets ring as the TLS provider of `oci-client`, unless the program has set one.
fn use_ring() {
    if rustls::crypto::CryptoProvider::get_default().is_none() {
        let set = rustls::crypto::ring::default_provider().install_default();
        // Another thread was faster, and its provider is used.
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

    /// A future that finds agents can be sent to another thread.
    #[test]
    fn finding_can_be_sent_between_threads() {
        fn sent(_: &(impl Send + ?Sized)) {}
        let url = Url::parse("http://localhost:5000").unwrap();
        let registry = Registry::new(&url, RegistryOptions::default()).unwrap();
        sent(&registry.find("x"));
    }
}
