//! The cache of a registry's cards.

use std::{
    collections::BTreeMap,
    sync::{Arc, MutexGuard, PoisonError},
};

use futures_util::{StreamExt as _, TryStreamExt as _, stream};
use semver::Version;

use super::{PulledCard, Registry, RegistryError, Result, version};
use crate::discovery::Discovered;

/// The number of concurrent requests to a registry.
const AT_ONCE: usize = 8;

/// The content of an artifact: an agent, or the reason why it is no agent card.
type Read = Result<Arc<Discovered>, String>;

/// An artifact of a registry.
#[derive(Clone, Debug)]
pub(super) struct Entry {
    pub(super) repository: String,
    pub(super) tag: String,
    pub(super) digest: String,
    pub(super) read: Read,
}

impl Entry {
    /// Returns the version named by the tag, or else by the card.
    pub(super) fn version(&self) -> Option<Version> {
        let of_card = || version::of_tag(&self.read.as_ref().ok()?.card.version);
        version::of_tag(&self.tag).or_else(of_card)
    }

    /// Returns a short description for errors.
    pub(super) fn described(&self) -> String {
        let Self { repository, tag, .. } = self;
        match &self.read {
            Err(why) => format!("{repository}:{tag} ({why})"),
            Ok(agent) => {
                let skills: Vec<&str> =
                    agent.skills.iter().map(|skill| skill.id.as_str()).collect();
                format!("{repository}:{tag} ({})", skills.join(", "))
            }
        }
    }
}

impl Registry {
    /// Returns the artifacts of the registry when it was last asked.
    pub(super) fn known(&self) -> MutexGuard<'_, Vec<Entry>> {
        self.cache.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Reads the whole registry again, and returns all artifacts in its order; within a repository the newest first. Cards
    /// with known digests are not pulled again, and an artifact that cannot be read does not affect the others.
    pub(super) async fn refresh(&self) -> Result<Vec<Entry>> {
        // The content of a digest never changes. An artifact that the registry did not send has none.
        let known = self.known().clone().into_iter();
        let known = known.filter(|entry| !entry.digest.is_empty());
        let known = known.map(|entry| (entry.digest, entry.read)).collect();
        let repositories = self.list().await?.into_iter();
        // The futures are created before the stream runs, because a closure inside it would not be known to
        // be Send.
        let asking: Vec<_> =
            repositories.map(|repository| self.entries(repository, &known)).collect();
        let entries: Vec<Entry> = stream::iter(asking).buffered(AT_ONCE).try_concat().await?;
        self.known().clone_from(&entries);
        Ok(entries)
    }

    async fn entries(
        &self,
        repository: String,
        known: &BTreeMap<String, Read>,
    ) -> Result<Vec<Entry>> {
        let tags = match self.tags(&repository).await {
            Ok(tags) => version::newest(tags, self.options.tags),
            Err(error) if error.is_of_registry() => return Err(error),
            // A repository is still listed after its last tag was deleted.
            Err(RegistryError::NotFound(_)) => Vec::new(),
            Err(error) => {
                let (tag, digest) = ("*".to_owned(), String::new());
                return Ok(vec![Entry { repository, tag, digest, read: Err(error.to_string()) }]);
            }
        };
        let mut entries = Vec::new();
        for tag in tags {
            entries.push(self.entry(&repository, tag, known).await?);
        }
        Ok(entries)
    }

    async fn entry(
        &self,
        repository: &str,
        tag: String,
        known: &BTreeMap<String, Read>,
    ) -> Result<Entry> {
        let digest = match self.digest(repository, &tag).await {
            Ok(digest) => digest,
            Err(error) if error.is_of_registry() => return Err(error),
            // Some registries do not answer HEAD requests.
            Err(_) => String::new(),
        };
        let (digest, read) = match known.get(&digest) {
            Some(read) => (digest, read.clone()),
            None => self.read(repository, &tag, digest).await?,
        };
        Ok(Entry { repository: repository.to_owned(), tag, digest, read })
    }

    /// Returns the content of an artifact, and its digest: the tag may have moved since it pointed to `digest`. The digest is
    /// empty if the registry did not send the content.
    async fn read(&self, repository: &str, tag: &str, digest: String) -> Result<(String, Read)> {
        let PulledCard { card, digest } = match self.pull(repository, tag).await {
            Ok(pulled) => pulled,
            Err(error) if error.is_of_registry() => return Err(error),
            Err(RegistryError::NotACard { why, .. }) => return Ok((digest, Err(why))),
            Err(error) => return Ok((String::new(), Err(error.to_string()))),
        };
        let agent = Discovered::from_card(card, self.artifact(repository, tag)?.url);
        Ok((digest, agent.map(Arc::new).map_err(|error| error.to_string())))
    }
}
