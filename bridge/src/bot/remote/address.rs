//! The secret part of service URLs, and whose conversations it opens.
//!
//! A bot is given one service URL for all that one caller says to it in one context. Whoever knows it may
//! speak in those conversations and in no others.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::{
    caller::Caller,
    clock,
    store::{RecordKey, Store, StoreError, decoded, encoded},
};

/// The records that hold the secret of an address.
const SECRET_OF: &str = "bot-secret";

/// The records that hold the address of a secret.
const ADDRESS_OF: &str = "bot-address";

/// The unguessable part of a service URL.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
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

/// The addresses that were given out, kept in the store.
#[derive(Debug)]
pub(super) struct Addresses(Arc<dyn Store>);

impl Addresses {
    pub(super) fn new(store: Arc<dyn Store>) -> Self {
        Self(store)
    }

    /// The secret of an address, and whether it is new.
    pub(super) async fn secret(&self, address: &Address) -> Result<(Secret, bool), StoreError> {
        if let Some(secret) = self.known(address).await? {
            return Ok((secret, false));
        }
        let secret = Secret(clock::new_secret());
        // In this order: a secret that nobody was told yet may lead nowhere, but one that was told must
        // lead to its address.
        let opens = encoded(address);
        self.0
            .put_record(&nobody(), &address_of(secret.as_str()), opens)
            .await?;
        self.0
            .put_record(&address.caller, &secret_of(address), encoded(&secret))
            .await?;
        Ok((secret, true))
    }

    /// The secret of an address, if a bot was told.
    pub(super) async fn known(&self, address: &Address) -> Result<Option<Secret>, StoreError> {
        let key = secret_of(address);
        let record = self.0.record(&address.caller, &key).await?;
        record.map(|record| decoded(&key, &record)).transpose()
    }

    /// What a secret opens, if it opens anything, and the secret as one that is known.
    pub(super) async fn find(&self, secret: &str) -> Result<Option<(Secret, Address)>, StoreError> {
        let is_one = secret.len() == clock::SECRET && secret.bytes().all(|c| c.is_ascii_hexdigit());
        if !is_one {
            return Ok(None);
        }
        let key = address_of(secret);
        let record = self.0.record(&nobody(), &key).await?;
        let found = |record: Vec<u8>| Ok((Secret(secret.to_owned()), decoded(&key, &record)?));
        record.map(found).transpose()
    }
}

/// To whom records belong that are looked up by a secret: the secret is what gives the right to them.
pub(super) fn nobody() -> Caller {
    Caller::anonymous()
}

fn secret_of(address: &Address) -> RecordKey {
    RecordKey {
        kind: SECRET_OF.into(),
        scope: address.agent.clone(),
        id: address.context.clone(),
    }
}

fn address_of(secret: &str) -> RecordKey {
    RecordKey {
        kind: ADDRESS_OF.into(),
        scope: String::new(),
        id: secret.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::MemoryStore;

    #[tokio::test]
    async fn a_secret_opens_what_it_was_given_for_after_a_restart_too() {
        let store: Arc<dyn Store> = Arc::new(MemoryStore::new());
        let address = |agent: &str| Address {
            agent: agent.into(),
            caller: Caller::new("me"),
            context: "c".into(),
        };
        let (one, is_new) = Addresses::new(store.clone())
            .secret(&address("one"))
            .await
            .unwrap();
        assert!(is_new);
        let addresses = Addresses::new(store);
        let (two, _) = addresses.secret(&address("two")).await.unwrap();
        assert_ne!(one, two);
        let again = addresses.secret(&address("one")).await.unwrap();
        assert_eq!(again, (one.clone(), false));
        let found = addresses.find(one.as_str()).await.unwrap();
        assert_eq!(found, Some((one.clone(), address("one"))));
        for wrong in ["", "x", &"0".repeat(clock::SECRET), &one.as_str()[1..]] {
            assert_eq!(addresses.find(wrong).await.unwrap(), None, "{wrong}");
        }
        assert_eq!(format!("{one:?}"), "***");
    }
}
