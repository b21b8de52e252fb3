//! The cache of a registry's cards.

use std::{
    collections::BTreeMap,
    sync::{
        Arc, MutexGuard, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
};

use bridge_protocol::wire::weight;
use futures_util::{StreamExt as _, TryStreamExt as _, stream};
use semver::Version;

use super::{PulledCard, Registry, RegistryError, Result, version};
use crate::discovery::Discovered;

/// The number of concurrent requests to a registry.
pub(super) const AT_ONCE: usize = 8;

/// The memory that all cards of a registry may take together, in bytes.
const MOST: usize = 512 << 20;

/// The content of an artifact: an agent, or the reason why it is no agent card.
type Read = Result<Arc<Discovered>, String>;

/// An artifact of a registry.
#[derive(Clone, Debug)]
pub(super) struct Entry {
    pub(super) repository: String,
    pub(super) tag: String,
    pub(super) digest: String,
    pub(super) read: Read,
    /// The memory that the card takes, in bytes.
    size: usize,
}

/// What a refresh may use: artifacts by their digests, and the memory that is left for cards.
struct Refresh {
    known: BTreeMap<String, Entry>,
    left: AtomicUsize,
}

impl Refresh {
    /// Drops the card if there is no memory left for it.
    fn keep(&self, entry: Entry) -> Entry {
        let take = |left: usize| left.checked_sub(entry.size);
        match self.left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, take) {
            Ok(_) => entry,
            Err(_) => {
                let most = MOST >> 20;
                let why = format!("the cards of the registry take more than {most} MiB of memory");
                // Without a digest it will be asked for again.
                Entry { digest: String::new(), read: Err(why), size: 0, ..entry }
            }
        }
    }
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
        let known = known.map(|entry| (entry.digest.clone(), entry)).collect();
        let refresh = Refresh { known, left: AtomicUsize::new(MOST) };
        let repositories = self.list().await?.into_iter();
        // The futures are created before the stream runs, because a closure inside it would not be known to
        // be Send.
        let asking: Vec<_> =
            repositories.map(|repository| self.entries(repository, &refresh)).collect();
        let entries: Vec<Entry> = stream::iter(asking).buffered(AT_ONCE).try_concat().await?;
        self.known().clone_from(&entries);
        Ok(entries)
    }

    async fn entries(&self, repository: String, refresh: &Refresh) -> Result<Vec<Entry>> {
        let tags = match self.tags(&repository).await {
            Ok(tags) => version::newest(tags, self.options.tags),
            Err(error) if error.is_of_registry() => return Err(error),
            // A repository is still listed after its last tag was deleted.
            Err(RegistryError::NotFound(_)) => Vec::new(),
            Err(error) => {
                let (tag, digest, read) = ("*".to_owned(), String::new(), Err(error.to_string()));
                return Ok(vec![Entry { repository, tag, digest, read, size: 0 }]);
            }
        };
        let mut entries = Vec::new();
        for tag in tags {
            entries.push(self.entry(&repository, tag, refresh).await?);
        }
        Ok(entries)
    }

    async fn entry(&self, repository: &str, tag: String, refresh: &Refresh) -> Result<Entry> {
        let digest = match self.digest(repository, &tag).await {
            Ok(digest) => digest,
            Err(error) if error.is_of_registry() => return Err(error),
            // Some registries do not answer HEAD requests.
            Err(_) => String::new(),
        };
        let repository = repository.to_owned();
        let entry = match refresh.known.get(&digest) {
            Some(known) => Entry { repository, tag, ..known.clone() },
            None => self.read(repository, tag, digest).await?,
        };
        Ok(refresh.keep(entry))
    }

    /// Returns an artifact with its content and its digest: the tag may have moved since it pointed to `digest`. The digest is
    /// empty if the registry did not send the content.
    async fn read(&self, repository: String, tag: String, digest: String) -> Result<Entry> {
        let entry = |digest, read, size| Entry {
            repository: repository.clone(),
            tag: tag.clone(),
            digest,
            read,
            size,
        };
        let PulledCard { card, digest } = match self.pull(&repository, &tag).await {
            Ok(pulled) => pulled,
            Err(error) if error.is_of_registry() => return Err(error),
            Err(RegistryError::NotACard { why, .. }) => return Ok(entry(digest, Err(why), 0)),
            Err(error) => return Ok(entry(String::new(), Err(error.to_string()), 0)),
        };
        let size = weight::memory(card.to_string().as_bytes());
        let agent = Discovered::from_card(card, self.artifact(&repository, &tag)?.url);
        Ok(entry(digest, agent.map(Arc::new).map_err(|error| error.to_string()), size))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cards_are_kept_while_there_is_memory() {
        let refresh = Refresh { known: BTreeMap::new(), left: AtomicUsize::new(10) };
        let kept = |size| {
            let (repository, tag, digest) =
                ("agents/a".to_owned(), "v1".to_owned(), "d".to_owned());
            let read = Err("no card".to_owned());
            let entry = refresh.keep(Entry { repository, tag, digest, read, size });
            (entry.described(), entry.digest)
        };
        let (is_kept, is_not) = (
            "agents/a:v1 (no card)",
            "agents/a:v1 (the cards of the registry take more than 512 MiB of memory)",
        );
        for (size, described, digest) in
            [(6, is_kept, "d"), (5, is_not, ""), (4, is_kept, "d"), (1, is_not, "")]
        {
            assert_eq!(kept(size), (described.to_owned(), digest.to_owned()), "{size}");
        }
    }
}
