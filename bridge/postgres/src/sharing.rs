//! Collects statistics of the processes on the database, for operators.

use std::sync::Arc;

use bridge_program::lock;
use tokio::time::sleep;
use tokio_postgres::Row;

use crate::{Shared, connections::Values};
use bridge_store::{CallCounts, Result};

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
        let mut sharing = lock(&self.sharing);
        sharing.processes = own.first().map_or(0, |row| count(row, 0));
        sharing.leases = own.first().map_or(0, |row| count(row, 1));
        sharing.open_tasks = open.iter().map(|row| (row.get(0), count(row, 1))).collect();
        Ok(())
    }
}

pub(super) fn count_call(counts: &mut CallCounts, is_answered: bool) {
    match is_answered {
        true => counts.answered += 1,
        false => counts.failed += 1,
    }
}

fn count(row: &Row, column: usize) -> usize {
    let count: i64 = row.get(column);
    usize::try_from(count).unwrap_or_default()
}
