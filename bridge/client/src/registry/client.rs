//! One registry: what is in it is listed, pulled and pushed.

use std::time::Duration;

use bridge_protocol::dialect::card;
use oci_client::{
    Reference,
    client::{ClientConfig, ClientProtocol},
    errors::OciDistributionError,
    manifest::{OciDescriptor, OciManifest},
};
use serde_json::Value;
use tokio::sync::Mutex;
use url::Url;

use super::{
    RegistryError, RegistryOptions, artifact,
    reference::{host_of, oci_reference, shown},
    shelf::Shelf,
};
use crate::credentials::is_loopback;

/// How many pages of a list are asked for; a registry that has more gives them without end.
const MOST_PAGES: usize = 1000;

/// A registry with agent cards. Cheap to share behind an `Arc`; every method takes `&self`.
pub struct Registry {
    pub(super) url: Url,
    pub(super) options: RegistryOptions,
    pub(super) shelf: Mutex<Shelf>,
    pub(super) http: reqwest::Client,
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
        let pushed = self
            .oci
            .push(&reference, &layers, config, auth, Some(manifest));
        self.answer(&self.shown(repository, tag), pushed).await?;
        self.digest(repository, tag).await
    }

    /// The repositories of the registry (`/v2/_catalog`), on all pages.
    ///
    /// # Errors
    /// [`RegistryError`].
    pub async fn list(&self) -> Result<Vec<String>, RegistryError> {
        // The name stands only for the registry: the catalogue has none of its own.
        let any = self.reference("catalog", "latest")?;
        let (auth, size) = (&self.options.auth, Some(self.options.page));
        let mut pages = Pages::default();
        while pages.go_on() {
            let asked = self.oci.catalog(&any, auth, size, pages.last());
            let answer = self
                .answer(&format!("{}/v2/_catalog", self.host), asked)
                .await?;
            pages.add(answer.repositories);
        }
        Ok(pages.items)
    }

    /// The tags of a repository, on all pages.
    ///
    /// # Errors
    /// [`RegistryError::NotFound`] if there is no such repository.
    pub async fn tags(&self, repository: &str) -> Result<Vec<String>, RegistryError> {
        let any = self.reference(repository, "latest")?;
        let (auth, size) = (&self.options.auth, Some(self.options.page));
        let mut pages = Pages::default();
        while pages.go_on() {
            let asked = self.oci.list_tags(&any, auth, size, pages.last());
            let answer = self
                .answer(&format!("{}/{repository}", self.host), asked)
                .await?;
            pages.add(answer.tags);
        }
        Ok(pages.items)
    }

    /// Pulls a card by tag or by digest. What arrives is checked against its digests.
    ///
    /// # Errors
    /// [`RegistryError`]; [`RegistryError::NotACard`] if something else is there.
    pub async fn pull(&self, repository: &str, version: &str) -> Result<Pulled, RegistryError> {
        let name = self.shown(repository, version);
        let reference = self.reference(repository, version)?;
        let pulled = self.oci.pull_manifest(&reference, &self.options.auth);
        let (manifest, digest) = self.answer(&name, pulled).await?;
        let not_a_card = |why: String| RegistryError::NotACard {
            reference: name.clone(),
            why,
        };
        let OciManifest::Image(manifest) = manifest else {
            return Err(not_a_card(
                "expected one layer of JSON, found an index of images".into(),
            ));
        };
        let layer = artifact::card_layer(&manifest).map_err(not_a_card)?;
        if usize::try_from(layer.size).map_or(true, |size| size > self.options.size) {
            return Err(self.too_large(repository, version));
        }
        let body = self.blob(&name, &reference, layer).await?;
        let card = serde_json::from_slice(&body).map_err(|error| not_a_card(error.to_string()))?;
        Ok(Pulled { card, digest })
    }

    /// The digest that a tag names now.
    pub(super) async fn digest(
        &self,
        repository: &str,
        tag: &str,
    ) -> Result<String, RegistryError> {
        let reference = self.reference(repository, tag)?;
        let asked = self
            .oci
            .fetch_manifest_digest(&reference, &self.options.auth);
        self.answer(&self.shown(repository, tag), asked).await
    }

    async fn blob(
        &self,
        name: &str,
        reference: &Reference,
        layer: &OciDescriptor,
    ) -> Result<Vec<u8>, RegistryError> {
        let mut body = Vec::new();
        let pulled = self.oci.pull_blob(reference, layer, &mut body);
        self.answer(name, pulled).await?;
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

    /// What a request answers within its limit.
    async fn answer<T>(
        &self,
        reference: &str,
        asked: impl Future<Output = Result<T, OciDistributionError>>,
    ) -> Result<T, RegistryError> {
        let limit: Duration = self.options.reply;
        match tokio::time::timeout(limit, asked).await {
            Ok(answer) => answer.map_err(|error| RegistryError::of(&error, &self.host, reference)),
            Err(_) => Err(RegistryError::Timeout {
                registry: self.host.clone(),
                limit,
            }),
        }
    }
}

impl std::fmt::Debug for Registry {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Registry")
            .field("url", &self.url.as_str())
            .finish_non_exhaustive()
    }
}

/// All pages of a list (distribution specification, "Listing Tags"): each begins after the last item of the
/// one before, until one is empty or brings nothing new.
#[derive(Default)]
struct Pages {
    items: Vec<String>,
    asked: usize,
    ended: bool,
}

impl Pages {
    /// Whether another page is to be asked for.
    fn go_on(&self) -> bool {
        !self.ended && self.asked < MOST_PAGES
    }

    /// The item after which it begins.
    fn last(&self) -> Option<&str> {
        self.items.last().map(String::as_str)
    }

    fn add(&mut self, page: Vec<String>) {
        let known = |item: &String| !self.items.contains(item);
        let new: Vec<String> = page.into_iter().filter(known).collect();
        self.asked += 1;
        self.ended = new.is_empty();
        self.items.extend(new);
    }
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

    const ALL: [&str; 3] = ["a", "b", "c"];

    fn paged(last: Option<&str>) -> Vec<String> {
        let after = ALL
            .iter()
            .filter(|item| last.is_none_or(|last| **item > last));
        after.take(2).map(ToString::to_string).collect()
    }

    /// One that knows no pages gives everything each time.
    fn whole(_: Option<&str>) -> Vec<String> {
        ALL.map(str::to_owned).to_vec()
    }

    #[test]
    fn pages_are_asked_for_until_one_brings_nothing_new() {
        for (server, asked) in [(paged as fn(Option<&str>) -> Vec<String>, 3), (whole, 2)] {
            let mut pages = Pages::default();
            while pages.go_on() {
                let page = server(pages.last());
                pages.add(page);
            }
            assert_eq!((pages.items, pages.asked), (whole(None), asked));
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
