//! Releases leases later if the database could not be reached. Otherwise other processes would wait for this one as long as
//! it lives.

use std::{collections::BTreeSet, sync::Mutex};

use bridge_program::lock;
use bridge_store::Result;
use tokio::sync::Mutex as AsyncMutex;

use crate::{Shared, connections::Values, rows::Key};

/// The leases that this process has to release.
#[derive(Debug, Default)]
pub(super) struct LateReleases {
    keys: Mutex<BTreeSet<Key>>,
    /// Locked while they are being released.
    attempt: AsyncMutex<()>,
}

impl LateReleases {
    pub(super) fn add(&self, key: Key) {
        lock(&self.keys).insert(key);
    }

    /// Keeps a lease, because it is acquired again. Once this returns, it is not released late.
    pub(super) async fn withdraw(&self, key: &Key) {
        if lock(&self.keys).remove(key) {
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
