//! References to registries and artifacts.

use std::{fmt, str::FromStr};

use bridge_http::is_loopback;
use url::Url;

use super::{RegistryError, Result};

/// The length of a repository's name, in bytes, that most registries accept.
const LONGEST_NAME: usize = 255;

/// The length of a tag, in bytes.
const LONGEST_TAG: usize = 128;

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
        let bad = || RegistryError::Reference(text.to_owned());
        let (host, rest) = text.split_once('/').ok_or_else(bad)?;
        let (repository, version) = match rest.split_once('@') {
            Some(parts) => parts,
            None => rest.rsplit_once(':').ok_or_else(bad)?,
        };
        let registry = registry_at(host)?;
        check(host, repository, version)?;
        Ok(Self { registry, repository: repository.to_owned(), version: version.to_owned() })
    }
}

impl fmt::Display for CardReference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let host = host_of(&self.registry);
        f.write_str(&shown(&host, &self.repository, &self.version))
    }
}

/// Returns the URL of the registry on a host such as `localhost:5000`.
fn registry_at(host: &str) -> Result<Url> {
    let at = |scheme: &str| Url::parse(&format!("{scheme}://{host}/"));
    let bad = |_| RegistryError::Address(host.to_owned());
    let plain = at("http").map_err(bad)?;
    if is_loopback(&plain) { Ok(plain) } else { at("https").map_err(bad) }
}

/// Returns the text form of a reference.
pub(super) fn shown(host: &str, repository: &str, version: &str) -> String {
    let between = if is_digest(version) { '@' } else { ':' };
    format!("{host}/{repository}{between}{version}")
}

/// Checks the grammar of a reference (distribution specification, "Pulling manifests").
pub(super) fn check(host: &str, repository: &str, version: &str) -> Result<()> {
    let is_version = match version.split_once(':') {
        Some((algorithm, hex)) => is_hash(algorithm, hex),
        None => is_tag(version),
    };
    if is_host(host) && is_repository(repository) && is_version {
        return Ok(());
    }
    Err(RegistryError::Reference(shown(host, repository, version)))
}

fn is_host(host: &str) -> bool {
    let fits = |byte: u8| byte.is_ascii_alphanumeric() || b"-.:[]".contains(&byte);
    !host.is_empty() && host.bytes().all(fits)
}

/// Parts with `/` between them, each of words with `.`, `_`, `__` or hyphens between them.
fn is_repository(name: &str) -> bool {
    let in_word = |one: char| matches!(one, 'a'..='z' | '0'..='9');
    let is_separator = |between: &str| match between {
        "" | "." | "_" | "__" => true,
        other => other.bytes().all(|byte| byte == b'-'),
    };
    let is_part = |part: &str| {
        part.starts_with(in_word)
            && part.ends_with(in_word)
            && part.split(in_word).all(is_separator)
    };
    name.len() <= LONGEST_NAME && name.split('/').all(is_part)
}

fn is_tag(tag: &str) -> bool {
    let in_word = |one: char| one.is_ascii_alphanumeric() || one == '_';
    let fits = |one: char| in_word(one) || matches!(one, '.' | '-');
    tag.len() <= LONGEST_TAG && tag.starts_with(in_word) && tag.chars().all(fits)
}

fn is_hash(algorithm: &str, hex: &str) -> bool {
    let length = match algorithm {
        "sha256" => 64,
        "sha384" => 96,
        "sha512" => 128,
        _ => return false,
    };
    hex.len() == length && hex.bytes().all(|byte| byte.is_ascii_hexdigit())
}

/// Returns whether a version is a digest rather than a tag.
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
            ("localhost:5000/agents/plan:v1", "http://localhost:5000/", "agents/plan", "v1"),
            ("registry.test/plan:1.0.0", "https://registry.test/", "plan", "1.0.0"),
            (&format!("127.0.0.1:5000/plan@{digest}"), "http://127.0.0.1:5000/", "plan", &digest),
        ] {
            let read: CardReference = text.parse().unwrap();
            assert_eq!(read.registry.as_str(), registry);
            assert_eq!((read.repository.as_str(), read.version.as_str()), (repository, version));
            assert_eq!(read.to_string(), text);
        }
    }

    #[test]
    fn names_have_the_grammar_of_the_specification() {
        for repository in ["a", "a/b", "a.b_c__d-e---f/0", "agents/plan2"] {
            assert_eq!(check("h", repository, "v1"), Ok(()), "{repository}");
        }
        let long = "a".repeat(LONGEST_NAME + 1);
        for repository in [
            "", "/a", "a/", "a//b", "-a", "a-", "a..b", "a._b", "a___b", "A", "a b", "\u{e4}",
            "a%2fb", "a/../b", &long,
        ] {
            assert!(check("h", repository, "v1").is_err(), "{repository}");
        }
        let (long, hex) = ("v".repeat(LONGEST_TAG + 1), "0".repeat(64));
        for version in ["v1", "1.0.0-rc_1", "_", "V", &format!("sha256:{hex}")] {
            assert_eq!(check("h", "a", version), Ok(()), "{version}");
        }
        for version in [
            "",
            ".v",
            "-v",
            "v/1",
            "v?1",
            "v#1",
            &long,
            ":",
            "sha256:",
            "md5:0",
            &format!("sha256:{hex}0"),
            &format!("sha512:{hex}"),
            &format!("sha256:{}", "g".repeat(64)),
        ] {
            assert!(check("h", "a", version).is_err(), "{version}");
        }
        for host in ["", "user@h", "h/x", "h?x", "h x"] {
            assert!(check(host, "a", "v1").is_err(), "{host}");
        }
    }

    #[test]
    fn an_invalid_reference_is_refused() {
        for text in [
            "plan",
            "localhost:5000/plan",
            "localhost:5000/Plan:v1",
            "localhost:5000/plan:",
            "localhost:5000/plan@sha256:0",
            "localhost:5000/plan:v 1",
        ] {
            let read = text.parse::<CardReference>();
            assert!(matches!(read, Err(RegistryError::Reference(_))), "{text}: {read:?}");
        }
    }
}
