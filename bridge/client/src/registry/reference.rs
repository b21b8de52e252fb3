//! References to registries and artifacts.

use std::{fmt, str::FromStr};

use oci_client::Reference;
use url::Url;

use super::RegistryError;
use crate::credentials::is_loopback;

/// A reference to a card in a registry: `HOST/REPOSITORY:TAG` or `HOST/REPOSITORY@DIGEST`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CardReference {
    /// The registry's URL: http on this machine, https otherwise.
    pub registry: Url,
    /// The repository, such as `agents/plan`.
    pub repository: String,
    /// A tag, or a digest such as `sha256:...`.
    pub version: String,
}

impl FromStr for CardReference {
    type Err = RegistryError;

    /// # Errors
    /// [`RegistryError::Reference`] if host, repository or version is missing or has invalid characters.
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let bad = || RegistryError::Reference {
            text: text.to_owned(),
        };
        let (host, rest) = text.split_once('/').ok_or_else(bad)?;
        let (repository, version) = match rest.split_once('@') {
            Some(parts) => parts,
            None => rest.rsplit_once(':').ok_or_else(bad)?,
        };
        let registry = registry_at(host)?;
        // `oci-client` checks the grammar of names.
        oci_reference(host, repository, version)?;
        Ok(Self {
            registry,
            repository: repository.to_owned(),
            version: version.to_owned(),
        })
    }
}

impl fmt::Display for CardReference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let host = host_of(&self.registry);
        f.write_str(&shown(&host, &self.repository, &self.version))
    }
}

/// The URL of the registry on a host such as `localhost:5000`.
fn registry_at(host: &str) -> Result<Url, RegistryError> {
    let at = |scheme: &str| Url::parse(&format!("{scheme}://{host}/"));
    let bad = |_| RegistryError::Address(host.to_owned());
    let plain = at("http").map_err(bad)?;
    match is_loopback(&plain) {
        true => Ok(plain),
        false => at("https").map_err(bad),
    }
}

/// The text form of a reference.
pub(super) fn shown(host: &str, repository: &str, version: &str) -> String {
    let between = if is_digest(version) { '@' } else { ':' };
    format!("{host}/{repository}{between}{version}")
}

/// The reference in the form of `oci-client`.
pub(super) fn oci_reference(
    host: &str,
    repository: &str,
    version: &str,
) -> Result<Reference, RegistryError> {
    let text = shown(host, repository, version);
    let bad = || RegistryError::Reference { text: text.clone() };
    Reference::try_from(text.as_str()).map_err(|_| bad())?;
    let (host, repository) = (host.to_owned(), repository.to_owned());
    Ok(match is_digest(version) {
        true => Reference::with_digest(host, repository, version.to_owned()),
        false => Reference::with_tag(host, repository, version.to_owned()),
    })
}

/// Whether a version is a digest rather than a tag.
pub(super) fn is_digest(version: &str) -> bool {
    version.contains(':')
}

/// Host and port of a registry, as in references.
pub(super) fn host_of(registry: &Url) -> String {
    let host = registry.host_str().unwrap_or_default();
    match registry.port() {
        Some(port) => format!("{host}:{port}"),
        None => host.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reference_has_three_parts() {
        let digest = format!("sha256:{}", "0".repeat(64));
        for (text, registry, repository, version) in [
            (
                "localhost:5000/agents/plan:v1",
                "http://localhost:5000/",
                "agents/plan",
                "v1",
            ),
            (
                "registry.test/plan:1.0.0",
                "https://registry.test/",
                "plan",
                "1.0.0",
            ),
            (
                &format!("127.0.0.1:5000/plan@{digest}"),
                "http://127.0.0.1:5000/",
                "plan",
                &digest,
            ),
        ] {
            let read: CardReference = text.parse().unwrap();
            assert_eq!(read.registry.as_str(), registry);
            assert_eq!(
                (read.repository.as_str(), read.version.as_str()),
                (repository, version)
            );
            assert_eq!(read.to_string(), text);
        }
    }

    #[test]
    fn what_is_no_reference_is_refused() {
        for text in [
            "plan",
            "localhost:5000/plan",
            "localhost:5000/Plan:v1",
            "localhost:5000/plan:",
            "localhost:5000/plan@sha256:0",
            "localhost:5000/plan:v 1",
        ] {
            let read = text.parse::<CardReference>();
            assert!(
                matches!(read, Err(RegistryError::Reference { .. })),
                "{text}: {read:?}"
            );
        }
    }
}
