//! The secret part of service URLs, and whose conversations it opens.
//!
//! A bot is given one service URL for all that one caller says to it in one context. Whoever knows it may
//! speak in those conversations and in no others. The secret is the address itself, sealed: nothing need be
//! written before a bot can be called, and the same address always has the same secret.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use tokio::sync::OnceCell;

use super::service_url_keys::ServiceUrlKeys;
use crate::{
    caller::Caller,
    clock,
    store::{RecordKey, Store, StoreError, decoded, encoded},
};

/// The records that say that a bot was told that a conversation begins. Those that older programs wrote hold the secret
/// of its address.
const CONTACT_KIND: &str = "bot-secret";

/// The records that hold the address of a secret that an older program drew.
const LEGACY_SCOPE_KIND: &str = "bot-address";

/// The unguessable part of a service URL.
#[derive(Clone, PartialEq, Eq)]
pub(super) struct UrlSecret(String);

impl UrlSecret {
    pub(super) fn as_str(&self) -> &str {
        &self.0
    }
}

impl std::fmt::Debug for UrlSecret {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("***")
    }
}

/// What a service URL opens.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct ServiceUrlScope {
    /// The agent that the bot is.
    pub(super) agent: String,
    /// Who speaks to it.
    pub(super) caller: Caller,
    /// In which context.
    pub(super) context: String,
}

/// The addresses that bots are told.
#[derive(Debug)]
pub(super) struct ServiceUrls {
    store: Arc<dyn Store>,
    keys: OnceCell<ServiceUrlKeys>,
}

impl ServiceUrls {
    pub(super) fn new(store: Arc<dyn Store>) -> Self {
        let keys = OnceCell::new();
        Self { store, keys }
    }

    /// The secret of an address. Nothing is read or written for it.
    pub(super) async fn secret(&self, scope: &ServiceUrlScope) -> Result<UrlSecret, StoreError> {
        Ok(UrlSecret(self.keys().await?.seal(scope)?))
    }

    /// Whether this was never asked of the address before.
    ///
    /// That it was is kept without waiting for it: if the process dies first, the bot is told once more that the
    /// conversation begins.
    pub(super) async fn is_first_contact(
        &self,
        scope: &ServiceUrlScope,
    ) -> Result<bool, StoreError> {
        let record = self
            .store
            .record(&scope.caller, &contact_key(scope))
            .await?;
        let is_first_contact = record.is_none();
        if is_first_contact {
            let (store, scope) = (Arc::clone(&self.store), scope.clone());
            tokio::spawn(async move {
                let key = contact_key(&scope);
                let kept = store.put_record(&scope.caller, &key, encoded(&true));
                if let Err(error) = kept.await
                    && !error.is_reported_by_store()
                {
                    tracing::warn!(%error, "that a conversation has begun could not be kept");
                }
            });
        }
        Ok(is_first_contact)
    }

    /// What a secret opens, if it opens anything, and the secret as one that is known.
    pub(super) async fn find(
        &self,
        secret: &str,
    ) -> Result<Option<(UrlSecret, ServiceUrlScope)>, StoreError> {
        let scope = match is_legacy_secret(secret) {
            true => self.legacy_scope(secret).await?,
            false => self.keys().await?.open(secret),
        };
        Ok(scope.map(|scope| (UrlSecret(secret.to_owned()), scope)))
    }

    async fn keys(&self) -> Result<&ServiceUrlKeys, StoreError> {
        let read = || ServiceUrlKeys::of(&*self.store);
        self.keys.get_or_try_init(read).await
    }

    /// What a secret opens that an older program drew.
    async fn legacy_scope(&self, secret: &str) -> Result<Option<ServiceUrlScope>, StoreError> {
        let key = RecordKey {
            kind: LEGACY_SCOPE_KIND.into(),
            scope: String::new(),
            id: secret.to_owned(),
        };
        let record = self.store.record(&records_owner(), &key).await?;
        record.map(|record| decoded(&key, &record)).transpose()
    }
}

/// Older programs drew secrets at random.
fn is_legacy_secret(secret: &str) -> bool {
    secret.len() == clock::SECRET && secret.bytes().all(|c| c.is_ascii_hexdigit())
}

/// To whom records belong that are looked up by a secret: the secret is what gives the right to them.
pub(super) fn records_owner() -> Caller {
    Caller::anonymous()
}

fn contact_key(scope: &ServiceUrlScope) -> RecordKey {
    RecordKey {
        kind: CONTACT_KIND.into(),
        scope: scope.agent.clone(),
        id: scope.context.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::MemoryStore;

    fn scope(agent: &str) -> ServiceUrlScope {
        ServiceUrlScope {
            agent: agent.into(),
            caller: Caller::new("me"),
            context: "c".into(),
        }
    }

    #[tokio::test]
    async fn a_secret_opens_what_it_was_given_for_after_a_restart_too() {
        let store: Arc<dyn Store> = Arc::new(MemoryStore::new());
        let service_urls = ServiceUrls::new(store.clone());
        let one = service_urls.secret(&scope("one")).await.unwrap();
        assert!(service_urls.is_first_contact(&scope("one")).await.unwrap());
        let service_urls = ServiceUrls::new(store);
        let two = service_urls.secret(&scope("two")).await.unwrap();
        assert_ne!(one, two);
        // What was told is kept in a task of its own.
        tokio::task::yield_now().await;
        assert!(!service_urls.is_first_contact(&scope("one")).await.unwrap());
        assert!(service_urls.is_first_contact(&scope("two")).await.unwrap());
        let again = service_urls.secret(&scope("one")).await.unwrap();
        assert_eq!(again, one);
        let found = service_urls.find(one.as_str()).await.unwrap();
        assert_eq!(found, Some((one.clone(), scope("one"))));
        for wrong in ["", "x", &"0".repeat(clock::SECRET), &one.as_str()[1..]] {
            assert_eq!(service_urls.find(wrong).await.unwrap(), None, "{wrong}");
        }
        assert_eq!(format!("{one:?}"), "***");
    }

    #[tokio::test]
    async fn a_secret_that_an_older_program_drew_goes_on() {
        let store: Arc<dyn Store> = Arc::new(MemoryStore::new());
        let secret = clock::new_secret();
        let key = RecordKey {
            kind: LEGACY_SCOPE_KIND.into(),
            scope: String::new(),
            id: secret.clone(),
        };
        let record = encoded(&scope("one"));
        store
            .put_record(&records_owner(), &key, record)
            .await
            .unwrap();
        let found = ServiceUrls::new(store).find(&secret).await.unwrap();
        assert_eq!(found.map(|(_, scope)| scope), Some(scope("one")));
    }
}
