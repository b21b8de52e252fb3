//! Cards that were read before, with what tells whether they are still the same (specification 8.6).

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use bridge_protocol::a2a::AgentCard;

/// More than any client talks to; what does not fit is read again.
const CARDS: usize = 256;

/// Cards by their address, each with the `ETag` under which the agent knows it. An agent that says that
/// nothing has changed does not send its card again. Clones share what they hold.
#[derive(Clone, Debug, Default)]
pub struct CardCache(Arc<Mutex<BTreeMap<String, Kept>>>);

#[derive(Clone, Debug)]
pub(crate) struct Kept {
    pub(crate) etag: String,
    pub(crate) card: AgentCard,
}

impl CardCache {
    /// The card of this address, if it was read before.
    pub(crate) fn get(&self, url: &str) -> Option<Kept> {
        self.lock().get(url).cloned()
    }

    /// Keeps a card in place of the one before.
    pub(crate) fn keep(&self, url: &str, etag: String, card: AgentCard) {
        let mut cards = self.lock();
        if cards.len() < CARDS || cards.contains_key(url) {
            cards.insert(url.to_owned(), Kept { etag, card });
        }
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<String, Kept>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
