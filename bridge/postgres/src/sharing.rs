//! Collects statistics of the processes on the database, for operators.

use std::{
    collections::BTreeMap,
    sync::{
        Arc, Mutex,
        atomic::{AtomicU64, Ordering},
    },
};

use bridge_program::lock;
use tokio::time::sleep;
use tokio_postgres::Row;

use crate::{Shared, connections::Values};
use bridge_store::{CallCounts, Result, Sharing};

/// The statistics that were read last, and the calls since the start.
#[derive(Debug, Default)]
pub(super) struct SharingStats {
    last: Mutex<Sharing>,
    pub(super) handed: CallCounter,
    pub(super) taken: CallCounter,
}

#[derive(Debug, Default)]
pub(super) struct CallCounter {
    answered: AtomicU64,
    failed: AtomicU64,
}

impl CallCounter {
    pub(super) fn count(&self, is_answered: bool) {
        let count = if is_answered { &self.answered } else { &self.failed };
        count.fetch_add(1, Ordering::Relaxed);
    }

    fn counts(&self) -> CallCounts {
        CallCounts {
            answered: self.answered.load(Ordering::Relaxed),
            failed: self.failed.load(Ordering::Relaxed),
        }
    }
}

/// Updates the statistics, for ever. Heartbeats do not wait for these queries.
pub(super) async fn poll_sharing(shared: Arc<Shared>) {
    loop {
        sleep(shared.membership.lease / 4).await;
        if let Err(error) = shared.update_sharing().await {
            tracing::debug!(%error, "the statistics of the bridges could not be read");
        }
    }
}

impl Shared {
    /// Reads the statistics. The queries read a few rows for each agent, process and lease of this process, and no tasks.
    pub(super) async fn update_sharing(&self) -> Result<()> {
        let own = "SELECT (SELECT count(*) FROM bridge.replicas WHERE until >= clock_timestamp()),
                (SELECT count(*) FROM bridge.conversations WHERE replica = $1)";
        let values: Values<'_> = &[&self.membership.replica];
        let own = self.connections.read(own, values);
        let open = "SELECT agent, sum(unfinished)::bigint FROM bridge.agents GROUP BY agent";
        let open = self.connections.read(open, &[]);
        let (own, open) = tokio::try_join!(own, open)?;
        let open_tasks: BTreeMap<String, usize> =
            open.iter().map(|row| (row.get(0), count(row, 1))).collect();
        *lock(&self.sharing.last) = Sharing {
            processes: own.first().map_or(0, |row| count(row, 0)),
            leases: own.first().map_or(0, |row| count(row, 1)),
            open_tasks,
            ..Sharing::default()
        };
        Ok(())
    }

    pub(super) fn sharing_stats(&self) -> Sharing {
        Sharing {
            handed: self.sharing.handed.counts(),
            taken: self.sharing.taken.counts(),
            ..lock(&self.sharing.last).clone()
        }
    }
}

fn count(row: &Row, column: usize) -> usize {
    let count: i64 = row.get(column);
    usize::try_from(count).unwrap_or_default()
}
