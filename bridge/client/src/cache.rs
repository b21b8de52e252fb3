//! A cache of agent cards and their `ETag`s, for conditional requests (specification 8.6).

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use bridge_protocol::a2a::AgentCard;

/// The number of cards kept. A card that does not fit is fetched again each time.
const CARDS: usize = 256;

/// Agent cards by their URL, each with the `ETag` that the agent sent with it. An agent that answers 304 Not
/// Modified does not send its card again. Clones share their content.
#[derive(Clone, Debug, Default)]
pub struct CardCache(Arc<Mutex<BTreeMap<String, CachedCard>>>);

#[derive(Clone, Debug)]
pub(crate) struct CachedCard {
    pub(crate) etag: String,
    pub(crate) card: AgentCard,
}

impl CardCache {
    pub(crate) fn get(&self, url: &str) -> Option<CachedCard> {
        self.lock().get(url).cloned()
    }

    /// Stores a card and replaces the one of the same URL.
    pub(crate) fn keep(&self, url: &str, etag: String, card: AgentCard) {
        let mut cards = self.lock();
        if cards.len() < CARDS || cards.contains_key(url) {
            cards.insert(url.to_owned(), CachedCard { etag, card });
        }
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<String, CachedCard>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
