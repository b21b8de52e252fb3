//! Creates and resolves the secret part of service URLs.
//!
//! A bot gets one service URL for everything that one caller sends to it in one context. A caller that knows the URL may
//! act in those conversations and in no others. The secret is the URL's scope, encrypted: nothing has to be stored
//! before a bot can be called, and the same scope always has the same secret.

use std::sync::Arc;

use bridge_program::secret::Secret;
use serde::{Deserialize, Serialize};
use tokio::sync::OnceCell;

use super::service_url_keys::ServiceUrlKeys;
use crate::{
    caller::Caller,
    clock,
    store::{RecordKey, Result, Store, decoded, encoded},
};

/// The record kind of contexts of which a bot was informed. Records of older versions hold the secret of their
/// scope.
const CONTACT_KIND: &str = "bot-secret";

/// The record kind of scopes whose secrets are random, as older versions made them.
const LEGACY_SCOPE_KIND: &str = "bot-address";

/// The conversations that a service URL gives access to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct ServiceUrlScope {
    /// The bot's agent.
    pub(super) agent: String,
    /// The user.
    pub(super) caller: Caller,
    /// The context.
    pub(super) context: String,
}

/// Creates and resolves service URLs.
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

    /// Returns the secret of a scope. Neither reads nor writes records.
    pub(super) async fn secret(&self, scope: &ServiceUrlScope) -> Result<Secret> {
        Ok(Secret::new(self.keys().await?.seal(scope)?))
    }

    /// Returns whether this function is called for the first time for the scope.
    ///
    /// The record of the call is stored without waiting for it: if the process ends before, the bot is informed of the conversation
    /// again.
    pub(super) async fn is_first_contact(&self, scope: &ServiceUrlScope) -> Result<bool> {
        let record = self.store.record(&scope.caller, &contact_key(scope)).await?;
        let is_first_contact = record.is_none();
        if is_first_contact {
            let (store, scope) = (Arc::clone(&self.store), scope.clone());
            tokio::spawn(async move {
                let key = contact_key(&scope);
                let kept = store.put_record(&scope.caller, &key, encoded(&true));
                if let Err(error) = kept.await
                    && !error.is_reported_by_store()
                {
                    tracing::warn!(%error, "the beginning of a conversation could not be stored");
                }
            });
        }
        Ok(is_first_contact)
    }

    /// Returns the scope of a secret, if it is valid, and the secret itself.
    pub(super) async fn find(&self, secret: &str) -> Result<Option<(Secret, ServiceUrlScope)>> {
        let scope = match is_legacy_secret(secret) {
            true => self.legacy_scope(secret).await?,
            false => self.keys().await?.open(secret),
        };
        Ok(scope.map(|scope| (Secret::new(secret), scope)))
    }

    async fn keys(&self) -> Result<&ServiceUrlKeys> {
        let read = || ServiceUrlKeys::of(&*self.store);
        self.keys.get_or_try_init(read).await
    }

    /// Returns the scope of a secret that an older version made.
    async fn legacy_scope(&self, secret: &str) -> Result<Option<ServiceUrlScope>> {
        let key = RecordKey::new(LEGACY_SCOPE_KIND, "", secret);
        let record = self.store.record(&records_owner(), &key).await?;
        record.map(|record| decoded(&key, &record)).transpose()
    }
}

/// Returns whether a secret has the form of older versions, which were random.
fn is_legacy_secret(secret: &str) -> bool {
    secret.len() == clock::SECRET && secret.bytes().all(|c| c.is_ascii_hexdigit())
}

fn contact_key(scope: &ServiceUrlScope) -> RecordKey {
    RecordKey::new(CONTACT_KIND, &scope.agent, &scope.context)
}

/// Returns the owner of records that are looked up by a secret: the secret is the permission.
pub(super) fn records_owner() -> Caller {
    Caller::anonymous()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::MemoryStore;

    fn scope(agent: &str) -> ServiceUrlScope {
        ServiceUrlScope { agent: agent.into(), caller: Caller::new("me"), context: "c".into() }
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
        // The record is stored by a task of its own.
        tokio::task::yield_now().await;
        assert!(!service_urls.is_first_contact(&scope("one")).await.unwrap());
        assert!(service_urls.is_first_contact(&scope("two")).await.unwrap());
        let again = service_urls.secret(&scope("one")).await.unwrap();
        assert_eq!(again, one);
        let found = service_urls.find(one.expose()).await.unwrap();
        assert_eq!(found, Some((one.clone(), scope("one"))));
        for wrong in ["", "x", &"0".repeat(clock::SECRET), &one.expose()[1..]] {
            assert_eq!(service_urls.find(wrong).await.unwrap(), None, "{wrong}");
        }
        assert_eq!(format!("{one:?}"), "***");
    }

    #[tokio::test]
    async fn a_secret_of_an_older_program_still_works() {
        let store: Arc<dyn Store> = Arc::new(MemoryStore::new());
        let secret = clock::new_secret();
        let key = RecordKey::new(LEGACY_SCOPE_KIND, "", &secret);
        let record = encoded(&scope("one"));
        store.put_record(&records_owner(), &key, record).await.unwrap();
        let found = ServiceUrls::new(store).find(&secret).await.unwrap();
        assert_eq!(found.map(|(_, scope)| scope), Some(scope("one")));
    }
}
