//! The secret part of service URLs, and whose conversations it opens.
//!
//! A bot is given one service URL for all that one caller says to it in one context. Whoever knows it may
//! speak in those conversations and in no others. The secret is the address itself, sealed: nothing need be
//! written before a bot can be called, and the same address always has the same secret.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use tokio::sync::OnceCell;

use super::address_keys::AddressKeys;
use crate::{
    caller::Caller,
    clock,
    store::{RecordKey, Store, StoreError, decoded, encoded},
};

/// The records that say that a bot was told that a conversation begins. Those that older programs wrote hold the secret
/// of its address.
const TOLD: &str = "bot-secret";

/// The records that hold the address of a secret that an older program drew.
const ADDRESS_OF: &str = "bot-address";

/// The unguessable part of a service URL.
#[derive(Clone, PartialEq, Eq)]
pub(super) struct Secret(String);

impl Secret {
    pub(super) fn as_str(&self) -> &str {
        &self.0
    }
}

impl std::fmt::Debug for Secret {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("***")
    }
}

/// What a service URL opens.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Address {
    /// The agent that the bot is.
    pub(super) agent: String,
    /// Who speaks to it.
    pub(super) caller: Caller,
    /// In which context.
    pub(super) context: String,
}

/// The addresses that bots are told.
#[derive(Debug)]
pub(super) struct Addresses {
    store: Arc<dyn Store>,
    keys: OnceCell<AddressKeys>,
}

impl Addresses {
    pub(super) fn new(store: Arc<dyn Store>) -> Self {
        let keys = OnceCell::new();
        Self { store, keys }
    }

    /// The secret of an address. Nothing is read or written for it.
    pub(super) async fn secret(&self, address: &Address) -> Result<Secret, StoreError> {
        Ok(Secret(self.keys().await?.seal(address)?))
    }

    /// Whether this was never asked of the address before.
    ///
    /// That it was is kept without waiting for it: if the process dies first, the bot is told once more that the
    /// conversation begins.
    pub(super) async fn is_new(&self, address: &Address) -> Result<bool, StoreError> {
        let record = self.store.record(&address.caller, &told(address)).await?;
        let is_new = record.is_none();
        if is_new {
            let (store, address) = (Arc::clone(&self.store), address.clone());
            tokio::spawn(async move {
                let key = told(&address);
                let kept = store.put_record(&address.caller, &key, encoded(&true));
                if let Err(error) = kept.await
                    && !error.is_reported_by_store()
                {
                    tracing::warn!(%error, "that a conversation has begun could not be kept");
                }
            });
        }
        Ok(is_new)
    }

    /// What a secret opens, if it opens anything, and the secret as one that is known.
    pub(super) async fn find(&self, secret: &str) -> Result<Option<(Secret, Address)>, StoreError> {
        let address = match is_drawn(secret) {
            true => self.drawn(secret).await?,
            false => self.keys().await?.open(secret),
        };
        Ok(address.map(|address| (Secret(secret.to_owned()), address)))
    }

    async fn keys(&self) -> Result<&AddressKeys, StoreError> {
        let read = || AddressKeys::of(&*self.store);
        self.keys.get_or_try_init(read).await
    }

    /// What a secret opens that an older program drew.
    async fn drawn(&self, secret: &str) -> Result<Option<Address>, StoreError> {
        let key = RecordKey {
            kind: ADDRESS_OF.into(),
            scope: String::new(),
            id: secret.to_owned(),
        };
        let record = self.store.record(&nobody(), &key).await?;
        record.map(|record| decoded(&key, &record)).transpose()
    }
}

/// Older programs drew secrets at random.
fn is_drawn(secret: &str) -> bool {
    secret.len() == clock::SECRET && secret.bytes().all(|c| c.is_ascii_hexdigit())
}

/// To whom records belong that are looked up by a secret: the secret is what gives the right to them.
pub(super) fn nobody() -> Caller {
    Caller::anonymous()
}

fn told(address: &Address) -> RecordKey {
    RecordKey {
        kind: TOLD.into(),
        scope: address.agent.clone(),
        id: address.context.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::MemoryStore;

    fn address(agent: &str) -> Address {
        Address {
            agent: agent.into(),
            caller: Caller::new("me"),
            context: "c".into(),
        }
    }

    #[tokio::test]
    async fn a_secret_opens_what_it_was_given_for_after_a_restart_too() {
        let store: Arc<dyn Store> = Arc::new(MemoryStore::new());
        let addresses = Addresses::new(store.clone());
        let one = addresses.secret(&address("one")).await.unwrap();
        assert!(addresses.is_new(&address("one")).await.unwrap());
        let addresses = Addresses::new(store);
        let two = addresses.secret(&address("two")).await.unwrap();
        assert_ne!(one, two);
        // What was told is kept in a task of its own.
        tokio::task::yield_now().await;
        assert!(!addresses.is_new(&address("one")).await.unwrap());
        assert!(addresses.is_new(&address("two")).await.unwrap());
        let again = addresses.secret(&address("one")).await.unwrap();
        assert_eq!(again, one);
        let found = addresses.find(one.as_str()).await.unwrap();
        assert_eq!(found, Some((one.clone(), address("one"))));
        for wrong in ["", "x", &"0".repeat(clock::SECRET), &one.as_str()[1..]] {
            assert_eq!(addresses.find(wrong).await.unwrap(), None, "{wrong}");
        }
        assert_eq!(format!("{one:?}"), "***");
    }

    #[tokio::test]
    async fn a_secret_that_an_older_program_drew_goes_on() {
        let store: Arc<dyn Store> = Arc::new(MemoryStore::new());
        let secret = clock::new_secret();
        let key = RecordKey {
            kind: ADDRESS_OF.into(),
            scope: String::new(),
            id: secret.clone(),
        };
        let record = encoded(&address("one"));
        store.put_record(&nobody(), &key, record).await.unwrap();
        let found = Addresses::new(store).find(&secret).await.unwrap();
        assert_eq!(found.map(|(_, address)| address), Some(address("one")));
    }
}
