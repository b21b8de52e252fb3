//! Releases leases later if the database could not be reached. Otherwise other processes would wait for this one as long as
//! it lives.

use std::{collections::BTreeSet, sync::Mutex};

use bridge_program::lock;
use bridge_store::{Conversation, Result};
use tokio::sync::Mutex as AsyncMutex;

use crate::{
    Shared,
    connections::Values,
    rows::{Key, conversation_key},
};

/// The leases that this process has to release.
#[derive(Debug, Default)]
pub(super) struct LateReleases {
    keys: Mutex<BTreeSet<Key>>,
    /// Locked while they are being released.
    attempt: AsyncMutex<()>,
}

impl LateReleases {
    pub(super) fn add(&self, lease: Conversation<'_>) {
        lock(&self.keys).insert(conversation_key(lease));
    }

    /// Keeps a lease, because it is acquired again. Once this returns, it is not released late.
    pub(super) async fn withdraw(&self, lease: Conversation<'_>) {
        let withdrawn = {
            let mut keys = lock(&self.keys);
            // Nearly always there are none, and no key is computed.
            !keys.is_empty() && keys.remove(&conversation_key(lease))
        };
        if withdrawn {
            drop(self.attempt.lock().await);
        }
    }
}

impl Shared {
    /// Releases the leases that could not be released before.
    pub(super) async fn release_late(&self) -> Result<()> {
        let _attempt = self.late_releases.attempt.lock().await;
        let keys = lock(&self.late_releases.keys).clone();
        if keys.is_empty() {
            return Ok(());
        }
        let release = "DELETE FROM bridge.conversations WHERE replica = $1 AND key = ANY($2)";
        let sent: Vec<&Key> = keys.iter().collect();
        let values: Values<'_> = &[&self.membership.replica, &sent];
        self.connections.write_idempotent(release, values).await?;
        lock(&self.late_releases.keys).retain(|key| !keys.contains(key));
        Ok(())
    }
}
